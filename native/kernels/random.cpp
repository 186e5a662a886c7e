#include "kernels/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/map.h"

namespace jumar::kernels {
namespace {

using Block = std::array<uint32_t, 4>;

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), table 2.
Block philox(uint64_t seed, uint64_t offset, uint64_t position) {
  constexpr uint64_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57;
  constexpr uint32_t kStepA = 0x9E3779B9, kStepB = 0xBB67AE85;
  Block c{static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), static_cast<uint32_t>(offset),
          static_cast<uint32_t>(offset >> 32)};
  auto a = static_cast<uint32_t>(seed), b = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, a += kStepA, b += kStepB) {
    const uint64_t p = kFirst * c[0], q = kSecond * c[2];
    c = {static_cast<uint32_t>(q >> 32) ^ c[1] ^ a, static_cast<uint32_t>(q), static_cast<uint32_t>(p >> 32) ^ c[3] ^ b,
         static_cast<uint32_t>(p)};
  }
  return c;
}

size_t size_of(const View& view) { return static_cast<size_t>(count(view.dims)); }

}  // namespace

std::vector<double> uniform(const Seed& seed, size_t size) {
  std::vector<double> values(size);
  for (size_t i = 0; i < size; i += 4) {
    const Block block = philox(seed.seed, seed.offset, i / 4);
    // 24 bits: a number that float can hold, so that rounding never gives one.
    for (size_t j = i; j < std::min(size, i + 4); ++j) values[j] = (block[j - i] >> 8) * 0x1p-24;
  }
  return values;
}

std::vector<double> normal(const Seed& seed, size_t size) {
  constexpr double kTwoPi = 6.28318530717958647693;
  const auto flat = uniform(seed, size + size % 2);
  std::vector<double> values(size);
  for (size_t i = 0; i < size; ++i) {
    const size_t pair = i - i % 2;
    const double radius = std::sqrt(-2 * std::log(1 - flat[pair])), angle = kTwoPi * flat[pair + 1];
    values[i] = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }
  return values;
}

void fill_uniform(const View& out, double low, double high, const Seed& seed) {
  store(out, mapped(size_of(out), [=](double u) { return low + (high - low) * u; }, uniform(seed, size_of(out))));
}

void fill_normal(const View& out, const View& mean, const View& deviation, const Seed& seed) {
  store(out, mapped(size_of(out), [](double n, double m, double d) { return m + d * n; }, normal(seed, size_of(out)),
                    load<double>(mean, out.dims), load<double>(deviation, out.dims)));
}

void fill_integers(const View& out, int64_t low, int64_t high, const Seed& seed) {
  const auto range = static_cast<double>(high - low);
  store(out, mapped(size_of(out), [=](double u) { return static_cast<double>(low) + std::floor(range * u); },
                    uniform(seed, size_of(out))));
}

void fill_bernoulli(const View& out, const View& probability, const Seed& seed) {
  store(out, mapped(size_of(out), [](double u, double p) { return u < p ? 1.0 : 0.0; }, uniform(seed, size_of(out)),
                    load<double>(probability, out.dims)));
}

void permutation(const View& out, const Seed& seed) {
  const auto keys = uniform(seed, size_of(out));
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  store(out, order);
}

void multinomial(const View& weights, bool replacement, const Seed& seed, const View& out) {
  const auto classes = static_cast<size_t>(weights.dims.back()), wanted = static_cast<size_t>(out.dims.back());
  auto shares = load<double>(weights);
  const auto draws = uniform(seed, size_of(out));
  std::vector<int64_t> result(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    double* row = &shares[i / wanted * classes];
    double left = draws[i] * std::accumulate(row, row + classes, 0.0);
    size_t chosen = 0;
    while (chosen + 1 < classes && (row[chosen] == 0 || left >= row[chosen])) left -= row[chosen++];
    result[i] = static_cast<int64_t>(chosen);
    if (!replacement) row[chosen] = 0;
  }
  store(out, result);
}

void dropout_bits(const View& out, int64_t size, double drop, const Seed& seed) {
  const auto draws = uniform(seed, static_cast<size_t>(size));
  auto* bytes = static_cast<uint8_t*>(out.data);
  std::fill_n(bytes, size_of(out), uint8_t{0});
  for (size_t i = 0; i < draws.size(); ++i)
    if (draws[i] >= drop) bytes[i / 8] |= static_cast<uint8_t>(1U << i % 8);
}

void apply_dropout_bits(const View& x, const View& bits, double drop, const View& out) {
  const auto* bytes = static_cast<const uint8_t*>(bits.data);
  auto values = load<double>(x);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (bytes[i / 8] >> i % 8 & 1) != 0 ? values[i] / (1 - drop) : 0;
  store(out, values);
}

}  // namespace jumar::kernels
