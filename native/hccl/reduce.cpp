#include "hccl/reduce.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "hccl/types.h"
#include "machine/arithmetic.h"
#include "machine/half.h"

namespace jumar::hccl {
namespace {

constexpr size_t kBlock = 1024;  // elements; an accumulator stays in the first-level cache

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
  const PlainArithmetic plain;
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
