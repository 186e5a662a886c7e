// Normalization over a batch or over rows (layers, groups), and its gradients.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

struct BatchNorm {
  const View *weight, *bias, *running_mean, *running_variance;  // each may be missing
  bool training;
  double momentum, epsilon;
};

// The sums of a batch (N, C, rest) and of its squares, one pair for each channel.
void channel_sums(const View& x, const View& sums, const View& squares);

// `mean` and `inverse_deviation` of the batch are kept for the gradient.
void batch_norm(const View& x, const BatchNorm& norm, const View& out, const View* mean, const View* inverse_deviation);
void batch_norm_gradient(const View& grad, const View& x, const BatchNorm& norm, const View* mean,
                         const View* inverse_deviation, const View* to_x, const View* to_weight, const View* to_bias);

// Rows of neighbours that are normalized together; weight and bias have one number for each of `channels`, which
// come one after the other, each for `repeat` elements.
struct Rows {
  int64_t width, channels, repeat = 1;
  bool centered = true;  // otherwise only scaled: the mean counts as zero
};
void row_norm(const View& x, const Rows& rows, const View* weight, const View* bias, double epsilon, const View& out,
              const View* mean, const View* inverse_deviation);
void row_norm_gradient(const View& grad, const View& x, const Rows& rows, const View* mean,
                       const View& inverse_deviation, const View* weight, const View* to_x, const View* to_weight,
                       const View* to_bias);

// Of rows as wide as the weight, only scaled: in float and in the order of CANN's kernel (ops-nn, norm/rms_norm_grad).
void rms_norm_gradient(const View& grad, const View& x, const View& inverse_root, const View& weight, const View* to_x,
                       const View* to_weight);

}  // namespace jumar::kernels
