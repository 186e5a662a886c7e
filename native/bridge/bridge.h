// Operators that the Python process of the client computes with numpy (src/jumar/emulate/mindspore_ops): no library of
// arrays and matrices is linked here, but every MindSpore environment has one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "acl/nnop.h"
#include "aclop/run.h"
#include "kernels/view.h"

namespace jumar::bridge {

// What Python sees of an argument; mindspore_ops/bridge.py has the same structure.
enum Kind : int32_t {
  kNothing, kIn, kOut, kBoth, kNumber, kInteger, kIntegers, kText, kList, kOutList, kNumbers, kAttributes, kValue
};

struct Seen {
  int32_t kind, type;     // type: aclDataType of a tensor or of a number
  int64_t count;          // dimensions, integers, or tensors that follow
  int64_t* dims;          // may be written to by an operator whose output is smaller than its room
  const int64_t* strides;
  void* data;
  double number;
  const char* text;
  const char* name = nullptr;  // of the parameter; members of a list have none
};

// A row of native/api/mindspore for an operator by type: tensors by their order, attributes by their name.
struct Parameter {
  Kind kind;
  const char* name;
};
struct Row {
  const char* type;
  const Parameter* parameters;
  size_t count;
};

// An argument of an operator call (aclnn), kept from its first to its second half.
struct Kept {
  Kind kind = kNothing;
  const Tensor* tensor = nullptr;
  double number = 0;
  std::vector<int64_t> integers;
  std::vector<const Tensor*> tensors;
  std::string text;
  int32_t type = 0;
  std::vector<uint8_t> bytes;  // of a complex number
  const char* name = nullptr;
};

Kept keep(const Tensor* tensor);
Kept keep(const Scalar* scalar);
Kept keep(const std::vector<int64_t>* integers);
Kept keep(const std::vector<uint8_t>* flags);
Kept keep(const std::vector<const Tensor*>* tensors);
Kept keep(const char* text);
Kept keep(double number);
inline Kept keep(float number) { return keep(static_cast<double>(number)); }
Kept keep(int64_t number);
inline Kept keep(bool flag) { return keep(static_cast<int64_t>(flag)); }
inline Kept keep(int8_t number) { return keep(static_cast<int64_t>(number)); }
inline Kept keep(int32_t number) { return keep(static_cast<int64_t>(number)); }
inline Kept keep(uint64_t number) { return keep(static_cast<int64_t>(number)); }

// The same for what is written, and for what is read and written.
Kept out(const Tensor* tensor);
Kept out(const std::vector<const Tensor*>* tensors);
Kept both(const Tensor* tensor);

inline Kept named(const char* name, Kept kept) {
  kept.name = name;
  return kept;
}

bool connected();  // to Python; calls that need it are refused otherwise

// Throws kernels::Unsupported with what Python says.
void call(const char* name, const std::vector<Kept>& arguments);

// By type, with attributes: the same arguments, as the row of the type says. `knows` where Python is connected.
bool knows(const char* type);
void call(const char* type, const aclop::Arguments& arguments);

// What a kernel throws for complex numbers is thrown again, unless Python is connected and has the operator for them.
void check_complex(const char* name);
template <class F>
void call_complex(const char* name, F&& arguments) {
  check_complex(name);
  call(name, arguments());
}

// c = a · b by the BLAS of the Python process, or c += a · b with `add`; `turned` as in kernels/matmul.h. False where
// there is none or it is not worth the call.
bool multiply(int64_t m, int64_t n, int64_t k, const float* a, bool a_turned, const float* b, bool b_turned, float* c,
              bool add);
bool multiply(int64_t m, int64_t n, int64_t k, const double* a, bool a_turned, const double* b, bool b_turned, double* c,
              bool add);

}  // namespace jumar::bridge
