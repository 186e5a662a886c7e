// MD5 (RFC 1321) of many parts of a file at once, one in each lane of a vector register. One MD5 is a chain of
// steps that wait for each other and leave most of a core idle; the parts of a large file are independent of each
// other. `jumar cloud` checks uploads and downloads with it (src/jumar/cloud/lanes.py).

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int kMost = 16;
constexpr std::size_t kPiece = 64 << 10;  // of each part; all of them stay in the second cache
typedef std::uint32_t Eight __attribute__((vector_size(32)));

template <int lanes>
struct Wide {
  typedef std::uint32_t Words __attribute__((vector_size(4 * lanes)));
  struct State {
    Words a, b, c, d;
  };
};

constexpr std::uint32_t kSines[64] = {
  0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
  0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
  0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
  0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
  0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
  0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
  0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
  0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr int kTurns[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

template <int step, typename Words>
__attribute__((always_inline)) inline void one(Words& a, Words& b, Words& c, Words& d, const Words* m) {
  Words f;
  int g;
  if (step < 16) {
    f = d ^ (b & (c ^ d));
    g = step;
  } else if (step < 32) {
    f = c ^ (d & (b ^ c));
    g = (5 * step + 1) % 16;
  } else if (step < 48) {
    f = b ^ c ^ d;
    g = (3 * step + 5) % 16;
  } else {
    f = c ^ (b | ~d);
    g = (7 * step) % 16;
  }
  f += a + kSines[step] + m[g];
  constexpr int turn = kTurns[step / 16 * 4 + step % 4];
  a = b + (f << turn | f >> (32 - turn));
}

template <int step, typename State, typename Words>
__attribute__((always_inline)) inline void steps(State& s, const Words* m) {
  if constexpr (step < 64) {
    one<step>(s.a, s.b, s.c, s.d, m);
    one<step + 1>(s.d, s.a, s.b, s.c, m);
    one<step + 2>(s.c, s.d, s.a, s.b, m);
    one<step + 3>(s.b, s.c, s.d, s.a, m);
    steps<step + 4>(s, m);
  }
}

#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
#define JUMAR_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define JUMAR_PICK(a, b, ...) __builtin_shuffle(a, b, Eight{__VA_ARGS__})
#endif

// Eight words of each of eight parts become eight vectors, each with one word of every part.
__attribute__((always_inline)) inline void turn(const std::uint8_t* const* from, std::size_t at, Eight* to) {
  Eight in[8], two[8], four[8];
  for (int lane = 0; lane < 8; ++lane) std::memcpy(&in[lane], from[lane] + at, sizeof(Eight));
  for (int i = 0; i < 4; ++i) {
    two[2 * i] = JUMAR_PICK(in[2 * i], in[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    two[2 * i + 1] = JUMAR_PICK(in[2 * i], in[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int half = 0; half < 8; half += 4)
    for (int i = 0; i < 2; ++i) {
      four[half + 2 * i] = JUMAR_PICK(two[half + i], two[half + i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      four[half + 2 * i + 1] = JUMAR_PICK(two[half + i], two[half + i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < 4; ++i) {
    to[i] = JUMAR_PICK(four[i], four[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    to[i + 4] = JUMAR_PICK(four[i], four[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

template <int lanes>
__attribute__((always_inline)) inline void run(typename Wide<lanes>::State& state, const std::uint8_t* const* from,
                                               std::size_t count) {
  typename Wide<lanes>::Words m[16];
  for (std::size_t at = 0; at < count; ++at) {
    for (int group = 0; group < lanes / 8; ++group) {
      Eight turned[16];
      turn(from + 8 * group, at * 64, turned);
      turn(from + 8 * group, at * 64 + 32, turned + 8);
      for (int word = 0; word < 16; ++word)
        std::memcpy(reinterpret_cast<std::uint8_t*>(&m[word]) + 32 * group, &turned[word], 32);
    }
    const auto before = state;
    steps<0>(state, m);
    state.a += before.a;
    state.b += before.b;
    state.c += before.c;
    state.d += before.d;
  }
}

#if defined(__x86_64__) && defined(__linux__)
#define JUMAR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define JUMAR_CLONES
#endif

JUMAR_CLONES void blocks(Wide<8>::State& state, const std::uint8_t* const* from, std::size_t count) {
  run<8>(state, from, count);
}

JUMAR_CLONES void blocks(Wide<16>::State& state, const std::uint8_t* const* from, std::size_t count) {
  run<16>(state, from, count);
}

bool fill(int file, std::uint8_t* to, std::size_t size, std::uint64_t start) {
  while (size > 0) {
    const ssize_t got = pread(file, to, size, static_cast<off_t>(start));
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
    start += static_cast<std::uint64_t>(got);
  }
  return true;
}

template <int lanes>
int sums(int file, const std::uint64_t* starts, int count, std::uint64_t size, std::uint8_t* result) {
  typedef typename Wide<lanes>::Words Words;
  std::vector<std::uint8_t> memory(count * kPiece);
  const std::uint8_t* from[lanes];
  for (int lane = 0; lane < lanes; ++lane) from[lane] = memory.data() + (lane < count ? lane : 0) * kPiece;
  typename Wide<lanes>::State state = {Words{} + 0x67452301u, Words{} + 0xefcdab89u, Words{} + 0x98badcfeu,
                                       Words{} + 0x10325476u};
  std::uint64_t at = 0;
  std::size_t rest = 0;
  do {
    rest = static_cast<std::size_t>(size - at < kPiece ? size - at : kPiece);
    for (int lane = 0; lane < count; ++lane)
      if (!fill(file, memory.data() + lane * kPiece, rest, starts[lane] + at)) return -1;
    blocks(state, from, rest / 64);
    at += rest;
  } while (at < size);
  const std::size_t read = rest / 64 * 64;
  rest -= read;
  std::uint8_t ends[lanes][128] = {};
  const std::size_t left = rest < 56 ? 1 : 2;
  for (int lane = 0; lane < lanes; ++lane) {
    std::memcpy(ends[lane], from[lane] + read, rest);
    ends[lane][rest] = 0x80;
    const std::uint64_t bits = size * 8;
    std::memcpy(ends[lane] + left * 64 - 8, &bits, 8);
    from[lane] = ends[lane];
  }
  blocks(state, from, left);
  for (int lane = 0; lane < count; ++lane) {
    const std::uint32_t words[4] = {state.a[lane], state.b[lane], state.c[lane], state.d[lane]};
    std::memcpy(result + lane * 16, words, 16);
  }
  return 0;
}

}  // namespace

#define JUMAR_API extern "C" __attribute__((visibility("default")))

JUMAR_API int jumar_md5_most() { return kMost; }

// Of so many parts of a file, each of `size` bytes; 16 bytes of result for each. -1 if the file ends too early or
// cannot be read. Only a little of each part is in memory at a time.
JUMAR_API int jumar_md5_parts(int file, const std::uint64_t* starts, int count, std::uint64_t size,
                              std::uint8_t* result) {
  if (count < 1 || count > kMost) return -1;
  return count > 8 ? sums<16>(file, starts, count, size, result) : sums<8>(file, starts, count, size, result);
}
