// Operator calls (aclnn) for normalization.
#include "kernels/norm.h"

#include "aclnn/call.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

Rows layer(Ints shape) { return {count(*shape), count(*shape)}; }
Rows group(int64_t channels, int64_t repeat, int64_t groups) { return {channels / groups * repeat, channels, repeat}; }
Rows unshifted(In weight) { return {count(weight->dims), count(weight->dims), 1, false}; }

// The outputs that the client asks for.
Maybe chosen(Flags mask, size_t index, Out out) { return Maybe(mask == nullptr || mask->at(index) != 0 ? out : nullptr); }

}  // namespace

OPERATOR(aclnnBatchNorm,
         (In x, In weight, In bias, Out mean, Out variance, bool training, double momentum, double epsilon, Out out,
          Out batch_mean, Out batch_inverse), {
           const Maybe w(weight), b(bias), m(mean), v(variance);
           batch_norm(view(x), {w, b, m, v, training, momentum, epsilon}, view(out), Maybe(batch_mean),
                      Maybe(batch_inverse));
         })
OPERATOR(aclnnBatchNormBackward,
         (In grad, In x, In weight, In mean, In variance, In batch_mean, In batch_inverse, bool training, double epsilon,
          Flags mask, Out to_x, Out to_weight, Out to_bias), {
           const Maybe w(weight), m(mean), v(variance);
           batch_norm_gradient(view(grad), view(x), {w, nullptr, m, v, training, 0, epsilon}, Maybe(batch_mean),
                               Maybe(batch_inverse), chosen(mask, 0, to_x), chosen(mask, 1, to_weight),
                               chosen(mask, 2, to_bias));
         })
OPERATOR(aclnnLayerNorm,
         (In x, Ints shape, In weight, In bias, double epsilon, Out out, Out mean, Out inverse),
         row_norm(view(x), layer(shape), Maybe(weight), Maybe(bias), epsilon, view(out), Maybe(mean), Maybe(inverse)))
OPERATOR(aclnnLayerNormBackward,
         (In grad, In x, Ints shape, In mean, In inverse, In weight, In, Flags mask, Out to_x, Out to_weight, Out to_bias),
         row_norm_gradient(view(grad), view(x), layer(shape), Maybe(mean), view(inverse), Maybe(weight),
                           chosen(mask, 0, to_x), chosen(mask, 1, to_weight), chosen(mask, 2, to_bias)))
OPERATOR(aclnnGroupNorm,
         (In x, In weight, In bias, int64_t, int64_t channels, int64_t repeat, int64_t groups, double epsilon, Out out,
          Out mean, Out inverse),
         row_norm(view(x), group(channels, repeat, groups), Maybe(weight), Maybe(bias), epsilon, view(out), Maybe(mean),
                  Maybe(inverse)))
OPERATOR(aclnnGroupNormBackward,
         (In grad, In x, In mean, In inverse, In weight, int64_t, int64_t channels, int64_t repeat, int64_t groups,
          Flags mask, Out to_x, Out to_weight, Out to_bias),
         row_norm_gradient(view(grad), view(x), group(channels, repeat, groups), Maybe(mean), view(inverse),
                           Maybe(weight), chosen(mask, 0, to_x), chosen(mask, 1, to_weight), chosen(mask, 2, to_bias)))
OPERATOR(aclnnRmsNorm, (In x, In weight, double epsilon, Out out, Out inverse),
         row_norm(view(x), unshifted(weight), Maybe(weight), nullptr, epsilon, view(out), nullptr, Maybe(inverse)))
OPERATOR(aclnnRmsNormGrad, (In grad, In x, In inverse, In weight, Out to_x, Out to_weight),
         row_norm_gradient(view(grad), view(x), unshifted(weight), nullptr, view(inverse), Maybe(weight), Maybe(to_x),
                           Maybe(to_weight), nullptr))
