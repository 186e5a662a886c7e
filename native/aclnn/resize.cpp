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

OPERATOR(aclnnUpsampleNearest2d, (In self, Ints, Out out), resize(view(self), kNearest, view(out)))
OPERATOR(aclnnUpsampleNearest2dV2, (In self, Ints, float, float, Out out), resize(view(self), kNearest, view(out)))
OPERATOR(aclnnUpsampleNearest2dBackward, (In grad, Ints, Ints, double, double, Out out),
         resize_gradient(view(grad), kNearest, view(out)))
OPERATOR(aclnnUpsampleBilinear2d, (In self, Ints, bool corners, double, double, Out out),
         resize(view(self), linear(corners), view(out)))
OPERATOR(aclnnUpsampleBilinear2dBackward, (In grad, Ints, Ints, bool corners, double, double, Out out),
         resize_gradient(view(grad), linear(corners), view(out)))
OPERATOR(aclnnUpsampleBilinear2dBackwardV2, (In grad, Ints, Ints, bool corners, double, double, Out out),
         resize_gradient(view(grad), linear(corners), view(out)))
OPERATOR(aclnnAdaptiveAvgPool2d, (In self, Ints, Out out), resize(view(self), kAverage, view(out)))
OPERATOR(aclnnAdaptiveAvgPool2dBackward, (In grad, In, Out out), resize_gradient(view(grad), kAverage, view(out)))
