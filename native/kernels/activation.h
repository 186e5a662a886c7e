// Activation functions of one number and their slopes, from their published definitions.
#pragma once
#include <algorithm>
#include <cmath>

namespace jumar::kernels {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double sigmoid_slope(double x) { return sigmoid(x) * (1 - sigmoid(x)); }

struct Elu {
  double alpha = 1, scale = 1, input_scale = 1;
  double value(double x) const { return scale * (x > 0 ? x : alpha * std::expm1(x * input_scale)); }
  double slope(double x) const { return x > 0 ? scale : scale * alpha * input_scale * std::exp(x * input_scale); }
  // The slope from the value: x itself is not needed.
  double slope_at_value(double y) const { return y > 0 ? scale : input_scale * (y + scale * alpha); }
};
constexpr Elu kSelu{1.6732632423543772848, 1.0507009873554804934, 1};

struct Softplus {
  double beta = 1, threshold = 20;
  double value(double x) const { return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta; }
  double slope(double x) const { return x * beta > threshold ? 1 : sigmoid(x * beta); }
};

inline double relu6(double x) { return std::clamp(x, 0.0, 6.0); }
inline double relu6_slope(double x) { return x > 0 && x < 6 ? 1 : 0; }

inline double hard_sigmoid(double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }
inline double hard_sigmoid_slope(double x) { return x > -3 && x < 3 ? 1.0 / 6 : 0; }

inline double hard_swish(double x) { return x * hard_sigmoid(x); }
inline double hard_swish_slope(double x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5; }

inline double mish(double x) { return x * std::tanh(Softplus{}.value(x)); }
inline double mish_slope(double x) {
  const double t = std::tanh(Softplus{}.value(x));
  return t + x * (1 - t * t) * sigmoid(x);
}

inline double log_sigmoid(double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

constexpr double kSqrtTwoByPi = 0.79788456080286535588, kGeluCubic = 0.044715, kSqrtHalf = 0.70710678118654752440;
inline double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(kSqrtTwoByPi * (x + kGeluCubic * x * x * x)));
}
inline double gelu_tanh_slope(double x) {
  const double t = std::tanh(kSqrtTwoByPi * (x + kGeluCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kSqrtTwoByPi * (1 + 3 * kGeluCubic * x * x);
}
inline double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x * kSqrtHalf)); }
inline double gelu_erf_slope(double x) {
  return 0.5 * (1 + std::erf(x * kSqrtHalf)) + 0.5 * kSqrtTwoByPi * x * std::exp(-0.5 * x * x);
}

}  // namespace jumar::kernels
