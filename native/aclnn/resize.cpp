// Operator calls (aclnn) for images made larger or smaller, and for pooling to a given size.
#include "kernels/resize.h"

#include "aclnn/call.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

constexpr Resize kNearest{Resize::How::kNearest};
constexpr Resize kAverage{Resize::How::kAverage};

Resize linear(bool align_corners) { return {Resize::How::kLinear, align_corners, !align_corners}; }

}  // namespace

OPERATOR(aclnnUpsampleNearest2d, resize(view(self), kNearest, view(out)))
OPERATOR(aclnnUpsampleNearest2dV2, resize(view(self), kNearest, view(out)))
OPERATOR(aclnnUpsampleNearest2dBackward, resize_gradient(view(grad), kNearest, view(out)))
OPERATOR(aclnnUpsampleBilinear2d, resize(view(self), linear(corners), view(out)))
OPERATOR(aclnnUpsampleBilinear2dBackward, resize_gradient(view(grad), linear(corners), view(out)))
OPERATOR(aclnnUpsampleBilinear2dBackwardV2, resize_gradient(view(grad), linear(corners), view(out)))
OPERATOR(aclnnAdaptiveAvgPool2d, resize(view(self), kAverage, view(out)))
OPERATOR(aclnnAdaptiveAvgPool2dBackward, resize_gradient(view(grad), kAverage, view(out)))
