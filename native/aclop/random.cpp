// Operators by type for random numbers and dropout. They are given seeds only: how often one was called makes the
// difference between its results. Another one with the same seeds starts again; its attributes tell them apart. Seeds of
// zero mean others in every process, and no two calls with them are alike.
#include "kernels/random.h"

#include <mutex>
#include <random>

#include "aclop/run.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

Seed next(const Arguments& a) {
  static std::mutex mutex;
  static const uint64_t own = std::random_device{}();
  static uint64_t unseeded = 0;
  const auto first = static_cast<uint64_t>(a.number("seed", 0)), second = static_cast<uint64_t>(a.number("seed2", 0));
  const std::lock_guard<std::mutex> guard(mutex);
  if (a.attributes == nullptr || (first == 0 && second == 0)) return {own, unseeded++};
  return {first ^ second << 32, a.attributes->draws++};
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
