// Operators by type for normalization.
#include "kernels/norm.h"

#include <cmath>

#include "aclop/run.h"
#include "kernels/layout.h"
#include "kernels/map.h"
#include "kernels/reduction.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

// Numbers of one operator that are not handed out.
struct Kept {
  explicit Kept(int64_t size) : values(static_cast<size_t>(size)), view{kDouble, {size}, {1}, values.data()} {}
  std::vector<double> values;
  View view;
};

double epsilon_of(const Arguments& a) { return a.number("epsilon", 1e-5); }

void sums_of_batch(const Arguments& a) { channel_sums(a.in(0), a.out(0), a.out(1)); }

// Inputs: x, sum, sum of squares, weight, bias, running mean and variance. The moments are taken from x again: a
// variance from sums in float would lose digits.
void batch_norm_training(const Arguments& a) {
  const View x = a.in(0), weight = a.in(3), bias = a.in(4), mean = a.out(1), variance = a.out(2);
  copy(a.in(5), mean);
  copy(a.in(6), variance);
  Kept inverse(x.dims.at(1));
  const double epsilon = epsilon_of(a);
  const View batch_mean = a.out(3);
  batch_norm(x, {&weight, &bias, &mean, &variance, true, a.number("factor", 0.1), epsilon}, a.out(0), &batch_mean,
             &inverse.view);
  map(a.out(4), [epsilon](double i) { return 1 / (i * i) - epsilon; }, inverse.view);
}

void batch_norm_inference(const Arguments& a) {
  const View weight = a.in(1), bias = a.in(2), mean = a.in(3), variance = a.in(4);
  batch_norm(a.in(0), {&weight, &bias, &mean, &variance, false, 0, epsilon_of(a)}, a.out(0), nullptr, nullptr);
}

Kept inverse_of(const View& variance, double epsilon) {
  Kept found(count(variance.dims));
  map(found.view, [epsilon](double v) { return 1 / std::sqrt(v + epsilon); }, variance);
  found.view.data = found.values.data();
  return found;
}

// Inputs: gradient, x, mean and variance of the batch; outputs: gradients of weight and bias.
void batch_norm_weight_gradient(const Arguments& a) {
  const Kept inverse = inverse_of(a.in(3), epsilon_of(a));
  const View mean = a.in(2), to_weight = a.out(0), to_bias = a.out(1);
  batch_norm_gradient(a.in(0), a.in(1), {nullptr, nullptr, nullptr, nullptr, true, 0, 0}, &mean, &inverse.view, nullptr,
                      &to_weight, &to_bias);
}

// Inputs: gradient, x, gradients of weight and bias, weight, mean and variance of the batch.
void batch_norm_input_gradient(const Arguments& a) {
  const Kept inverse = inverse_of(a.in(6), epsilon_of(a));
  const View weight = a.in(4), mean = a.in(5), to_x = a.out(0);
  batch_norm_gradient(a.in(0), a.in(1), {&weight, nullptr, nullptr, nullptr, true, 0, 0}, &mean, &inverse.view, &to_x,
                      nullptr, nullptr);
}

// Inputs: gradient, weight, variance.
void batch_norm_inference_gradient(const Arguments& a) {
  const Kept inverse = inverse_of(a.in(2), epsilon_of(a));
  const View grad = a.in(0), weight = a.in(1);
  View to_x = a.out(0);  // MindSpore hands over a batch (N, C) as (N, C, 1, 1) on one side only
  if (count(to_x.dims) == count(grad.dims)) to_x = {to_x.type, grad.dims, packed_strides(grad.dims), to_x.data};
  map(to_x, [](double g, double w, double i) { return g * w * i; }, grad, along_channels(weight, to_x.dims.size()),
      along_channels(inverse.view, to_x.dims.size()));
}

Rows rows_of(const Arguments& a, const Dims& x) {
  const auto first = axis_of(static_cast<int64_t>(a.number("begin_norm_axis", -1)), x.size());
  int64_t width = 1;
  for (size_t axis = static_cast<size_t>(first); axis < x.size(); ++axis) width *= x[axis];
  return {width, width};
}

// Outputs: result, mean, variance.
void layer_norm(const Arguments& a) {
  const View x = a.in(0), weight = a.in(1), bias = a.in(2), mean = a.out(1);
  const Rows rows = rows_of(a, x.dims);
  Kept inverse(count(x.dims) / rows.width);
  const double epsilon = a.number("epsilon", 1e-7);
  row_norm(x, rows, &weight, &bias, epsilon, a.out(0), &mean, &inverse.view);
  inverse.view.dims = a.out(2).dims;
  inverse.view.strides = packed_strides(a.out(2).dims);
  map(a.out(2), [epsilon](double i) { return 1 / (i * i) - epsilon; }, inverse.view);
}

// Inputs: gradient, x, variance, mean, weight; the width is that of the weight.
void layer_norm_gradient(const Arguments& a) {
  const View x = a.in(1), mean = a.in(3), weight = a.in(4), to_x = a.out(0), to_weight = a.out(1), to_bias = a.out(2);
  const int64_t width = count(x.dims) / count(mean.dims);
  Kept inverse = inverse_of({a.in(2).type, {count(mean.dims)}, {1}, a.in(2).data}, a.number("epsilon", 1e-7));
  row_norm_gradient(a.in(0), x, {width, width}, &mean, inverse.view, &weight, &to_x, &to_weight, &to_bias);
}

// Each channel of each image by itself.
void instance_norm(const Arguments& a) {
  const View x = a.in(0), weight = a.in(1), bias = a.in(2);
  const int64_t channels = x.dims.at(1), width = count(x.dims) / (x.dims[0] * channels);
  row_norm(x, {width, channels, width}, &weight, &bias, a.number("epsilon", 1e-5), a.out(0), nullptr, nullptr);
  spread(false, {x.type, {x.dims[0] * channels, width}, {width, 1}, x.data}, {1}, 0, a.out(2), nullptr);
  reduce(Reduce::kMean, {x.type, {x.dims[0] * channels, width}, {width, 1}, x.data}, {1}, a.out(1));
}

void l2_normalize(const Arguments& a) {
  const View x = a.in(0);
  const Dims axes = a.list("axis");
  Dims kept = x.dims;
  for (int64_t axis : axes) kept[static_cast<size_t>(axis_of(axis, kept.size()))] = 1;
  std::vector<double> sums(static_cast<size_t>(count(kept)));
  const View lengths{kDouble, kept, packed_strides(kept), sums.data()};
  power_norm(2, x, axes, lengths);
  const double least = a.number("eps", 1e-4);
  map(a.out(0), [least](double v, double l) { return v / std::sqrt(std::max(l * l, least)); }, x, lengths);
}

// Inputs: x, result, gradient: dx = (dy - y · Σ(y · dy)) / length.
void l2_normalize_gradient(const Arguments& a) {
  const View x = a.in(0), y = a.in(1), grad = a.in(2);
  Dims axes = a.list("dim").empty() ? a.list("axis") : a.list("dim"), kept = x.dims;
  for (int64_t axis : axes) kept[static_cast<size_t>(axis_of(axis, kept.size()))] = 1;
  std::vector<double> sums(static_cast<size_t>(count(kept))), dots(sums.size());
  const View lengths{kDouble, kept, packed_strides(kept), sums.data()}, shares{kDouble, kept, lengths.strides, dots.data()};
  power_norm(2, x, axes, lengths);
  auto products = mapped(static_cast<size_t>(count(x.dims)), [](double p, double q) { return p * q; }, load<double>(y),
                         load<double>(grad));
  reduce(Reduce::kSum, {kDouble, x.dims, packed_strides(x.dims), products.data()}, axes, shares);
  const double least = a.number("eps", 1e-4);
  map(a.out(0), [least](double v, double g, double s, double l) { return (g - v * s) / std::sqrt(std::max(l * l, least)); },
      y, grad, shares, lengths);
}

}  // namespace

const std::vector<Entry> kNorms = {
    {"BNInfer", batch_norm_inference},
    {"BNInferGrad", batch_norm_inference_gradient},
    {"BNTrainingReduce", sums_of_batch},
    {"BNTrainingReduceGrad", batch_norm_input_gradient},
    {"BNTrainingUpdate", batch_norm_training},
    {"BNTrainingUpdateGrad", batch_norm_weight_gradient},
    {"InstanceNorm", instance_norm},
    {"L2Normalize", l2_normalize},
    {"L2NormalizeGrad", l2_normalize_gradient},
    {"LayerNorm", layer_norm},
    {"LayerNormGrad", layer_norm_gradient},
    {"LpNorm", [](const Arguments& a) { power_norm(a.number("p", 2), a.in(0), a.list("axes"), a.out(0)); }},
    {"LpNormV2", [](const Arguments& a) { power_norm(a.number("p", 2), a.in(0), a.list("axes"), a.out(0)); }},
};

}  // namespace jumar::aclop
