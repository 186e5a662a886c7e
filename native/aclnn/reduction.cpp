// Operator calls (aclnn) for reductions, softmax, losses and normalization.
#include "kernels/reduction.h"

#include "aclnn/call.h"
#include "kernels/norm.h"
#include "kernels/softmax.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

Dims axes(Ints list) { return list != nullptr ? *list : Dims(); }

int64_t width(Ints shape) { return count(*shape); }

}  // namespace

OPERATOR(aclnnReduceSum, (In self, Ints dims, bool, int32_t, Out out),
         reduce(Reduce::kSum, view(self), axes(dims), view(out)))
OPERATOR(aclnnMean, (In self, Ints dims, bool, int32_t, Out out),
         reduce(Reduce::kMean, view(self), axes(dims), view(out)))
OPERATOR(aclnnAmax, (In self, Ints dims, bool, Out out), reduce(Reduce::kMax, view(self), axes(dims), view(out)))
OPERATOR(aclnnAmin, (In self, Ints dims, bool, Out out), reduce(Reduce::kMin, view(self), axes(dims), view(out)))
OPERATOR(aclnnAny, (In self, Ints dims, bool, Out out), reduce(Reduce::kAny, view(self), axes(dims), view(out)))
OPERATOR(aclnnAll, (In self, Ints dims, bool, Out out), reduce(Reduce::kAll, view(self), axes(dims), view(out)))
OPERATOR(aclnnMax, (In self, Out out), reduce(Reduce::kMax, view(self), {}, view(out)))
OPERATOR(aclnnMin, (In self, Out out), reduce(Reduce::kMin, view(self), {}, view(out)))
OPERATOR(aclnnProd, (In self, int32_t, Out out), reduce(Reduce::kProd, view(self), {}, view(out)))
OPERATOR(aclnnProdDim, (In self, int64_t dim, bool, int32_t, Out out),
         reduce(Reduce::kProd, view(self), {dim}, view(out)))
OPERATOR(aclnnMaxDim, (In self, int64_t dim, bool, Out out, Out places),
         arg_reduce(true, view(self), dim, Maybe(out), view(places)))
OPERATOR(aclnnMinDim, (In self, int64_t dim, bool, Out out, Out places),
         arg_reduce(false, view(self), dim, Maybe(out), view(places)))
OPERATOR(aclnnArgMax, (In self, int64_t dim, bool, Out out), arg_reduce(true, view(self), dim, nullptr, view(out)))
OPERATOR(aclnnArgMin, (In self, int64_t dim, bool, Out out), arg_reduce(false, view(self), dim, nullptr, view(out)))

OPERATOR(aclnnSoftmax, (In self, int64_t dim, Out out), softmax(view(self), dim, false, view(out)))
OPERATOR(aclnnLogSoftmax, (In self, int64_t dim, Out out), softmax(view(self), dim, true, view(out)))
OPERATOR(aclnnSoftmaxBackward, (In grad, In result, int64_t dim, Out out),
         softmax_gradient(view(grad), view(result), dim, false, view(out)))
OPERATOR(aclnnLogSoftmaxBackward, (In grad, In result, int64_t dim, Out out),
         softmax_gradient(view(grad), view(result), dim, true, view(out)))
OPERATOR(aclnnNLLLoss, (In self, In target, In weight, int64_t mean, int64_t ignored, Out out, Out total),
         nll_loss(view(self), view(target), Maybe(weight), static_cast<Mean>(mean), ignored, view(out), view(total)))
OPERATOR(aclnnNLLLossBackward,
         (In grad, In, In target, In weight, int64_t mean, int64_t ignored, In total, Out out),
         nll_loss_gradient(view(grad), view(target), Maybe(weight), static_cast<Mean>(mean), ignored, view(total),
                           view(out)))

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
           const auto chosen = [&](size_t i, Out out) { return Maybe(mask == nullptr || mask->at(i) != 0 ? out : nullptr); };
           batch_norm_gradient(view(grad), view(x), {w, nullptr, m, v, training, 0, epsilon}, Maybe(batch_mean),
                               Maybe(batch_inverse), chosen(0, to_x), chosen(1, to_weight), chosen(2, to_bias));
         })
OPERATOR(aclnnLayerNorm,
         (In x, Ints shape, In weight, In bias, double epsilon, Out out, Out mean, Out inverse),
         layer_norm(view(x), width(shape), Maybe(weight), Maybe(bias), epsilon, view(out), Maybe(mean), Maybe(inverse)))
OPERATOR(aclnnLayerNormBackward,
         (In grad, In x, Ints shape, In mean, In inverse, In weight, In, Flags mask, Out to_x, Out to_weight, Out to_bias), {
           const auto chosen = [&](size_t i, Out out) { return Maybe(mask == nullptr || mask->at(i) != 0 ? out : nullptr); };
           layer_norm_gradient(view(grad), view(x), width(shape), view(mean), view(inverse), Maybe(weight),
                               chosen(0, to_x), chosen(1, to_weight), chosen(2, to_bias));
         })
