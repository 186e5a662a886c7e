#include "hccl/reduce.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "hccl/types.h"

namespace jumar::hccl {
namespace {

constexpr size_t kBlock = 1024;  // elements; an accumulator stays in the first-level cache

float from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct Bfloat16 {
  uint16_t bits;
  explicit operator float() const { return from_bits(static_cast<uint32_t>(bits) << 16); }
  static Bfloat16 from(float value) {
    const uint32_t all = to_bits(value);
    if ((all & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>(all >> 16 | 0x40)};
    return {static_cast<uint16_t>((all + 0x7fff + (all >> 16 & 1)) >> 16)};
  }
};

struct Float16 {
  uint16_t bits;
  explicit operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    // Scaling by 2^112 moves the exponent and makes subnormal numbers right too.
    return from_bits(sign | to_bits(from_bits(rest << 13) * from_bits(0x77800000)));
  }
  static Float16 from(float value) {
    const uint32_t all = to_bits(value), sign = all >> 16 & 0x8000, rest = all & 0x7fffffff;
    if (rest > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00)};
    if (rest >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};
    if (rest < 0x38800000) {
      // Adding 0.5 lets the processor round to the steps of subnormal halves.
      const uint32_t rounded = to_bits(from_bits(rest) + 0.5f) - to_bits(0.5f);
      return {static_cast<uint16_t>(sign | rounded)};
    }
    return {static_cast<uint16_t>(sign | ((rest + 0xfff + (rest >> 13 & 1)) - 0x38000000) >> 13)};
  }
};

template <class T>
struct Wide {
  using Type = T;
  static T store(T value) { return value; }
};
template <>
struct Wide<Float16> {
  using Type = float;
  static Float16 store(float value) { return Float16::from(value); }
};
template <>
struct Wide<Bfloat16> {
  using Type = float;
  static Bfloat16 store(float value) { return Bfloat16::from(value); }
};

// Whole numbers wrap around, as they do on the card.
struct Sum {
  template <class A>
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<std::make_unsigned_t<A>>(a) + static_cast<std::make_unsigned_t<A>>(b));
    } else {
      return a + b;
    }
  }
};
struct Prod {
  template <class A>
  static A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
struct Max {
  template <class A>
  static A join(A a, A b) {
    const A larger = a > b ? a : b;
    return a != a ? a : larger;  // not a number wins
  }
};
struct Min {
  template <class A>
  static A join(A a, A b) {
    const A smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};

template <class T, class Op>
void run(char* out, const char* const* in, uint32_t ranks, size_t count) {
  using A = typename Wide<T>::Type;
  A sum[kBlock];
  for (size_t from = 0; from < count; from += kBlock) {
    const size_t size = std::min(kBlock, count - from);
    const T* first = reinterpret_cast<const T*>(in[0]) + from;
    for (size_t i = 0; i < size; ++i) sum[i] = static_cast<A>(first[i]);
    for (uint32_t rank = 1; rank < ranks; ++rank) {
      const T* next = reinterpret_cast<const T*>(in[rank]) + from;
      for (size_t i = 0; i < size; ++i) sum[i] = Op::join(sum[i], static_cast<A>(next[i]));
    }
    T* target = reinterpret_cast<T*>(out) + from;
    for (size_t i = 0; i < size; ++i) target[i] = Wide<T>::store(sum[i]);
  }
}

template <class T>
void choose(int32_t op, char* out, const char* const* in, uint32_t ranks, size_t count) {
  switch (op) {
    case kSum: return run<T, Sum>(out, in, ranks, count);
    case kProd: return run<T, Prod>(out, in, ranks, count);
    case kMax: return run<T, Max>(out, in, ranks, count);
    default: return run<T, Min>(out, in, ranks, count);
  }
}

}  // namespace

void reduce(int32_t type, int32_t op, char* out, const char* const* in, uint32_t ranks, size_t count) {
  switch (type) {
    case kInt8: return choose<int8_t>(op, out, in, ranks, count);
    case kInt16: return choose<int16_t>(op, out, in, ranks, count);
    case kInt32: return choose<int32_t>(op, out, in, ranks, count);
    case kInt64: return choose<int64_t>(op, out, in, ranks, count);
    case kUint8: return choose<uint8_t>(op, out, in, ranks, count);
    case kUint16: return choose<uint16_t>(op, out, in, ranks, count);
    case kUint32: return choose<uint32_t>(op, out, in, ranks, count);
    case kUint64: return choose<uint64_t>(op, out, in, ranks, count);
    case kFp16: return choose<Float16>(op, out, in, ranks, count);
    case kBfp16: return choose<Bfloat16>(op, out, in, ranks, count);
    case kFp64: return choose<double>(op, out, in, ranks, count);
    default: return choose<float>(op, out, in, ranks, count);
  }
}

}  // namespace jumar::hccl
