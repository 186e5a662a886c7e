// Random numbers by the Philox generator (4x32, 10 rounds): a function of seed and position, so that the same call with
// the same numbers gives the same values. A device draws others.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

struct Seed {
  uint64_t seed, offset;
};

std::vector<double> uniform(const Seed& seed, size_t size);  // in [0, 1)
std::vector<double> normal(const Seed& seed, size_t size);

void fill_uniform(const View& out, double low, double high, const Seed& seed);
void fill_normal(const View& out, const View& mean, const View& deviation, const Seed& seed);
void fill_integers(const View& out, int64_t low, int64_t high, const Seed& seed);
void fill_bernoulli(const View& out, const View& probability, const Seed& seed);
void permutation(const View& out, const Seed& seed);
void multinomial(const View& weights, bool replacement, const Seed& seed, const View& out);

// A bit for each element, set for those that stay.
void dropout_bits(const View& out, int64_t size, double drop, const Seed& seed);
void apply_dropout_bits(const View& x, const View& bits, double drop, const View& out);

}  // namespace jumar::kernels
