// Operators by type for losses.
#include <cmath>

#include "aclop/run.h"
#include "kernels/activation.h"
#include "kernels/map.h"
#include "kernels/softmax.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

void sigmoid_entropy(const Arguments& a) {
  map(a.out(0), [](double x, double y) { return (1 - y) * x - log_sigmoid(x); }, a.in(0), a.in(1));
}

void sigmoid_entropy_gradient(const Arguments& a) {
  map(a.out(0), [](double x, double y, double g) { return g * (sigmoid(x) - y); }, a.in(0), a.in(1), a.in(2));
}

void sum_of_squares(const Arguments& a) {
  double sum = 0;
  for (double one : load<double>(a.in(0))) sum += one * one;
  store(a.out(0), std::vector<double>{sum / 2});
}

// In float16 CANN keeps every step in it (its kernel kl_div), the share of a batch, too; sums are wider.
void divergence(const Arguments& a) {
  const View x = a.in(0);
  const auto size = static_cast<size_t>(count(x.dims));
  const auto kept = [&x](std::vector<double> values) { return x.type == kFloat16 ? rounded(values, x) : values; };
  const auto target = load<double>(a.in(1), x.dims);
  const auto logs = kept(mapped(size, [](double q) { return q > 0 ? std::log(q) : 0; }, target));
  const auto apart = kept(mapped(size, [](double l, double p) { return l - p; }, logs, load<double>(x)));
  auto shares = kept(mapped(size, [](double q, double d) { return q > 0 ? q * d : 0; }, target, apart));
  const std::string how = a.text("reduction", "mean");
  if (how == "none") return store(a.out(0), shares);
  const double parts = how == "mean" ? static_cast<double>(size) : how == "batchmean" ? static_cast<double>(x.dims.at(0)) : 1;
  double sum = 0;
  for (double one : kept(mapped(size, [parts](double one) { return one / parts; }, shares))) sum += one;
  store(a.out(0), std::vector<double>{sum});
}

}  // namespace

const std::vector<Entry> kLosses = {
    {"KLDiv", divergence},
    {"L2Loss", sum_of_squares},
    {"SigmoidCrossEntropyWithLogits", sigmoid_entropy},
    {"SigmoidCrossEntropyWithLogitsGrad", sigmoid_entropy_gradient},
    {"SoftmaxCrossEntropyWithLogits",
     [](const Arguments& a) { softmax_cross_entropy(a.in(0), a.in(1), a.out(0), a.out(1)); }},
};

}  // namespace jumar::aclop
