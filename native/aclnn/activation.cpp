// Operator calls (aclnn) for activation functions. Plain Gelu is the approximation by tanh, as the vendor's page says.
#include "kernels/activation.h"

#include <cstring>

#include "aclnn/call.h"
#include "kernels/layout.h"
#include "kernels/map.h"
#include "kernels/reduction.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

#define CURVE(NAME, VALUE) OPERATOR(aclnn##NAME, map(view(out), VALUE, view(self)))
#define SLOPE(NAME, OF)                     \
  OPERATOR(aclnn##NAME, \
           map(view(out), [](double g, double x) { return g * OF(x); }, view(grad), view(self)))

CURVE(Gelu, gelu_tanh)
CURVE(Hardsigmoid, hard_sigmoid)
CURVE(Hardswish, hard_swish)
CURVE(LogSigmoid, log_sigmoid)
CURVE(Mish, mish)
SLOPE(GeluBackward, gelu_tanh_slope)
SLOPE(HardsigmoidBackward, hard_sigmoid_slope)
SLOPE(HardswishBackward, hard_swish_slope)
SLOPE(MishBackward, mish_slope)

OPERATOR(aclnnSelu, map(view(out), [](double x) { return kSelu.value(x); }, view(self)))
OPERATOR(aclnnSeluBackward,
         map(view(out), [](double g, double y) { return g * kSelu.slope_at_value(y); }, view(grad), view(result)))
OPERATOR(aclnnGeluV2, map(view(out), approximate != 0 ? gelu_tanh : gelu_erf, view(self)))
OPERATOR(aclnnGeluBackwardV2, {
  const auto slope = std::strcmp(approximate, "tanh") == 0 ? gelu_tanh_slope : gelu_erf_slope;
  map(view(out), [slope](double g, double x) { return g * slope(x); }, view(grad), view(self));
})
OPERATOR(aclnnElu, {
  const Elu elu{value(alpha, 1), value(scale, 1), value(input_scale, 1)};
  map(view(out), [elu](double x) { return elu.value(x); }, view(self));
})
OPERATOR(aclnnEluBackward, {
           const Elu elu{value(alpha, 1), value(scale, 1), value(input_scale, 1)};
           map(view(out), [elu, of_value](double g, double x) { return g * (of_value ? elu.slope_at_value(x) : elu.slope(x)); },
               view(grad), view(self));
         })
OPERATOR(aclnnLeakyRelu, {
  const double below = value(slope, 0.01);
  map(view(out), [below](double x) { return x > 0 ? x : below * x; }, view(self));
})
OPERATOR(aclnnLeakyReluBackward, {
  const double below = value(slope, 0.01);
  map(view(out), [below](double g, double x) { return x > 0 ? g : below * g; }, view(grad), view(self));
})
OPERATOR(aclnnSoftplus, {
  const Softplus curve{value(beta, 1), value(threshold, 20)};
  map(view(out), [curve](double x) { return curve.value(x); }, view(self));
})
OPERATOR(aclnnSoftplusBackward, {
  const Softplus curve{value(beta, 1), value(threshold, 20)};
  map(view(out), [curve](double g, double x) { return g * curve.slope(x); }, view(grad), view(self));
})
OPERATOR(aclnnLogSigmoidForward, map(view(out), log_sigmoid, view(self)))
OPERATOR(aclnnLogSigmoidBackward,
         map(view(out), [](double g, double x) { return g * sigmoid(-x); }, view(grad), view(self)))

namespace {

// One slope for all channels, or one for each of the second axis.
View slopes(const View& weight, size_t rank) {
  return count(weight.dims) == 1 ? View{weight.type, {}, {}, weight.data} : along_channels(weight, rank);
}

}  // namespace

OPERATOR(aclnnPrelu,
         map(view(out), [](double x, double w) { return x > 0 ? x : w * x; }, view(self),
             slopes(view(weight), self->dims.size())))
OPERATOR(aclnnPreluBackward, {
  const View x = view(self);
  const View slope = slopes(view(weight), x.dims.size());
  map(view(to_self), [](double g, double v, double w) { return v > 0 ? g : w * g; }, view(grad), x, slope);
  std::vector<double> shares = mapped(static_cast<size_t>(count(x.dims)),
                                      [](double g, double v) { return v > 0 ? 0 : g * v; },
                                      load<double>(view(grad)), load<double>(x));
  Dims axes;
  for (int64_t axis = 0; axis < static_cast<int64_t>(x.dims.size()); ++axis)
    if (axis != 1 || slope.dims.empty()) axes.push_back(axis);
  reduce(Reduce::kSum, {kDouble, x.dims, packed_strides(x.dims), shares.data()}, axes, view(to_weight));
})

OPERATOR(aclnnSwiGlu, {
  const View x = view(self);
  const int64_t half = x.dims.at(static_cast<size_t>(axis_of(dim, x.dims.size()))) / 2;
  map(view(out), [](double a, double b) { return a * sigmoid(a) * b; }, sliced(x, dim, 0, half, 1),
      sliced(x, dim, half, 2 * half, 1));
})
OPERATOR(aclnnSwiGluGrad, {
  const View x = view(self);
  const View to = view(out);
  const int64_t half = x.dims.at(static_cast<size_t>(axis_of(dim, x.dims.size()))) / 2;
  const View gate = sliced(x, dim, 0, half, 1);
  const View other = sliced(x, dim, half, 2 * half, 1);
  map(sliced(to, dim, 0, half, 1), [](double g, double a, double b) { return g * b * (sigmoid(a) + a * sigmoid_slope(a)); },
      view(grad), gate, other);
  map(sliced(to, dim, half, 2 * half, 1), [](double g, double a) { return g * a * sigmoid(a); }, view(grad), gate);
})
