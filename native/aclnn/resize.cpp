// Operator calls (aclnn) for images made larger or smaller, and for pooling to a given size.
#include "kernels/resize.h"

#include "aclnn/call.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

constexpr Resize kAverage{Resize::How::kAverage};

Resize nearest(double scale_y = 0, double scale_x = 0) {
  return {Resize::How::kNearest, false, false, scale_y, scale_x};
}

Resize linear(bool align_corners, double scale_y, double scale_x) {
  return {Resize::How::kLinear, align_corners, !align_corners, scale_y, scale_x};
}

}  // namespace

OPERATOR(aclnnUpsampleNearest2d, resize(view(self), nearest(), view(out)))
OPERATOR(aclnnUpsampleNearest2dV2, resize(view(self), nearest(scale_height, scale_width), view(out)))
OPERATOR(aclnnUpsampleNearest2dBackward, resize_gradient(view(grad), nearest(scale_height, scale_width), view(out)))
OPERATOR(aclnnUpsampleBilinear2d, resize(view(self), linear(corners, scale_height, scale_width), view(out)))
OPERATOR(aclnnUpsampleBilinear2dBackward, resize_gradient(view(grad), linear(corners, scale_height, scale_width), view(out)))
OPERATOR(aclnnUpsampleBilinear2dBackwardV2, resize_gradient(view(grad), linear(corners, scale_height, scale_width), view(out)))
OPERATOR(aclnnAdaptiveAvgPool2d, resize(view(self), kAverage, view(out)))
OPERATOR(aclnnAdaptiveAvgPool2dBackward, resize_gradient(view(grad), kAverage, view(out)))
