// Operator calls (aclnn) for products of matrices, convolution and pooling. How precisely the vendor's matrix unit
// computes (cubeMathType) makes no difference here: everything is computed in the type of the tensors.
#include "aclnn/call.h"
#include "bridge/bridge.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/layout.h"
#include "kernels/matmul.h"
#include "kernels/pooling.h"
#include "kernels/reduction.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;
namespace bridge = jumar::bridge;

namespace {

int64_t entry(Ints list, size_t index) { return list->at(list->size() == 1 ? 0 : index); }

// Padding as (y, x) or as (top, bottom, left, right).
Window window(Ints step, Ints padding, Ints gap) {
  Window w;
  w.step_y = entry(step, 0);
  w.step_x = entry(step, 1);
  if (padding->size() == 4) {
    w.top = padding->at(0), w.bottom = padding->at(1), w.left = padding->at(2), w.right = padding->at(3);
  } else {
    w.top = w.bottom = entry(padding, 0);
    w.left = w.right = entry(padding, 1);
  }
  if (gap != nullptr && !gap->empty()) {
    w.gap_y = entry(gap, 0);
    w.gap_x = entry(gap, 1);
  }
  return w;
}

Window filter_window(In weight, Ints step, Ints padding, Ints gap) {
  if (weight->dims.size() != 4) throw NotEmulated("convolution with a kernel " + text(weight->dims) + " is not emulated");
  Window w = window(step, padding, gap);
  w.height = weight->dims[2];
  w.width = weight->dims[3];
  return w;
}

Window pool_window(Ints kernel, Ints step, Ints padding, Ints gap) {
  Window w = window(step->empty() ? kernel : step, padding, gap);
  w.height = entry(kernel, 0);
  w.width = entry(kernel, 1);
  return w;
}

bool wanted(Flags mask, size_t index) { return mask == nullptr || (*mask).at(index) != 0; }

// The window may reach over the padded image where sizes were rounded up.
Window reaching(Window w, bool round_up) {
  if (round_up) {
    w.bottom += w.step_y - 1;
    w.right += w.step_x - 1;
  }
  return w;
}

}  // namespace

OPERATOR(aclnnMatmul, matmul(view(self), view(other), view(out)))
OPERATOR(aclnnMm, matmul(view(self), view(other), view(out)))
OPERATOR(aclnnBatchMatMul, matmul(view(self), view(other), view(out)))
OPERATOR(aclnnMv, matmul(view(self), view(other), view(out)))
OPERATOR(aclnnDot, {
  if (self->dims.size() != 1 || other->dims.size() != 1)
    throw Unsupported("CANN takes two vectors, not " + text(self->dims) + " and " + text(other->dims));
  matmul(view(self), view(other), view(out));
})
OPERATOR(aclnnAddmm, matmul(view(left), view(right), view(out), Maybe(self), value(alpha, 1), value(beta, 1)))
OPERATOR(aclnnBaddbmm, matmul(view(left), view(right), view(out), Maybe(self), value(alpha, 1), value(beta, 1)))

// What goes in and what comes out change places where the convolution is turned round (transposed).
OPERATOR(aclnnConvolution, {
           if (weight->dims.size() != 4)
             return bridge::call("aclnnConvolution", {JUMAR_KEPT_aclnnConvolution});
           const Window w = filter_window(weight, step, padding, gap);
           if (!turned) return convolution(view(x), view(weight), Maybe(bias), w, groups, view(out));
           const View to = view(out);
           convolution_input_gradient(view(x), view(weight), w, groups, to);
           if (bias != nullptr) binary(Binary::kAdd, to, along_channels(view(bias), to.dims.size()), to);
         })

OPERATOR(aclnnConvolutionBackward, {
           const int64_t groups = (turned ? grad : x)->dims.at(1) / weight->dims.at(1);
           if (weight->dims.size() != 4)
             return bridge::call("aclnnConvolutionBackward", {JUMAR_KEPT_aclnnConvolutionBackward});
           const Window w = filter_window(weight, step, padding, gap);
           if (wanted(mask, 0) && turned) convolution(view(grad), view(weight), nullptr, w, groups, view(to_x));
           if (wanted(mask, 0) && !turned) convolution_input_gradient(view(grad), view(weight), w, groups, view(to_x));
           if (wanted(mask, 1))
             convolution_weight_gradient(view(turned ? x : grad), view(turned ? grad : x), w, groups, view(to_weight));
           if (wanted(mask, 2) && to_bias != nullptr) reduce(Reduce::kSum, view(grad), {0, 2, 3}, view(to_bias));
         })

// The mask is the client's to hand back, nothing more: the gradient looks for the largest values itself.
OPERATOR(aclnnMaxPool2dWithMask,
         max_pool(view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out), nullptr))
OPERATOR(aclnnMaxPool2dWithMaskBackward,
         max_pool_gradient(view(grad), view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out)))
OPERATOR(aclnnMaxPool2dWithIndices,
         max_pool(view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out), Maybe(indices)))
OPERATOR(aclnnMaxPool2dWithIndicesBackward,
         max_pool_gradient(view(grad), view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out)))
OPERATOR(aclnnAvgPool2d,
         average_pool(view(self), pool_window(kernel, step, padding, nullptr), count_padding, fixed, view(out)))
OPERATOR(aclnnAvgPool2dBackward,
         average_pool_gradient(view(grad), pool_window(kernel, step, padding, nullptr), count_padding, fixed, view(out)))
