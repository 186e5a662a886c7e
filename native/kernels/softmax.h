// Softmax, its logarithm, and the losses made of them.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

void softmax(const View& x, int64_t axis, bool logarithm, const View& out);
void softmax_gradient(const View& grad, const View& result, int64_t axis, bool logarithm, const View& out);
// Rows of scores and of label probabilities; the loss of each row, and the gradient for a loss of one each.
void softmax_cross_entropy(const View& scores, const View& labels, const View& loss, const View& gradient);

enum class Mean { kNone = 0, kMean = 1, kSum = 2 };
// Negative log likelihood of rows of log probabilities (N, C); `weight` may be missing.
void nll_loss(const View& x, const View& target, const View* weight, Mean mean, int64_t ignored, const View& out,
              const View& total_weight);
void nll_loss_gradient(const View& grad, const View& target, const View* weight, Mean mean, int64_t ignored,
                       const View& total_weight, const View& out);

}  // namespace jumar::kernels
