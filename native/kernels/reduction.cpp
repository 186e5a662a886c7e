#include "kernels/reduction.h"

#include <algorithm>
#include <cmath>

namespace jumar::kernels {
namespace {

// Which element of the output each element of the input goes to.
std::vector<int64_t> targets(const Dims& dims, const Dims& axes) {
  std::vector<bool> reduced(dims.size(), axes.empty());
  for (int64_t axis : dims.empty() ? Dims{} : axes)  // a single number has an axis 0 for clients, and none here
    reduced[static_cast<size_t>(axis_of(axis, dims.size()))] = true;
  Dims steps(dims.size(), 0);
  int64_t step = 1;
  for (size_t axis = dims.size(); axis-- > 0;)
    if (!reduced[axis]) {
      steps[axis] = step;
      step *= dims[axis];
    }
  std::vector<int64_t> found(static_cast<size_t>(count(dims)));
  Dims at(dims.size(), 0);
  int64_t target = 0;
  for (auto& one : found) {
    one = target;
    for (size_t axis = dims.size(); axis-- > 0;) {
      target += steps[axis];
      if (++at[axis] < dims[axis]) break;
      target -= steps[axis] * dims[axis];
      at[axis] = 0;
    }
  }
  return found;
}

// Sums of floats are taken in double: the order of the addends then hardly matters.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;

template <class T>
void join(Reduce what, Wide<T>& so_far, T value, bool first) {
  switch (what) {
    case Reduce::kSum:
    case Reduce::kMean: so_far += value; break;
    case Reduce::kProd: so_far = first ? value : so_far * value; break;
    case Reduce::kMax: so_far = first || value > so_far || value != value ? value : so_far; break;
    case Reduce::kMin: so_far = first || value < so_far || value != value ? value : so_far; break;
    case Reduce::kAny: so_far = so_far != 0 || value != T(0); break;
    case Reduce::kAll: so_far = (first || so_far != 0) && value != T(0); break;
  }
}

}  // namespace

void reduce(Reduce what, const View& x, const Dims& axes, const View& out) {
  const auto to = targets(x.dims, axes);
  compute({x.type, what == Reduce::kMean ? static_cast<int32_t>(kFloat) : x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<Wide<T>> sums(static_cast<size_t>(count(out.dims)));
    std::vector<int64_t> seen(sums.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<size_t>(to[i]);
      join<T>(what, sums.at(at), values[i], seen[at]++ == 0);
    }
    if (what == Reduce::kMean)
      for (size_t i = 0; i < sums.size(); ++i) sums[i] /= static_cast<Wide<T>>(seen[i]);
    if ((what == Reduce::kAll || what == Reduce::kProd) && values.empty()) std::fill(sums.begin(), sums.end(), 1);
    store(out, sums);
  });
}

void arg_reduce(bool largest, const View& x, int64_t axis, const View* values, const View& places) {
  const Split s = split(x.dims, axis);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto all = load<T>(x);
    std::vector<T> best;
    std::vector<int64_t> where;
    for (int64_t i = 0; i < s.before; ++i)
      for (int64_t j = 0; j < s.behind; ++j) {
        int64_t chosen = 0;
        const auto at = [&](int64_t place) { return all[static_cast<size_t>((i * s.along + place) * s.behind + j)]; };
        for (int64_t place = 1; place < s.along; ++place) {
          const T value = at(place), so_far = at(chosen);
          if (so_far == so_far && (value != value || (largest ? value > so_far : value < so_far))) chosen = place;
        }
        where.push_back(chosen);
        best.push_back(at(chosen));
      }
    store(places, where);
    if (values != nullptr) store(*values, best);
  });
}

void spread(bool root, const View& x, const Dims& axes, int64_t correction, const View& out, const View* mean) {
  const auto to = targets(x.dims, axes);
  const auto values = load<double>(x);
  std::vector<double> means(static_cast<size_t>(count(out.dims))), squares(means.size()), sizes(means.size());
  for (size_t i = 0; i < values.size(); ++i) {
    means.at(static_cast<size_t>(to[i])) += values[i];
    sizes[static_cast<size_t>(to[i])] += 1;
  }
  for (size_t i = 0; i < means.size(); ++i) means[i] /= sizes[i];
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<size_t>(to[i]);
    squares[at] += (values[i] - means[at]) * (values[i] - means[at]);
  }
  for (size_t i = 0; i < squares.size(); ++i) {
    squares[i] /= std::max(sizes[i] - static_cast<double>(correction), 0.0);
    if (root) squares[i] = std::sqrt(squares[i]);
  }
  store(out, squares);
  if (mean != nullptr) store(*mean, means);
}

void power_norm(double power, const View& x, const Dims& axes, const View& out) {
  const auto to = targets(x.dims, axes);
  const auto values = load<double>(x);
  std::vector<double> sums(static_cast<size_t>(count(out.dims)), std::isinf(power) && power < 0 ? INFINITY : 0);
  for (size_t i = 0; i < values.size(); ++i) {
    double& sum = sums.at(static_cast<size_t>(to[i]));
    const double size = std::abs(values[i]);
    if (std::isinf(power)) sum = power > 0 ? std::max(sum, size) : std::min(sum, size);
    else sum += power == 0 ? size != 0 : std::pow(size, power);
  }
  if (!std::isinf(power) && power != 0)
    for (double& sum : sums) sum = std::pow(sum, 1 / power);
  store(out, sums);
}

void log_sum_exp(const View& x, const Dims& axes, const View& out) {
  const auto to = targets(x.dims, axes);
  const auto values = load<double>(x);
  std::vector<double> largest(static_cast<size_t>(count(out.dims)), -INFINITY), sums(largest.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double& most = largest.at(static_cast<size_t>(to[i]));
    most = std::max(most, values[i]);
  }
  for (double& most : largest) most = std::isinf(most) ? 0 : most;
  for (size_t i = 0; i < values.size(); ++i)
    sums[static_cast<size_t>(to[i])] += std::exp(values[i] - largest[static_cast<size_t>(to[i])]);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = std::log(sums[i]) + largest[i];
  store(out, sums);
}

}  // namespace jumar::kernels
