// Operator calls (aclnn) for random numbers and dropout.
#include "kernels/random.h"

#include "aclnn/call.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

View number(const double& value) { return {kDouble, {}, {}, const_cast<double*>(&value)}; }

Seed seed_of(int64_t seed, int64_t offset) { return {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)}; }

}  // namespace

OPERATOR(aclnnInplaceNormal, (Out self, float mean, float deviation, int64_t seed, int64_t offset), {
  const double m = mean;
  const double d = deviation;
  fill_normal(view(self), number(m), number(d), seed_of(seed, offset));
})
OPERATOR(aclnnNormalFloatFloat, (float mean, float deviation, int64_t seed, int64_t offset, Out out), {
  const double m = mean;
  const double d = deviation;
  fill_normal(view(out), number(m), number(d), seed_of(seed, offset));
})
OPERATOR(aclnnNormalTensorFloat, (In mean, float deviation, int64_t seed, int64_t offset, Out out), {
  const double d = deviation;
  fill_normal(view(out), view(mean), number(d), seed_of(seed, offset));
})
OPERATOR(aclnnNormalFloatTensor, (float mean, In deviation, int64_t seed, int64_t offset, Out out), {
  const double m = mean;
  fill_normal(view(out), number(m), view(deviation), seed_of(seed, offset));
})
OPERATOR(aclnnNormalTensorTensor, (In mean, In deviation, int64_t seed, int64_t offset, Out out),
         fill_normal(view(out), view(mean), view(deviation), seed_of(seed, offset)))
OPERATOR(aclnnInplaceUniform, (Out self, double low, double high, uint64_t seed, uint64_t offset),
         fill_uniform(view(self), low, high, {seed, offset}))
OPERATOR(aclnnInplaceRandom, (Out self, int64_t low, int64_t high, int64_t seed, int64_t offset),
         fill_integers(view(self), low, high, seed_of(seed, offset)))
OPERATOR(aclnnInplaceBernoulli, (Out self, Number probability, int64_t seed, int64_t offset), {
  const double p = value(probability, 0.5);
  fill_bernoulli(view(self), number(p), seed_of(seed, offset));
})
OPERATOR(aclnnInplaceBernoulliTensor, (Out self, In probability, int64_t seed, int64_t offset),
         fill_bernoulli(view(self), view(probability), seed_of(seed, offset)))
OPERATOR(aclnnRandperm, (int64_t, int64_t seed, int64_t offset, Out out), permutation(view(out), seed_of(seed, offset)))
OPERATOR(aclnnMultinomial, (In self, int64_t, bool replacement, int64_t seed, int64_t offset, Out out),
         multinomial(view(self), replacement, seed_of(seed, offset), view(out)))

OPERATOR(aclnnDropoutGenMask, (Ints shape, double drop, int64_t seed, int64_t offset, Out out),
         dropout_bits(view(out), count(*shape), drop, seed_of(seed, offset)))
OPERATOR(aclnnDropoutGenMaskV2, (Ints shape, double drop, int64_t seed, int64_t offset, int32_t, Out out),
         dropout_bits(view(out), count(*shape), drop, seed_of(seed, offset)))
OPERATOR(aclnnDropoutDoMask, (In self, In mask, double drop, Out out),
         apply_dropout_bits(view(self), view(mask), drop, view(out)))
