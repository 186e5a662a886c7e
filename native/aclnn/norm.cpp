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

OPERATOR(aclnnBatchNorm, {
           const Maybe w(weight), b(bias), m(mean), v(variance);
           batch_norm(view(x), {w, b, m, v, training, momentum, epsilon}, view(out), Maybe(batch_mean),
                      Maybe(batch_inverse));
         })
OPERATOR(aclnnBatchNormBackward, {
           const Maybe w(weight), m(mean), v(variance);
           batch_norm_gradient(view(grad), view(x), {w, nullptr, m, v, training, 0, epsilon}, Maybe(batch_mean),
                               Maybe(batch_inverse), chosen(mask, 0, to_x), chosen(mask, 1, to_weight),
                               chosen(mask, 2, to_bias));
         })
OPERATOR(aclnnLayerNorm,
         row_norm(view(x), layer(shape), Maybe(weight), Maybe(bias), epsilon, view(out), Maybe(mean), Maybe(inverse)))
OPERATOR(aclnnLayerNormBackward,
         row_norm_gradient(view(grad), view(x), layer(shape), Maybe(mean), view(inverse), Maybe(weight),
                           chosen(mask, 0, to_x), chosen(mask, 1, to_weight), chosen(mask, 2, to_bias)))
OPERATOR(aclnnGroupNorm,
         row_norm(view(x), group(channels, repeat, groups), Maybe(weight), Maybe(bias), epsilon, view(out), Maybe(mean),
                  Maybe(inverse)))
OPERATOR(aclnnGroupNormBackward,
         row_norm_gradient(view(grad), view(x), group(channels, repeat, groups), Maybe(mean), view(inverse),
                           Maybe(weight), chosen(mask, 0, to_x), chosen(mask, 1, to_weight), chosen(mask, 2, to_bias)))
OPERATOR(aclnnRmsNorm,
         row_norm(view(x), unshifted(weight), Maybe(weight), nullptr, epsilon, view(out), nullptr, Maybe(inverse)))
OPERATOR(aclnnRmsNormGrad,
         rms_norm_gradient(view(grad), view(x), view(inverse), view(weight), Maybe(to_x), Maybe(to_weight)))
