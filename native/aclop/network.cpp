// Operators by type that networks are made of: convolution, pooling, bias, loss.
#include "aclop/run.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/layout.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"
#include "kernels/pooling.h"
#include "kernels/reduction.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

void only_channels_second(const Arguments& a) {
  const std::string format = a.text("data_format", "NCHW");
  if (format != "NCHW" && format != "NCDHW" && format != "ND") throw NotEmulated("data format " + format + " is not emulated");
}

// Lists of four are (N, C, H, W), of two (H, W).
int64_t spatial(const Dims& list, size_t which) {
  if (list.empty()) return 1;
  return list.at(list.size() == 4 ? which + 2 : list.size() == 1 ? 0 : which);
}

Window convolution_window(const Arguments& a, const Dims& weight) {
  only_channels_second(a);
  if (weight.size() != 4) throw NotEmulated("convolution with a kernel " + text(weight) + " is not emulated");
  Window w;
  const Dims step = a.list("strides"), gap = a.list("dilations"), padding = a.list("pads");
  w.height = weight[2], w.width = weight[3];
  w.step_y = spatial(step, 0), w.step_x = spatial(step, 1);
  w.gap_y = spatial(gap, 0), w.gap_x = spatial(gap, 1);
  if (padding.size() == 4) w.top = padding[0], w.bottom = padding[1], w.left = padding[2], w.right = padding[3];
  return w;
}

int64_t groups_of(const Arguments& a) { return static_cast<int64_t>(a.number("groups", 1)); }

void share(int64_t size, int64_t kernel, int64_t step, int64_t* before, int64_t* after) {
  const int64_t all = std::max<int64_t>(((size + step - 1) / step - 1) * step + kernel - size, 0);
  *before = all / 2;
  *after = all - all / 2;
}

Window pool_window(const Arguments& a, const Dims& image) {
  only_channels_second(a);
  Window w;
  const Dims kernel = a.list("ksize"), step = a.list("strides");
  w.height = spatial(kernel, 0), w.width = spatial(kernel, 1);
  w.step_y = spatial(step, 0), w.step_x = spatial(step, 1);
  const std::string padding = a.text("padding", "VALID");
  if (padding == "SAME") {
    share(image.at(2), w.height, w.step_y, &w.top, &w.bottom);
    share(image.at(3), w.width, w.step_x, &w.left, &w.right);
  } else if (padding != "VALID") {
    throw NotEmulated("padding " + padding + " is not emulated");
  }
  return w;
}

void conv2d(const Arguments& a) {
  const View weight = a.in(1);
  const View bias = a.has_in(2) ? a.in(2) : View{};
  convolution(a.in(0), weight, a.has_in(2) ? &bias : nullptr, convolution_window(a, weight.dims), groups_of(a), a.out(0));
}

void conv2d_input_gradient(const Arguments& a) {
  convolution_input_gradient(a.in(2), a.in(1), convolution_window(a, a.in(1).dims), groups_of(a), a.out(0));
}

void conv2d_weight_gradient(const Arguments& a) {
  convolution_weight_gradient(a.in(2), a.in(0), convolution_window(a, a.out(0).dims), groups_of(a), a.out(0));
}

void bias_add(const Arguments& a) {
  only_channels_second(a);
  const View x = a.in(0);
  binary(Binary::kAdd, x, along_channels(a.in(1), x.dims.size()), a.out(0));
}

void bias_add_gradient(const Arguments& a) {
  only_channels_second(a);
  const View grad = a.in(0);
  Dims axes;
  for (int64_t axis = 0; axis < static_cast<int64_t>(grad.dims.size()); ++axis)
    if (axis != 1) axes.push_back(axis);
  reduce(Reduce::kSum, grad, axes, a.out(0));
}

void matmul_by_attributes(const Arguments& a, const char* left, const char* right) {
  const View x = a.number(left, 0) != 0 ? transposed(a.in(0)) : a.in(0);
  const View y = a.number(right, 0) != 0 ? transposed(a.in(1)) : a.in(1);
  const View bias = a.has_in(2) ? a.in(2) : View{};
  matmul(x, y, a.out(0), a.has_in(2) ? &bias : nullptr);
}

void matmul_plain(const Arguments& a) { matmul_by_attributes(a, "transpose_x1", "transpose_x2"); }
void matmul_batch(const Arguments& a) { matmul_by_attributes(a, "adj_x1", "adj_x2"); }

}  // namespace

const std::vector<Entry> kNetwork = {
    {"BatchMatMul", matmul_batch},
    {"BiasAdd", bias_add},
    {"BiasAddGrad", bias_add_gradient},
    {"Conv2D", conv2d},
    {"Conv2DBackpropFilter", conv2d_weight_gradient},
    {"Conv2DBackpropInput", conv2d_input_gradient},
    {"MatMul", matmul_plain},
    {"MatMulV2", matmul_plain},
    {"MaxPool", [](const Arguments& a) { max_pool(a.in(0), pool_window(a, a.in(0).dims), a.out(0), nullptr); }},
    {"MaxPoolGrad",
     [](const Arguments& a) { max_pool_gradient(a.in(2), a.in(0), pool_window(a, a.in(0).dims), a.out(0)); }},
    {"AvgPool", [](const Arguments& a) { average_pool(a.in(0), pool_window(a, a.in(0).dims), false, 0, a.out(0)); }},
    {"AvgPoolGrad",
     [](const Arguments& a) { average_pool_gradient(a.in(1), pool_window(a, a.out(0).dims), false, 0, a.out(0)); }},
};

}  // namespace jumar::aclop
