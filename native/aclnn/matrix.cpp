// Operator calls (aclnn) for products of matrices, convolution and pooling. How precisely the vendor's matrix unit
// computes (cubeMathType) makes no difference here: everything is computed in the type of the tensors.
#include "aclnn/call.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/layout.h"
#include "kernels/matmul.h"
#include "kernels/pooling.h"
#include "kernels/reduction.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

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
  if (weight->dims.size() != 4) throw Unsupported("convolution with a kernel " + text(weight->dims) + " is not emulated");
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

OPERATOR(aclnnMatmul, (In self, In other, Out out, int8_t), matmul(view(self), view(other), view(out)))
OPERATOR(aclnnMm, (In self, In other, Out out, int8_t), matmul(view(self), view(other), view(out)))
OPERATOR(aclnnBatchMatMul, (In self, In other, Out out, int8_t), matmul(view(self), view(other), view(out)))
OPERATOR(aclnnMv, (In self, In other, Out out, int8_t), matmul(view(self), view(other), view(out)))
OPERATOR(aclnnDot, (In self, In other, Out out), matmul(view(self), view(other), view(out)))
OPERATOR(aclnnAddmm, (In self, In left, In right, Number beta, Number alpha, Out out, int8_t),
         matmul(view(left), view(right), view(out), Maybe(self), value(alpha, 1), value(beta, 1)))
OPERATOR(aclnnBaddbmm, (In self, In left, In right, Number beta, Number alpha, Out out, int8_t),
         matmul(view(left), view(right), view(out), Maybe(self), value(alpha, 1), value(beta, 1)))

// What goes in and what comes out change places where the convolution is turned round (transposed).
OPERATOR(aclnnConvolution,
         (In x, In weight, In bias, Ints step, Ints padding, Ints gap, bool turned, Ints, int64_t groups, Out out, int8_t), {
           const Window w = filter_window(weight, step, padding, gap);
           if (!turned) return convolution(view(x), view(weight), Maybe(bias), w, groups, view(out));
           const View to = view(out);
           convolution_input_gradient(view(x), view(weight), w, groups, to);
           if (bias != nullptr) binary(Binary::kAdd, to, along_channels(view(bias), to.dims.size()), to);
         })

OPERATOR(aclnnConvolutionBackward,
         (In grad, In x, In weight, Ints, Ints step, Ints padding, Ints gap, bool turned, Ints, int, Flags mask, int8_t,
          Out to_x, Out to_weight, Out to_bias), {
           const Window w = filter_window(weight, step, padding, gap);
           const int64_t groups = (turned ? grad : x)->dims.at(1) / weight->dims.at(1);
           if (wanted(mask, 0) && turned) convolution(view(grad), view(weight), nullptr, w, groups, view(to_x));
           if (wanted(mask, 0) && !turned) convolution_input_gradient(view(grad), view(weight), w, groups, view(to_x));
           if (wanted(mask, 1))
             convolution_weight_gradient(view(turned ? x : grad), view(turned ? grad : x), w, groups, view(to_weight));
           if (wanted(mask, 2) && to_bias != nullptr) reduce(Reduce::kSum, view(grad), {0, 2, 3}, view(to_bias));
         })

// The mask is the client's to hand back, nothing more: the gradient looks for the largest values itself.
OPERATOR(aclnnMaxPool2dWithMask, (In self, Ints kernel, Ints step, Ints padding, Ints gap, bool round_up, Out out, Out),
         max_pool(view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out), nullptr))
OPERATOR(aclnnMaxPool2dWithMaskBackward,
         (In grad, In self, In, Ints kernel, Ints step, Ints padding, Ints gap, bool round_up, Out out),
         max_pool_gradient(view(grad), view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out)))
OPERATOR(aclnnMaxPool2dWithIndices,
         (In self, Ints kernel, Ints step, Ints padding, Ints gap, bool round_up, Out out, Out indices),
         max_pool(view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out), Maybe(indices)))
OPERATOR(aclnnMaxPool2dWithIndicesBackward,
         (In grad, In self, In, Ints kernel, Ints step, Ints padding, Ints gap, bool round_up, Out out),
         max_pool_gradient(view(grad), view(self), reaching(pool_window(kernel, step, padding, gap), round_up), view(out)))
OPERATOR(aclnnAvgPool2d,
         (In self, Ints kernel, Ints step, Ints padding, bool round_up, bool count_padding, int64_t fixed, int8_t, Out out),
         if (round_up) throw Unsupported("average pooling with ceil_mode is not emulated");
         average_pool(view(self), pool_window(kernel, step, padding, nullptr), count_padding, fixed, view(out)))
OPERATOR(aclnnAvgPool2dBackward,
         (In grad, In, Ints kernel, Ints step, Ints padding, bool round_up, bool count_padding, int64_t fixed, int8_t,
          Out out),
         if (round_up) throw Unsupported("average pooling with ceil_mode is not emulated");
         average_pool_gradient(view(grad), pool_window(kernel, step, padding, nullptr), count_padding, fixed, view(out)))
