// Operators by type for random numbers and dropout. They are given seeds only: how often one was called with the same
// seeds makes the difference between its results, and seeds of zero mean others in every process.
#include "kernels/random.h"

#include <map>
#include <mutex>
#include <random>

#include "aclop/run.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

Seed next(const Arguments& a) {
  static std::mutex mutex;
  static auto& calls = *new std::map<std::pair<uint64_t, uint64_t>, uint64_t>;
  static const uint64_t own = std::random_device{}();
  std::pair seeds{static_cast<uint64_t>(a.number("seed", 0)), static_cast<uint64_t>(a.number("seed2", 0))};
  if (seeds.first == 0 && seeds.second == 0) seeds.first = own;
  const std::lock_guard<std::mutex> guard(mutex);
  return {seeds.first ^ seeds.second << 32, calls[seeds]++};
}

View number(const double& value) { return {kDouble, {}, {}, const_cast<double*>(&value)}; }

// Inputs: shape, probability to stay.
// Bits for the whole room, which is larger than the tensor that they are for.
void dropout_mask(const Arguments& a) {
  constexpr int64_t kBits = 8;
  dropout_bits(a.out(0), kBits * count(a.out(0).dims), 1 - a.number_in(1), next(a));
}

void dropout(const Arguments& a) { apply_dropout_bits(a.in(0), a.in(1), 1 - a.number_in(2), a.out(0)); }

void random_normal(const Arguments& a) {
  constexpr double kMean = 0, kDeviation = 1;
  fill_normal(a.out(0), number(kMean), number(kDeviation), next(a));
}

void random_integers(const Arguments& a) {
  fill_integers(a.out(0), static_cast<int64_t>(a.number_in(1)), static_cast<int64_t>(a.number_in(2)), next(a));
}

// Inputs: size, seed, offset.
void random_order(const Arguments& a) {
  permutation(a.out(0), {static_cast<uint64_t>(a.number_in(1)), static_cast<uint64_t>(a.number_in(2))});
}

}  // namespace

const std::vector<Entry> kRandom = {
    {"CustMultinomial", [](const Arguments& a) { multinomial(a.in(0), true, next(a), a.out(0)); }},
    {"DropOutDoMask", dropout},
    {"DropOutGenMask", dropout_mask},
    {"RandomStandardNormal", random_normal},
    {"RandomUniform", [](const Arguments& a) { fill_uniform(a.out(0), 0, 1, next(a)); }},
    {"RandomUniformInt", random_integers},
    {"StatelessRandperm", random_order},
};

}  // namespace jumar::aclop
