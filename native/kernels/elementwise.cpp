#include "kernels/elementwise.h"

#include <algorithm>
#include <cmath>

#include "kernels/rows.h"
#include "kernels/workers.h"

namespace jumar::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

template <class T>
T floor_div(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) throw Unsupported("an integer was divided by zero");
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
  } else {
    return std::floor(x / y);
  }
}

template <class T>
T trunc_div(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) throw Unsupported("an integer was divided by zero");
    return x / y;
  } else {
    return std::trunc(x / y);
  }
}

template <class T>
T remainder_of(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return x - trunc_div(x, y) * y;
  } else {
    return std::fmod(x, y);
  }
}

template <class T>
int64_t bits(T x) {
  if constexpr (!std::is_integral_v<T>) throw Unsupported("bits of floating-point numbers cannot be combined");
  return static_cast<int64_t>(x);
}

template <class T>
T apply(Unary what, T x) {
  switch (what) {
    case Unary::kAbs: return x < T(0) ? -x : x;
    case Unary::kIsFinite: return T(std::isfinite(static_cast<double>(x)));
    case Unary::kIsInf: return T(std::isinf(static_cast<double>(x)));
    case Unary::kIsNan: return T(x != x);
    case Unary::kLogicalNot: return T(x == T(0));
    case Unary::kNeg: return -x;
    case Unary::kRelu: return x > T(0) ? x : x != x ? x : T(0);
    case Unary::kSign: return T((x > T(0)) - (x < T(0)));
    case Unary::kSquare: return x * x;
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (what) {
      case Unary::kAcos: return std::acos(x);
      case Unary::kAcosh: return std::acosh(x);
      case Unary::kAsin: return std::asin(x);
      case Unary::kAsinh: return std::asinh(x);
      case Unary::kAtan: return std::atan(x);
      case Unary::kAtanh: return std::atanh(x);
      case Unary::kCeil: return std::ceil(x);
      case Unary::kCos: return std::cos(x);
      case Unary::kCosh: return std::cosh(x);
      case Unary::kErf: return std::erf(x);
      case Unary::kErfc: return std::erfc(x);
      case Unary::kExp: return std::exp(x);
      case Unary::kExp2: return std::exp2(x);
      case Unary::kExpm1: return std::expm1(x);
      case Unary::kFloor: return std::floor(x);
      case Unary::kLog: return std::log(x);
      case Unary::kLog10: return std::log10(x);
      case Unary::kLog1p: return std::log1p(x);
      case Unary::kLog2: return std::log2(x);
      case Unary::kReciprocal: return T(1) / x;
      case Unary::kRound: return std::nearbyint(x);
      case Unary::kRsqrt: return T(1) / std::sqrt(x);
      case Unary::kSigmoid: return sigmoid(x);
      case Unary::kSilu: return x * sigmoid(x);
      case Unary::kSin: return std::sin(x);
      case Unary::kSinc: return x == T(0) ? T(1) : std::sin(T(kPi) * x) / (T(kPi) * x);
      case Unary::kSinh: return std::sinh(x);
      case Unary::kSqrt: return std::sqrt(x);
      case Unary::kTan: return std::tan(x);
      case Unary::kTanh: return std::tanh(x);
      case Unary::kTrunc: return std::trunc(x);
      default: break;
    }
  } else if (what == Unary::kBitNot) {
    return ~x;
  }
  return x;  // rounding an integer
}

bool keeps_integers(Unary what) {
  return what == Unary::kCeil || what == Unary::kFloor || what == Unary::kRound || what == Unary::kAbs ||
         what == Unary::kTrunc || what == Unary::kBitNot || what == Unary::kIsFinite || what == Unary::kIsInf || what == Unary::kIsNan || what == Unary::kLogicalNot ||
         what == Unary::kNeg || what == Unary::kRelu || what == Unary::kSign || what == Unary::kSquare;
}

template <class T>
T apply(Binary what, T x, T y) {
  switch (what) {
    case Binary::kAdd: return x + y;
    case Binary::kAnd: return T(x != T(0) && y != T(0));
    case Binary::kAtan2: return static_cast<T>(std::atan2(x, y));
    case Binary::kBitAnd: return bits(x) & bits(y);
    case Binary::kBitOr: return bits(x) | bits(y);
    case Binary::kBitXor: return bits(x) ^ bits(y);
    case Binary::kDiv: return x / y;
    case Binary::kDivNoNan: return y == T(0) ? T(0) : x / y;
    case Binary::kEqual: return T(x == y);
    case Binary::kFloorDiv: return floor_div(x, y);
    case Binary::kFmod: return remainder_of(x, y);
    case Binary::kGreater: return T(x > y);
    case Binary::kGreaterEqual: return T(x >= y);
    case Binary::kLess: return T(x < y);
    case Binary::kLessEqual: return T(x <= y);
    case Binary::kMaximum: return x != x ? x : y != y ? y : std::max(x, y);
    case Binary::kMinimum: return x != x ? x : y != y ? y : std::min(x, y);
    case Binary::kMul: return x * y;
    case Binary::kNotEqual: return T(x != y);
    case Binary::kOr: return T(x != T(0) || y != T(0));
    case Binary::kPow: return static_cast<T>(std::pow(x, y));
    case Binary::kRemainder: return x - floor_div(x, y) * y;
    case Binary::kSquaredDifference: return (x - y) * (x - y);
    case Binary::kSub: return x - y;
    case Binary::kTruncDiv: return trunc_div(x, y);
    case Binary::kXLogY: return x == T(0) && y == y ? T(0) : static_cast<T>(x * std::log(y));
    case Binary::kXor: return T((x != T(0)) != (y != T(0)));
  }
  return x;
}

template <class T>
T apply(Backward what, T v) {
  switch (what) {
    case Backward::kRelu: return T(v > T(0));
    case Backward::kSigmoid: return v * (T(1) - v);
    case Backward::kSilu: return sigmoid(v) * (T(1) + v * (T(1) - sigmoid(v)));
    case Backward::kSqrt: return T(0.5) / v;
    case Backward::kTanh: return T(1) - v * v;
  }
  return v;
}

// out = f(x…), element by element, in the type T. The function is one that the compiler can see through.
template <class T, class F, class... Views>
void each(const View& out, F f, const Views&... x) {
  Written<T> result(out);
  [&](const auto&... rows) {
    share(count(out.dims), kLongRow, [&](int64_t first, int64_t last) {
      T* to = result.data();
      for (int64_t i = first; i < last; ++i) to[i] = f(rows[i]...);
    });
  }(Read<T>(x, out.dims)...);
  result.finish();
}

// The choice of the most frequent functions stays out of the loop.
template <class T>
void combine(Binary what, const View& x, const View& y, const View& out) {
  switch (what) {
    case Binary::kAdd: return each<T>(out, [](T a, T b) { return a + b; }, x, y);
    case Binary::kDiv: return each<T>(out, [](T a, T b) { return a / b; }, x, y);
    case Binary::kMul: return each<T>(out, [](T a, T b) { return a * b; }, x, y);
    case Binary::kSub: return each<T>(out, [](T a, T b) { return a - b; }, x, y);
    default: return each<T>(out, [what](T a, T b) { return apply(what, a, b); }, x, y);
  }
}

// A quotient of integers is a fraction: computed in float.
template <class F>
void compute_for(Binary what, std::initializer_list<int32_t> types, F&& run) {
  if (what == Binary::kDiv || what == Binary::kAtan2 || what == Binary::kXLogY) return compute_float(types, run);
  compute(types, run);
}

int32_t type_of(double value, int32_t other) {
  return is_float(other) || value == std::floor(value) ? other : static_cast<int32_t>(kFloat);
}

}  // namespace

void unary(Unary what, const View& x, const View& out) {
  if (what == Unary::kBitNot && x.type == kBool) what = Unary::kLogicalNot;  // its other bits are no value
  const auto run = [&](auto sample) {
    using T = decltype(sample);
    if (what == Unary::kRelu) return each<T>(out, [](T v) { return v > T(0) ? v : v != v ? v : T(0); }, x);
    each<T>(out, [what](T v) { return apply(what, v); }, x);
  };
  if (keeps_integers(what)) {
    compute({x.type}, run);
  } else {
    compute_float({x.type}, run);
  }
}

void binary(Binary what, const View& x, const View& y, const View& out) {
  compute_for(what, {x.type, y.type}, [&](auto sample) { combine<decltype(sample)>(what, x, y, out); });
}

void binary(Binary what, const View& x, double y, const View& out) {
  compute_for(what, {x.type, type_of(y, x.type)}, [&](auto sample) {
    using T = decltype(sample);
    each<T>(out, [what, number = static_cast<T>(y)](T v) { return apply(what, v, number); }, x);
  });
}

void binary(Binary what, double x, const View& y, const View& out) {
  compute_for(what, {y.type, type_of(x, y.type)}, [&](auto sample) {
    using T = decltype(sample);
    each<T>(out, [what, number = static_cast<T>(x)](T v) { return apply(what, number, v); }, y);
  });
}

void scaled_add(const View& x, const View& y, double scale, const View& out) {
  compute({x.type, y.type, type_of(scale, x.type)}, [&](auto sample) {
    using T = decltype(sample);
    each<T>(out, [factor = static_cast<T>(scale)](T a, T b) { return a + factor * b; }, x, y);
  });
}

void backward(Backward what, const View& grad, const View& value, const View& out) {
  compute_float({grad.type, value.type}, [&](auto sample) {
    using T = decltype(sample);
    each<T>(out, [what](T g, T v) { return g * apply(what, v); }, grad, value);
  });
}

void threshold_backward(const View& grad, const View& x, double threshold, const View& out) {
  compute({grad.type, x.type}, [&](auto sample) {
    using T = decltype(sample);
    each<T>(out, [limit = static_cast<T>(threshold)](T g, T v) { return v > limit ? g : T(0); }, grad, x);
  });
}

void clamp(const View& x, double low, double high, const View& out) {
  compute({x.type, out.type}, [&](auto sample) {
    auto values = load<decltype(sample)>(x, out.dims);
    for (auto& value : values) {
      if (static_cast<double>(value) < low) value = static_cast<decltype(sample)>(low);
      if (static_cast<double>(value) > high) value = static_cast<decltype(sample)>(high);
    }
    store(out, values);
  });
}

void choose(const View& condition, const View& x, const View& y, const View& out) {
  const auto wanted = load<int64_t>(condition, out.dims);
  compute({x.type, y.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(x, out.dims);
    const auto others = load<T>(y, out.dims);
    for (size_t i = 0; i < values.size(); ++i)
      if (wanted[i] == 0) values[i] = others[i];
    store(out, values);
  });
}

void masked_fill(const View& self, const View& mask, double value) {
  const auto wanted = load<int64_t>(mask, self.dims);
  compute({self.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(self);
    for (size_t i = 0; i < values.size(); ++i)
      if (wanted[i] != 0) values[i] = static_cast<T>(value);
    store(self, values);
  });
}

void sum_of(const std::vector<View>& all, const View& out) {
  compute({out.type}, [&](auto sample) {
    using T = decltype(sample);
    std::vector<T> sum(static_cast<size_t>(count(out.dims)));
    for (const View& one : all) {
      const auto values = load<T>(one, out.dims);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    store(out, sum);
  });
}

bool all_finite(const View& x) {
  const auto values = load<double>(x);
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace jumar::kernels
