#include "kernels/softmax.h"

#include <algorithm>
#include <cmath>

namespace jumar::kernels {
namespace {

template <class T>
void normalize(T* row, int64_t size, int64_t step, bool logarithm) {
  T largest = row[0], sum = 0;
  for (int64_t i = 0; i < size; ++i) largest = std::max(largest, row[i * step]);
  for (int64_t i = 0; i < size; ++i) sum += std::exp(row[i * step] - largest);
  for (int64_t i = 0; i < size; ++i) {
    const T shifted = row[i * step] - largest;
    row[i * step] = logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
  }
}

}  // namespace

void softmax(const View& x, int64_t axis, bool logarithm, const View& out) {
  const Split s = split(x.dims, axis);
  compute_float({x.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(x);
    each_row(s, values.data(), [&](T* row, int64_t) { normalize(row, s.along, s.behind, logarithm); });
    store(out, values);
  });
}

void softmax_gradient(const View& grad, const View& result, int64_t axis, bool logarithm, const View& out) {
  const Split s = split(result.dims, axis);
  compute_float({grad.type, result.type}, [&](auto sample) {
    using T = decltype(sample);
    auto grads = load<T>(grad, result.dims);
    const auto values = load<T>(result);
    each_row(s, grads.data(), [&](T* row, int64_t first) {
      T sum = 0;
      for (int64_t i = 0; i < s.along; ++i)
        sum += logarithm ? row[i * s.behind] : row[i * s.behind] * values[static_cast<size_t>(first + i * s.behind)];
      for (int64_t i = 0; i < s.along; ++i) {
        const T value = values[static_cast<size_t>(first + i * s.behind)];
        T& one = row[i * s.behind];
        one = logarithm ? one - std::exp(value) * sum : value * (one - sum);
      }
    });
    store(out, grads);
  });
}

void softmax_cross_entropy(const View& scores, const View& labels, const View& loss, const View& gradient) {
  const Split s = split(scores.dims, -1);
  compute_float({scores.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(scores);
    const auto wanted = load<T>(labels, scores.dims);
    std::vector<T> losses;
    each_row(s, values.data(), [&](T* row, int64_t first) {
      normalize(row, s.along, 1, true);
      T sum = 0;
      for (int64_t i = 0; i < s.along; ++i) sum -= wanted[static_cast<size_t>(first + i)] * row[i];
      losses.push_back(sum);
      for (int64_t i = 0; i < s.along; ++i) row[i] = std::exp(row[i]) - wanted[static_cast<size_t>(first + i)];
    });
    store(loss, losses);
    store(gradient, values);
  });
}

void nll_loss(const View& x, const View& target, const View* weight, Mean mean, int64_t ignored, const View& out,
              const View& total_weight) {
  const int64_t classes = x.dims.back();
  const auto values = load<double>(x);
  const auto wanted = load<int64_t>(target);
  const auto weights = weight != nullptr ? load<double>(*weight) : std::vector<double>(static_cast<size_t>(classes), 1);
  std::vector<double> losses(wanted.size());
  double sum = 0, total = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == ignored) continue;
    if (wanted[i] < 0 || wanted[i] >= classes) throw Unsupported("label " + std::to_string(wanted[i]) + " is no class");
    const double factor = weights[static_cast<size_t>(wanted[i])];
    losses[i] = -factor * values[i * static_cast<size_t>(classes) + static_cast<size_t>(wanted[i])];
    sum += losses[i];
    total += factor;
  }
  const bool single = mean == Mean::kNone;  // then nobody divides by the weight, and it stays 0
  store(total_weight, std::vector<double>(static_cast<size_t>(count(total_weight.dims)), single ? 0 : total));
  if (single) return store(out, losses);
  store(out, std::vector<double>{mean == Mean::kMean ? sum / total : sum});
}

void nll_loss_gradient(const View& grad, const View& target, const View* weight, Mean mean, int64_t ignored,
                       const View& total_weight, const View& out) {
  const auto classes = static_cast<size_t>(out.dims.back());
  const auto wanted = load<int64_t>(target);
  const auto grads = load<double>(grad, mean == Mean::kNone ? target.dims : grad.dims);
  const auto weights = weight != nullptr ? load<double>(*weight) : std::vector<double>(classes, 1);
  const double total = load<double>(total_weight).at(0);
  std::vector<double> result(static_cast<size_t>(count(out.dims)));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == ignored) continue;
    const double one = grads.at(mean == Mean::kNone ? i : 0) * weights.at(static_cast<size_t>(wanted[i]));
    result.at(i * classes + static_cast<size_t>(wanted[i])) = mean == Mean::kMean ? -one / total : -one;
  }
  store(out, result);
}

}  // namespace jumar::kernels
