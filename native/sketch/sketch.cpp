// Six statistics and the count sketch of a tensor in one pass over its memory. `jumar compare` records every operator
// with it where the memory can be read by the host (src/jumar/compare/native.py); the same numbers come out of
// src/jumar/compare/sketch.py with torch's own operators on any other device.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

constexpr int kWidth = 256;
constexpr std::size_t kRows = 256;                // of a chunk, which has signs of its own
constexpr std::size_t kChunk = kRows * kWidth;
constexpr std::size_t kPart = 32 * kWidth;        // stays in the first cache
constexpr std::size_t kSlice = 4;                 // chunks that one thread takes at a time
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiny = 1e-30f;                   // squares below this have lost their digits
constexpr int kLanes = 8;

typedef float Lanes __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t Bits __attribute__((vector_size(4 * kLanes)));

enum Kind { kFloat32, kFloat16, kBfloat16, kFloat64, kInt64, kInt32, kInt16, kInt8, kUint8 };

std::uint32_t hashed(std::uint32_t value) {
  value ^= value >> 16;
  value *= 0x7FEB352Du;
  value ^= value >> 15;
  value *= 0x846CA68Bu;
  return value ^ value >> 16;
}

bool is_minus(std::uint32_t at, std::uint32_t salt) { return hashed(at + salt * 0x9E3779B9u) & 1; }

// A word for each column of 32 rows: bit r is set where row r changes the sign.
const std::uint32_t* signs() {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> made(kChunk / 32);
    for (std::uint32_t at = 0; at < kChunk; ++at)
      made[at / kPart * kWidth + at % kWidth] |= static_cast<std::uint32_t>(is_minus(at, 1)) << at / kWidth % 32;
    return made;
  }();
  return table.data();
}

struct Numbers {
  float low = kInfinity, high = -kInfinity;
  double sum = 0, square = 0;
  std::uint64_t nan = 0, inf = 0;
  double buckets[kWidth] = {};
};

#if defined(__x86_64__) && defined(__linux__)
#define JUMAR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define JUMAR_CLONES
#endif

struct Lane {
  Lanes low, high, sum, square;
};

template <typename T>
__attribute__((always_inline)) inline T at(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

__attribute__((always_inline)) inline Lanes turned(Lanes value, Bits minus) {
  return reinterpret_cast<Lanes>(reinterpret_cast<Bits>(value) ^ (minus & std::numeric_limits<std::int32_t>::min()));
}

__attribute__((always_inline)) inline Lanes least(Lanes a, Lanes b) { return a < b ? a : b; }
__attribute__((always_inline)) inline Lanes most(Lanes a, Lanes b) { return a > b ? a : b; }

// So many rows from `first` on at once, so that a bucket is read and written once for them.
template <int count>
__attribute__((always_inline)) inline void some(const float* x, int first, const std::uint32_t* sign, float* buckets,
                                                Lane& lane) {
  x += first * kWidth;
  for (int column = 0; column < kWidth; column += kLanes) {
    Lanes bucket = {}, sum = {}, square = {};
    const Bits minus = at<Bits>(sign + column) << (32 - count - first);
    for (int row = 0; row < count; ++row) {
      const Lanes value = at<Lanes>(x + row * kWidth + column);
      bucket += turned(value, minus << (count - 1 - row));
      lane.low = least(value, lane.low);
      lane.high = most(value, lane.high);
      sum += value;
      square += value * value;
    }
    lane.sum += sum;
    lane.square += square;
    bucket += at<Lanes>(buckets + column);
    std::memcpy(buckets + column, &bucket, sizeof bucket);
  }
}

JUMAR_CLONES void whole_rows(const float* x, const std::uint32_t* sign, int rows, float* buckets, Lane& lane) {
  Lane mine = lane;
  int row = 0;
  for (; row + 4 <= rows; row += 4) some<4>(x, row, sign, buckets, mine);
  for (; row < rows; ++row) some<1>(x, row, sign, buckets, mine);
  lane = mine;
}

float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(half & 0x7FFF) << 13;
  float value;
  std::memcpy(&value, &rest, 4);
  value *= 0x1p112f;
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits |= sign | ((half & 0x7C00) == 0x7C00 ? 0x7F800000u : 0u);
  std::memcpy(&value, &bits, 4);
  return value;
}

template <typename T>
__attribute__((always_inline)) inline void plain(const char* from, std::size_t count, float* to) {
  for (std::size_t at = 0; at < count; ++at) {
    T value;
    std::memcpy(&value, from + at * sizeof(T), sizeof(T));
    to[at] = static_cast<float>(value);
  }
}

JUMAR_CLONES void converted(const char* from, Kind kind, std::size_t count, float* to) {
  switch (kind) {
    case kFloat16:
      for (std::size_t at = 0; at < count; ++at) {
        std::uint16_t half;
        std::memcpy(&half, from + at * 2, 2);
        to[at] = from_half(half);
      }
      return;
    case kBfloat16:
      for (std::size_t at = 0; at < count; ++at) {
        std::uint16_t half;
        std::memcpy(&half, from + at * 2, 2);
        const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
        std::memcpy(to + at, &bits, 4);
      }
      return;
    case kFloat64: return plain<double>(from, count, to);
    case kInt64: return plain<std::int64_t>(from, count, to);
    case kInt32: return plain<std::int32_t>(from, count, to);
    case kInt16: return plain<std::int16_t>(from, count, to);
    case kInt8: return plain<std::int8_t>(from, count, to);
    case kUint8: return plain<std::uint8_t>(from, count, to);
    case kFloat32: return plain<float>(from, count, to);
  }
}

constexpr std::size_t size_of(Kind kind) {
  constexpr std::size_t sizes[] = {4, 2, 2, 8, 8, 4, 2, 1, 1};
  return sizes[kind];
}

// Where the fast pass met a value that is no number, or squares that are too large or too small for a float.
void carefully(const float* x, std::size_t count, Numbers& numbers, double& sum, double& square) {
  sum = square = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const float value = x[at];
    numbers.nan += std::isnan(value);
    numbers.inf += std::isinf(value);
    sum += value;
    square += static_cast<double>(value) * value;
  }
}

// At most kPart values of a chunk as float32: few enough for sums in float32.
void add_part(const float* x, std::size_t count, const std::uint32_t* sign, Numbers& numbers, double* into) {
  const int rows = static_cast<int>(count / kWidth);
  float buckets[kWidth] = {};
  Lane lane = {Lanes{} + kInfinity, Lanes{} - kInfinity, Lanes{}, Lanes{}};
  whole_rows(x, sign, rows, buckets, lane);
  double sum = 0, square = 0;
  float low = kInfinity, high = -kInfinity;
  for (int at = 0; at < kLanes; ++at) {
    low = std::min(low, lane.low[at]);
    high = std::max(high, lane.high[at]);
    sum += lane.sum[at];
    square += lane.square[at];
  }
  for (std::size_t at = static_cast<std::size_t>(rows) * kWidth, column = 0; at < count; ++at, ++column) {
    low = x[at] < low ? x[at] : low;
    high = x[at] > high ? x[at] : high;
    sum += x[at];
    square += static_cast<double>(x[at]) * x[at];
    buckets[column] += sign[column] >> rows & 1 ? -x[at] : x[at];
  }
  if (!std::isfinite(square) || (square < kTiny && (low != 0 || high != 0)))
    carefully(x, count, numbers, sum, square);
  numbers.low = std::min(numbers.low, low);
  numbers.high = std::max(numbers.high, high);
  numbers.sum += sum;
  numbers.square += square;
  for (int at = 0; at < kWidth; ++at) into[at] += buckets[at];
}

struct Tensor {
  const char* data;
  Kind kind;
  std::size_t count;
};

void chunk(const Tensor& tensor, std::size_t number, Numbers& numbers) {
  const std::size_t start = number * kChunk, count = std::min(kChunk, tensor.count - start);
  const char* from = tensor.data + start * size_of(tensor.kind);
  double buckets[kWidth] = {};
  float part[kPart];
  for (std::size_t done = 0; done < count; done += kPart) {
    const std::size_t size = std::min(kPart, count - done);
    const float* values = reinterpret_cast<const float*>(from) + done;
    if (tensor.kind != kFloat32) {
      converted(from + done * size_of(tensor.kind), tensor.kind, size, part);
      values = part;
    }
    add_part(values, size, signs() + done / 32, numbers, buckets);
  }
  const std::uint32_t salt = static_cast<std::uint32_t>(number) + 1;
  for (std::uint32_t at = 0; at < kWidth; ++at)
    numbers.buckets[at] += number && is_minus(at, salt) ? -buckets[at] : buckets[at];
}

struct Work {
  Tensor tensor;
  std::vector<Numbers> slices;
  std::atomic<std::size_t> next{0};
};

void take_slices(void* given) {
  Work& work = *static_cast<Work*>(given);
  const std::size_t chunks = (work.tensor.count + kChunk - 1) / kChunk;
  for (std::size_t slice; (slice = work.next.fetch_add(1)) < work.slices.size();)
    for (std::size_t at = slice * kSlice; at < std::min(chunks, (slice + 1) * kSlice); ++at)
      chunk(work.tensor, at, work.slices[slice]);
}

// torch's own threads: others would compete with them while they wait for the next operator.
using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
Parallel parallel() {
  static const Parallel found = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  return found;
}

}  // namespace

#define JUMAR_API extern "C" __attribute__((visibility("default")))

// The row of a tensor whose values lie one after the other: min, max, sum, norm, count of nan and of inf, then the
// buckets. The same numbers whatever the count of threads.
JUMAR_API void jumar_sketch(const void* data, int kind, std::uint64_t count, unsigned threads, float* row) {
  Work work;
  work.tensor = {static_cast<const char*>(data), static_cast<Kind>(kind), static_cast<std::size_t>(count)};
  work.slices.resize((work.tensor.count + kSlice * kChunk - 1) / (kSlice * kChunk));
  const unsigned wanted = static_cast<unsigned>(std::min<std::size_t>(threads, work.slices.size()));
  if (wanted > 1 && parallel())
    parallel()(take_slices, &work, wanted, 0);
  else
    take_slices(&work);
  Numbers all;
  for (const Numbers& slice : work.slices) {
    all.low = std::min(all.low, slice.low);
    all.high = std::max(all.high, slice.high);
    all.sum += slice.sum;
    all.square += slice.square;
    all.nan += slice.nan;
    all.inf += slice.inf;
    for (int at = 0; at < kWidth; ++at) all.buckets[at] += slice.buckets[at];
  }
  const float none = std::numeric_limits<float>::quiet_NaN();
  const float head[] = {all.nan ? none : all.low, all.nan ? none : all.high, static_cast<float>(all.sum),
                        static_cast<float>(std::sqrt(all.square)), static_cast<float>(all.nan),
                        static_cast<float>(all.inf)};
  std::memcpy(row, head, sizeof head);
  for (int at = 0; at < kWidth; ++at) row[6 + at] = static_cast<float>(all.buckets[at]);
}
