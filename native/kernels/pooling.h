// Maximum and average over windows of images (N, C, H, W), and their gradients.
#pragma once
#include "kernels/convolution.h"

namespace jumar::kernels {

void max_pool(const View& x, const Window& window, const View& out, const View* indices);
void max_pool_gradient(const View& grad, const View& x, const Window& window, const View& out);
// `fixed`: what to divide by; 0 for the size of the window, with or without its padding.
void average_pool(const View& x, const Window& window, bool count_padding, int64_t fixed, const View& out);
void average_pool_gradient(const View& grad, const Window& window, bool count_padding, int64_t fixed, const View& out);

}  // namespace jumar::kernels
