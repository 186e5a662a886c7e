// Operator calls (aclnn) for reductions, softmax and the losses made of it.
#include "kernels/reduction.h"

#include "aclnn/call.h"
#include "kernels/softmax.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

Dims axes(Ints list) { return list != nullptr ? *list : Dims(); }

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

OPERATOR(aclnnStd, (In self, Ints dims, int64_t correction, bool, Out out),
         spread(true, view(self), axes(dims), correction, view(out), nullptr))
OPERATOR(aclnnVarCorrection, (In self, Ints dims, int64_t correction, bool, Out out),
         spread(false, view(self), axes(dims), correction, view(out), nullptr))
OPERATOR(aclnnVarMean, (In self, Ints dims, int64_t correction, bool, Out out, Out mean),
         spread(false, view(self), axes(dims), correction, view(out), Maybe(mean)))
OPERATOR(aclnnStdMeanCorrection, (In self, Ints dims, int64_t correction, bool, Out out, Out mean),
         spread(true, view(self), axes(dims), correction, view(out), Maybe(mean)))
OPERATOR(aclnnNorm, (In self, Number power, Ints dims, bool, Out out),
         power_norm(value(power, 2), view(self), axes(dims), view(out)))
OPERATOR(aclnnLinalgVectorNorm, (In self, Number power, Ints dims, bool, int32_t, Out out),
         power_norm(value(power, 2), view(self), axes(dims), view(out)))
OPERATOR(aclnnLogSumExp, (In self, Ints dims, bool, Out out), log_sum_exp(view(self), axes(dims), view(out)))

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
