// Convolution of images (N, C, H, W) and its gradients.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

struct Window {
  int64_t height = 1, width = 1;  // of the kernel
  int64_t step_y = 1, step_x = 1;
  int64_t top = 0, bottom = 0, left = 0, right = 0;  // padding
  int64_t gap_y = 1, gap_x = 1;                      // dilation
};

void convolution(const View& x, const View& weight, const View* bias, const Window& window, int64_t groups,
                 const View& out);
void convolution_input_gradient(const View& grad, const View& weight, const Window& window, int64_t groups,
                                const View& out);
void convolution_weight_gradient(const View& grad, const View& x, const Window& window, int64_t groups,
                                 const View& out);

}  // namespace jumar::kernels
