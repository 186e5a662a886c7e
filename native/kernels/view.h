// What kernels see of a tensor: where it lies, its type and shape. A kernel loads its inputs into plain rows of the type
// it computes in, and stores rows: element types, strides and broadcasting are dealt with here only.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace jumar::kernels {

using Dims = std::vector<int64_t>;

// Numbers of the vendor's enum aclDataType.
enum Type : int32_t {
  kFloat = 0,
  kFloat16 = 1,
  kInt8 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 6,
  kUint16 = 7,
  kUint32 = 8,
  kInt64 = 9,
  kUint64 = 10,
  kDouble = 11,
  kBool = 12,
  kComplex64 = 16,
  kComplex128 = 17,
  kBfloat16 = 27,
};

struct View {
  int32_t type;
  Dims dims, strides;  // strides in elements
  void* data;
};

// A kernel that cannot do what is asked of it throws this; the call then fails with the text.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The same, where a device would do it: the record of refusals names the operator.
struct NotEmulated : Unsupported {
  using Unsupported::Unsupported;
};

// No kernel here computes with complex numbers; the Python process of a client may (native/bridge).
struct ComplexNumbers : NotEmulated {
  using NotEmulated::NotEmulated;
};

// A kernel that stops the program on purpose, as one of the device's AI CPU does.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void note_limit(const char* name, const std::exception& problem);  // in that record

int64_t count(const Dims& dims);
Dims packed_strides(const Dims& dims);
Dims broadcast(const Dims& a, const Dims& b);
std::string text(const Dims& dims);
int64_t axis_of(int64_t axis, size_t rank);  // negative ones count from the end
bool is_float(int32_t type);

// T is float, double or int64_t: the types that kernels compute in.
template <class T>
std::vector<T> load(const View& view, const Dims& as);
template <class T>
std::vector<T> load(const View& view) {
  return load<T>(view, view.dims);
}
template <class T>
void store(const View& view, const std::vector<T>& values);

// Calls `run` with a value of the type to compute in: double if any is double, else float if any is floating, else int64.
template <class F>
void compute(std::initializer_list<int32_t> types, F&& run) {
  bool wide = false, floating = false;
  for (int32_t type : types) {
    wide |= type == kDouble;
    floating |= is_float(type);
  }
  if (wide) {
    run(double{});
  } else if (floating) {
    run(float{});
  } else {
    run(int64_t{});
  }
}

// The same for kernels that are for floating-point numbers only.
template <class F>
void compute_float(std::initializer_list<int32_t> types, F&& run) {
  for (int32_t type : types)
    if (type == kDouble) return run(double{});
  run(float{});
}

// Shape seen as before × along × behind one axis.
struct Split {
  int64_t before = 1, along = 1, behind = 1;
};
Split split(const Dims& dims, int64_t axis);

// Calls `visit(pointer to the first element, its place)` for every row along the axis; `behind` is the step in a row.
template <class T, class F>
void each_row(const Split& s, T* values, F&& visit) {
  for (int64_t i = 0; i < s.before; ++i)
    for (int64_t j = 0; j < s.behind; ++j) visit(values + i * s.along * s.behind + j, i * s.along * s.behind + j);
}

}  // namespace jumar::kernels
