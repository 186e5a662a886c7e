// Operator calls (aclnn) that combine three tensors, or repair one, element by element.
#include <cmath>
#include <limits>

#include "aclnn/call.h"
#include "kernels/map.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

OPERATOR(aclnnAddcmul, {
  const double f = value(factor, 1);
  map(view(out), [f](double x, double a, double b) { return x + f * a * b; }, view(self), view(left), view(right));
})
OPERATOR(aclnnAddcdiv, {
  const double f = value(factor, 1);
  map(view(out), [f](double x, double a, double b) { return x + f * a / b; }, view(self), view(left), view(right));
})
OPERATOR(aclnnLerp,
         map(view(out), [](double x, double y, double w) { return x + w * (y - x); }, view(self), view(end), view(weight)))
OPERATOR(aclnnLerps, {
  const double w = value(weight, 0);
  map(view(out), [w](double x, double y) { return x + w * (y - x); }, view(self), view(end));
})
OPERATOR(aclnnNanToNum,
         map(view(out),
             [=](double x) { return std::isnan(x) ? nan : std::isinf(x) ? (x > 0 ? high : low) : x; }, view(self)))

namespace {

// Newton's method on erf, from a start that is exact to two digits (Winitzki's formula).
double inverse_erf(double y) {
  if (std::abs(y) >= 1) return std::abs(y) > 1 ? std::nan("") : y * std::numeric_limits<double>::infinity();
  constexpr double kA = 0.147, kTwoByPi = 0.63661977236758134308, kHalfSqrtPi = 0.88622692545275801365;
  const double l = std::log1p(-y * y), c = kTwoByPi / kA + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(c * c - l / kA) - c), y);
  for (int step = 0; step < 3; ++step) x -= (std::erf(x) - y) * kHalfSqrtPi * std::exp(x * x);
  return x;
}

}  // namespace

OPERATOR(aclnnErfinv, map(view(out), inverse_erf, view(self)))
