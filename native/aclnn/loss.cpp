// Operator calls (aclnn) for losses of two tensors, and their gradients.
#include <cmath>

#include "aclnn/call.h"
#include "kernels/activation.h"
#include "kernels/map.h"
#include "kernels/softmax.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

double kept(double x, double low) { return x > low ? x : low; }

// What each element adds to the loss, and its slope in the first argument.
double squared(double x, double y) { return (x - y) * (x - y); }
double squared_slope(double x, double y) { return 2 * (x - y); }
double absolute(double x, double y) { return std::abs(x - y); }
double absolute_slope(double x, double y) { return (x > y) - (x < y); }
double divergence(double x, double y) { return y > 0 ? y * (std::log(y) - x) : 0; }
double log_divergence(double x, double y) { return std::exp(y) * (y - x); }

// The vendor clamps logarithms at -100, as torch does.
double entropy(double x, double y) { return -(y * kept(std::log(x), -100) + (1 - y) * kept(std::log(1 - x), -100)); }
double entropy_slope(double x, double y) { return (x - y) / kept(x * (1 - x), 1e-12); }

struct SmoothL1 {
  double beta;
  double value(double x, double y) const {
    const double off = std::abs(x - y);
    return off < beta ? off * off / (2 * beta) : off - beta / 2;
  }
  double slope(double x, double y) const { return std::abs(x - y) < beta ? (x - y) / beta : absolute_slope(x, y); }
};

// The logits' form stays exact for large ones.
double logits_entropy(double x, double y, double positive) {
  return (1 - y) * x - (1 + (positive - 1) * y) * log_sigmoid(x);
}
double logits_entropy_slope(double x, double y, double positive) {
  return (1 - y) - (1 + (positive - 1) * y) * sigmoid(-x);
}

size_t size_of(const View& x) { return static_cast<size_t>(count(x.dims)); }

void store_reduced(int64_t how, const std::vector<double>& losses, const View& out) {
  if (static_cast<Mean>(how) == Mean::kNone) return store(out, losses);
  double sum = 0;
  for (double one : losses) sum += one;
  store(out, std::vector<double>{static_cast<Mean>(how) == Mean::kMean ? sum / static_cast<double>(losses.size()) : sum});
}

template <class F>
void loss(const View& x, const View& y, int64_t how, const View& out, F&& f) {
  store_reduced(how, mapped(size_of(x), f, load<double>(x), load<double>(y, x.dims)), out);
}

template <class F>
void loss_gradient(const View& grad, const View& x, const View& y, int64_t how, const View& out, F&& slope) {
  const double share = static_cast<Mean>(how) == Mean::kMean ? 1 / static_cast<double>(size_of(x)) : 1;
  map(out, [&](double g, double a, double b) { return g * share * slope(a, b); }, grad, x, y);
}

std::vector<double> weights(In tensor, const Dims& dims) {
  return tensor != nullptr ? load<double>(view(tensor), dims) : std::vector<double>(static_cast<size_t>(count(dims)), 1);
}

void scale(std::vector<double>& values, const std::vector<double>& factors) {
  for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i];
}

// With a weight for each element, which may be missing.
template <class F>
void weighted_gradient(In grad, In weight, int64_t how, const View& out, F&& slopes) {
  std::vector<double> result = slopes();
  scale(result, load<double>(view(grad), out.dims));
  scale(result, weights(weight, out.dims));
  if (static_cast<Mean>(how) == Mean::kMean)
    for (double& one : result) one /= static_cast<double>(result.size());
  store(out, result);
}

}  // namespace

#define LOSS(NAME, VALUE)                                          \
  OPERATOR(aclnn##NAME, \
           loss(view(self), view(target), how, view(out), VALUE))
#define LOSS_GRADIENT(NAME, SLOPE)                                          \
  OPERATOR(aclnn##NAME, \
           loss_gradient(view(grad), view(self), view(target), how, view(out), SLOPE))

LOSS(MseLoss, squared)
LOSS_GRADIENT(MseLossBackward, squared_slope)
LOSS(L1Loss, absolute)
LOSS_GRADIENT(L1LossBackward, absolute_slope)

OPERATOR(aclnnSmoothL1Loss, {
  const SmoothL1 curve{beta};
  loss(view(self), view(target), how, view(out), [curve](double x, double y) { return curve.value(x, y); });
})
OPERATOR(aclnnSmoothL1LossBackward, {
  const SmoothL1 curve{beta};
  loss_gradient(view(grad), view(self), view(target), how, view(out),
                [curve](double x, double y) { return curve.slope(x, y); });
})
OPERATOR(aclnnKlDiv, loss(view(self), view(target), how, view(out), of_logarithm ? log_divergence : divergence))

OPERATOR(aclnnBinaryCrossEntropy, {
  const View x = view(self);
  auto losses = mapped(size_of(x), entropy, load<double>(x), load<double>(view(target), x.dims));
  scale(losses, weights(weight, x.dims));
  store_reduced(how, losses, view(out));
})
OPERATOR(aclnnBinaryCrossEntropyBackward, {
  const View x = view(self);
  weighted_gradient(grad, weight, how, view(out), [&] {
    return mapped(size_of(x), entropy_slope, load<double>(x), load<double>(view(target), x.dims));
  });
})
OPERATOR(aclnnBinaryCrossEntropyWithLogits, {
  const View x = view(self);
  auto losses = mapped(size_of(x), logits_entropy, load<double>(x), load<double>(view(target), x.dims),
                       weights(positive, x.dims));
  scale(losses, weights(weight, x.dims));
  store_reduced(how, losses, view(out));
})
OPERATOR(aclnnBinaryCrossEntropyWithLogitsBackward, {
           const View x = view(self);
           weighted_gradient(grad, weight, how, view(out), [&] {
             return mapped(size_of(x), logits_entropy_slope, load<double>(x), load<double>(view(target), x.dims),
                           weights(positive, x.dims));
           });
         })
