#include "kernels/view.h"

#include <algorithm>
#include <cstring>

#include "machine/half.h"
#include "machine/refusals.h"

namespace jumar::kernels {
namespace {

struct Bool {
  uint8_t bits;
};

template <class T, class S>
T widened(S value) {
  if constexpr (std::is_same_v<S, Bool>) {
    return static_cast<T>(value.bits != 0);
  } else if constexpr (std::is_same_v<S, Float16> || std::is_same_v<S, Bfloat16>) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class S, class T>
S narrowed(T value) {
  if constexpr (std::is_same_v<S, Bool>) {
    return {static_cast<uint8_t>(value != T(0))};
  } else if constexpr (std::is_same_v<S, Float16> || std::is_same_v<S, Bfloat16>) {
    return S::from(static_cast<float>(value));
  } else {
    return static_cast<S>(value);
  }
}

template <class F>
void with_storage(int32_t type, F&& run) {
  switch (type) {
    case kFloat: return run(float{});
    case kFloat16: return run(Float16{});
    case kBfloat16: return run(Bfloat16{});
    case kDouble: return run(double{});
    case kInt8: return run(int8_t{});
    case kUint8: return run(uint8_t{});
    case kInt16: return run(int16_t{});
    case kUint16: return run(uint16_t{});
    case kInt32: return run(int32_t{});
    case kUint32: return run(uint32_t{});
    case kInt64: return run(int64_t{});
    case kUint64: return run(uint64_t{});
    case kBool: return run(Bool{});
    case kComplex64:
    case kComplex128: throw ComplexNumbers("data type " + std::to_string(type) + " of aclDataType is not emulated");
    default: throw NotEmulated("data type " + std::to_string(type) + " of aclDataType is not emulated");
  }
}

// Calls `visit(position in the row, offset in the storage)` for every element.
template <class F>
void walk(const Dims& dims, const Dims& strides, F&& visit) {
  const int64_t total = count(dims);
  if (total == 0) return;
  Dims at(dims.size(), 0);
  int64_t offset = 0;
  for (int64_t position = 0; position < total; ++position) {
    visit(position, offset);
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

Dims spread(const View& view, const Dims& as) {
  if (view.dims.size() > as.size()) throw Unsupported("shape " + text(view.dims) + " does not fit " + text(as));
  Dims strides(as.size(), 0);
  const size_t shift = as.size() - view.dims.size();
  for (size_t axis = 0; axis < view.dims.size(); ++axis) {
    if (view.dims[axis] == as[axis + shift]) {
      strides[axis + shift] = view.strides[axis];
    } else if (view.dims[axis] != 1) {
      throw Unsupported("shape " + text(view.dims) + " cannot be broadcast to " + text(as));
    }
  }
  return strides;
}

}  // namespace

void note_limit(const char* name, const std::exception& problem) {
  if (dynamic_cast<const NotEmulated*>(&problem) != nullptr) note(Refusal::kArguments, name);
}

int64_t count(const Dims& dims) {
  int64_t total = 1;
  for (int64_t size : dims) total *= size;
  return total;
}

Dims packed_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const int64_t x = axis + a.size() >= out.size() ? a[axis + a.size() - out.size()] : 1;
    const int64_t y = axis + b.size() >= out.size() ? b[axis + b.size() - out.size()] : 1;
    if (x != y && x != 1 && y != 1) throw Unsupported("shapes " + text(a) + " and " + text(b) + " do not fit");
    out[axis] = x == 1 ? y : x;
  }
  return out;
}

std::string text(const Dims& dims) {
  std::string out = "[";
  for (size_t axis = 0; axis < dims.size(); ++axis) out += (axis != 0 ? ", " : "") + std::to_string(dims[axis]);
  return out + "]";
}

int64_t axis_of(int64_t axis, size_t rank) {
  const auto all = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  if (axis < -all || axis >= all) throw Unsupported("axis " + std::to_string(axis) + " is out of range");
  return axis < 0 ? axis + all : axis;
}

bool is_float(int32_t type) { return type == kFloat || type == kFloat16 || type == kBfloat16 || type == kDouble; }

template <class T>
std::vector<T> load(const View& view, const Dims& as) {
  std::vector<T> values(static_cast<size_t>(count(as)));
  const bool plain = view.dims == as && view.strides == packed_strides(as);
  const Dims strides = plain ? Dims() : spread(view, as);
  with_storage(view.type, [&](auto sample) {
    using S = decltype(sample);
    const S* from = static_cast<const S*>(view.data);
    if constexpr (std::is_same_v<S, T>) {
      if (plain && !values.empty()) {
        std::memcpy(values.data(), from, values.size() * sizeof(T));
        return;
      }
    }
    if (plain) {
      for (size_t at = 0; at < values.size(); ++at) values[at] = widened<T>(from[at]);
    } else {
      walk(as, strides, [&](int64_t at, int64_t offset) { values[static_cast<size_t>(at)] = widened<T>(from[offset]); });
    }
  });
  return values;
}

template <class T>
void store(const View& view, const std::vector<T>& values) {
  if (static_cast<int64_t>(values.size()) != count(view.dims))
    throw Unsupported("the result has " + std::to_string(values.size()) + " elements, the output " + text(view.dims));
  with_storage(view.type, [&](auto sample) {
    using S = decltype(sample);
    S* to = static_cast<S*>(view.data);
    if (view.strides == packed_strides(view.dims)) {
      for (size_t at = 0; at < values.size(); ++at) to[at] = narrowed<S>(values[at]);
    } else {
      walk(view.dims, view.strides,
           [&](int64_t at, int64_t offset) { to[offset] = narrowed<S>(values[static_cast<size_t>(at)]); });
    }
  });
}

Split split(const Dims& dims, int64_t axis) {
  Split out;
  const auto at = static_cast<size_t>(axis_of(axis, dims.size()));
  for (size_t i = 0; i < dims.size(); ++i) (i < at ? out.before : i == at ? out.along : out.behind) *= dims[i];
  return out;
}

template std::vector<float> load(const View&, const Dims&);
template std::vector<double> load(const View&, const Dims&);
template std::vector<int64_t> load(const View&, const Dims&);
template void store(const View&, const std::vector<float>&);
template void store(const View&, const std::vector<double>&);
template void store(const View&, const std::vector<int64_t>&);

}  // namespace jumar::kernels
