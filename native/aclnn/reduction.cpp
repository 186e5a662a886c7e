// Operator calls (aclnn) for reductions, softmax and the losses made of it.
#include "kernels/reduction.h"

#include "aclnn/call.h"
#include "kernels/softmax.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

Dims axes(Ints list) { return list != nullptr ? *list : Dims(); }

}  // namespace

OPERATOR(aclnnReduceSum, reduce(Reduce::kSum, view(self), axes(dims), view(out)))
OPERATOR(aclnnMean, reduce(Reduce::kMean, view(self), axes(dims), view(out)))
OPERATOR(aclnnAmax, reduce(Reduce::kMax, view(self), axes(dims), view(out)))
OPERATOR(aclnnAmin, reduce(Reduce::kMin, view(self), axes(dims), view(out)))
OPERATOR(aclnnAny, reduce(Reduce::kAny, view(self), axes(dims), view(out)))
OPERATOR(aclnnAll, reduce(Reduce::kAll, view(self), axes(dims), view(out)))
OPERATOR(aclnnMax, reduce(Reduce::kMax, view(self), {}, view(out)))
OPERATOR(aclnnMin, reduce(Reduce::kMin, view(self), {}, view(out)))
OPERATOR(aclnnProd, reduce(Reduce::kProd, view(self), {}, view(out)))
OPERATOR(aclnnProdDim, reduce(Reduce::kProd, view(self), {dim}, view(out)))
OPERATOR(aclnnMaxDim, arg_reduce(true, view(self), dim, Maybe(out), view(places)))
OPERATOR(aclnnMinDim, arg_reduce(false, view(self), dim, Maybe(out), view(places)))
OPERATOR(aclnnArgMax, arg_reduce(true, view(self), dim, nullptr, view(out)))
OPERATOR(aclnnArgMin, arg_reduce(false, view(self), dim, nullptr, view(out)))

OPERATOR(aclnnStd, spread(true, view(self), axes(dims), correction, view(out), nullptr))
OPERATOR(aclnnVarCorrection, spread(false, view(self), axes(dims), correction, view(out), nullptr))
OPERATOR(aclnnVarMean, spread(false, view(self), axes(dims), correction, view(out), Maybe(mean)))
OPERATOR(aclnnStdMeanCorrection, spread(true, view(self), axes(dims), correction, view(out), Maybe(mean)))
OPERATOR(aclnnNorm, power_norm(value(power, 2), view(self), axes(dims), view(out)))
OPERATOR(aclnnLinalgVectorNorm, power_norm(value(power, 2), view(self), axes(dims), view(out)))
OPERATOR(aclnnLogSumExp, log_sum_exp(view(self), axes(dims), view(out)))

OPERATOR(aclnnSoftmax, softmax(view(self), dim, false, view(out)))
OPERATOR(aclnnLogSoftmax, softmax(view(self), dim, true, view(out)))
OPERATOR(aclnnSoftmaxBackward, softmax_gradient(view(grad), view(result), dim, false, view(out)))
OPERATOR(aclnnLogSoftmaxBackward, softmax_gradient(view(grad), view(result), dim, true, view(out)))
OPERATOR(aclnnNLLLoss,
         nll_loss(view(self), view(target), Maybe(weight), static_cast<Mean>(mean), ignored, view(out), view(total)))
OPERATOR(aclnnNLLLossBackward,
         nll_loss_gradient(view(grad), view(target), Maybe(weight), static_cast<Mean>(mean), ignored, view(total),
                           view(out)))
