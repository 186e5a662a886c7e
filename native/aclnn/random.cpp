// Operator calls (aclnn) for random numbers and dropout.
#include "kernels/random.h"

#include "aclnn/call.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

View number(const double& value) { return {kDouble, {}, {}, const_cast<double*>(&value)}; }

Seed seed_of(int64_t seed, int64_t offset) { return {static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)}; }

}  // namespace

OPERATOR(aclnnInplaceNormal, {
  const double m = mean;
  const double d = deviation;
  fill_normal(view(self), number(m), number(d), seed_of(seed, offset));
})
OPERATOR(aclnnNormalFloatFloat, {
  const double m = mean;
  const double d = deviation;
  fill_normal(view(out), number(m), number(d), seed_of(seed, offset));
})
OPERATOR(aclnnNormalTensorFloat, {
  const double d = deviation;
  fill_normal(view(out), view(mean), number(d), seed_of(seed, offset));
})
OPERATOR(aclnnNormalFloatTensor, {
  const double m = mean;
  fill_normal(view(out), number(m), view(deviation), seed_of(seed, offset));
})
OPERATOR(aclnnNormalTensorTensor, fill_normal(view(out), view(mean), view(deviation), seed_of(seed, offset)))
OPERATOR(aclnnInplaceUniform, fill_uniform(view(self), low, high, {seed, offset}))
OPERATOR(aclnnInplaceRandom, fill_integers(view(self), low, high, seed_of(seed, offset)))
OPERATOR(aclnnInplaceBernoulli, {
  const double p = value(probability, 0.5);
  fill_bernoulli(view(self), number(p), seed_of(seed, offset));
})
OPERATOR(aclnnInplaceBernoulliTensor, fill_bernoulli(view(self), view(probability), seed_of(seed, offset)))
OPERATOR(aclnnRandperm, permutation(view(out), seed_of(seed, offset)))
OPERATOR(aclnnMultinomial, multinomial(view(self), replacement, seed_of(seed, offset), view(out)))

OPERATOR(aclnnDropoutGenMask, dropout_bits(view(out), count(*shape), drop, seed_of(seed, offset)))
OPERATOR(aclnnDropoutGenMaskV2, dropout_bits(view(out), count(*shape), drop, seed_of(seed, offset)))
OPERATOR(aclnnDropoutDoMask, apply_dropout_bits(view(self), view(mask), drop, view(out)))
