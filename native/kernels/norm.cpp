#include "kernels/norm.h"

#include <cmath>

namespace jumar::kernels {
namespace {

using Row = std::vector<double>;

// Everything is computed in double: means of float rows then do not depend on the order of the addends.
Row load_or(const View* view, size_t size, double missing) { return view != nullptr ? load<double>(*view) : Row(size, missing); }

void store_if(const View* view, const Row& values) {
  if (view != nullptr) store(*view, values);
}

// Of one image (N, C, rest); a batch may be empty.
size_t values_of_channel(const Dims& dims) {
  return static_cast<size_t>(std::max<int64_t>(count(Dims(dims.begin() + 2, dims.end())), 1));
}

struct Moments {
  Row mean, variance;
};

// Over (N, C, rest): one pair for each channel.
Moments channel_moments(const Row& values, size_t channels, size_t rest) {
  Moments found{Row(channels), Row(channels)};
  const size_t images = values.size() / (channels * rest);
  const auto size = static_cast<double>(images * rest);
  for (size_t i = 0; i < values.size(); ++i) found.mean[i / rest % channels] += values[i] / size;
  for (size_t i = 0; i < values.size(); ++i) {
    const double off = values[i] - found.mean[i / rest % channels];
    found.variance[i / rest % channels] += off * off / size;
  }
  return found;
}

}  // namespace

void batch_norm(const View& x, const BatchNorm& norm, const View& out, const View* mean, const View* inverse_deviation) {
  auto values = load<double>(x);
  const auto channels = static_cast<size_t>(x.dims.at(1));
  const size_t rest = values_of_channel(x.dims);
  const auto weight = load_or(norm.weight, channels, 1), bias = load_or(norm.bias, channels, 0);
  Moments used;
  if (norm.training) {
    used = channel_moments(values, channels, rest);
    const auto size = static_cast<double>(values.size() / channels);
    if (norm.running_mean != nullptr && norm.running_variance != nullptr) {
      auto means = load<double>(*norm.running_mean), variances = load<double>(*norm.running_variance);
      for (size_t c = 0; c < channels; ++c) {
        means[c] += norm.momentum * (used.mean[c] - means[c]);
        variances[c] += norm.momentum * (used.variance[c] * size / (size > 1 ? size - 1 : 1) - variances[c]);
      }
      store(*norm.running_mean, means);
      store(*norm.running_variance, variances);
    }
  } else {
    used = {load_or(norm.running_mean, channels, 0), load_or(norm.running_variance, channels, 1)};
  }
  Row inverse(channels);
  for (size_t c = 0; c < channels; ++c) inverse[c] = 1 / std::sqrt(used.variance[c] + norm.epsilon);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / rest % channels;
    values[i] = (values[i] - used.mean[c]) * inverse[c] * weight[c] + bias[c];
  }
  store(out, values);
  if (!norm.training) return;
  store_if(mean, used.mean);
  store_if(inverse_deviation, inverse);
}

void batch_norm_gradient(const View& grad, const View& x, const BatchNorm& norm, const View* mean,
                         const View* inverse_deviation, const View* to_x, const View* to_weight, const View* to_bias) {
  auto grads = load<double>(grad, x.dims);
  const auto values = load<double>(x);
  const auto channels = static_cast<size_t>(x.dims.at(1));
  const size_t rest = values_of_channel(x.dims);
  const auto weight = load_or(norm.weight, channels, 1);
  Row means, inverse;
  if (norm.training) {
    if (mean == nullptr || inverse_deviation == nullptr) throw Unsupported("the moments of the batch are missing");
    means = load<double>(*mean);
    inverse = load<double>(*inverse_deviation);
  } else {
    means = load_or(norm.running_mean, channels, 0);
    inverse = load_or(norm.running_variance, channels, 1);
    for (double& one : inverse) one = 1 / std::sqrt(one + norm.epsilon);
  }
  Row sums(channels), products(channels);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / rest % channels;
    sums[c] += grads[i];
    products[c] += grads[i] * (values[i] - means[c]) * inverse[c];
  }
  const auto size = static_cast<double>(values.size() / channels);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / rest % channels;
    const double shared = norm.training ? (sums[c] + (values[i] - means[c]) * inverse[c] * products[c]) / size : 0;
    grads[i] = (grads[i] - shared) * inverse[c] * weight[c];
  }
  store_if(to_x, grads);
  store_if(to_weight, products);
  store_if(to_bias, sums);
}

void row_norm(const View& x, const Rows& rows, const View* weight, const View* bias, double epsilon, const View& out,
              const View* mean, const View* inverse_deviation) {
  auto values = load<double>(x);
  const auto width = static_cast<size_t>(rows.width), channels = static_cast<size_t>(rows.channels);
  const auto factors = load_or(weight, channels, 1), shifts = load_or(bias, channels, 0);
  Row means, inverses;
  for (size_t first = 0; first < values.size(); first += width) {
    double sum = 0, squares = 0;
    for (size_t i = first; i < first + width && rows.centered; ++i) sum += values[i];
    const double middle = sum / static_cast<double>(width);
    for (size_t i = first; i < first + width; ++i) squares += (values[i] - middle) * (values[i] - middle);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (size_t i = first; i < first + width; ++i) {
      const size_t c = i / static_cast<size_t>(rows.repeat) % channels;
      values[i] = (values[i] - middle) * inverse * factors[c] + shifts[c];
    }
    means.push_back(middle);
    inverses.push_back(inverse);
  }
  store(out, values);
  store_if(mean, means);
  store_if(inverse_deviation, inverses);
}

void row_norm_gradient(const View& grad, const View& x, const Rows& rows, const View* mean,
                       const View& inverse_deviation, const View* weight, const View* to_x, const View* to_weight,
                       const View* to_bias) {
  auto grads = load<double>(grad, x.dims);
  const auto values = load<double>(x), inverses = load<double>(inverse_deviation);
  const auto width = static_cast<size_t>(rows.width), channels = static_cast<size_t>(rows.channels);
  const auto means = load_or(mean, inverses.size(), 0), factors = load_or(weight, channels, 1);
  Row weights(channels), biases(channels);
  for (size_t first = 0; first < values.size(); first += width) {
    const double middle = means.at(first / width), inverse = inverses.at(first / width);
    double sum = 0, product = 0;
    for (size_t i = first; i < first + width; ++i) {
      const size_t c = i / static_cast<size_t>(rows.repeat) % channels;
      const double scaled = (values[i] - middle) * inverse, one = grads[i] * factors[c];
      sum += rows.centered ? one : 0;
      product += one * scaled;
      weights[c] += grads[i] * scaled;
      biases[c] += grads[i];
    }
    for (size_t i = first; i < first + width; ++i) {
      const size_t c = i / static_cast<size_t>(rows.repeat) % channels;
      const double scaled = (values[i] - middle) * inverse;
      grads[i] = inverse * (grads[i] * factors[c] - (sum + scaled * product) / static_cast<double>(width));
    }
  }
  store_if(to_x, grads);
  store_if(to_weight, weights);
  store_if(to_bias, biases);
}

}  // namespace jumar::kernels
