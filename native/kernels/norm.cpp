#include "kernels/norm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/rows.h"
#include "kernels/workers.h"

namespace jumar::kernels {
namespace {

using Row = std::vector<double>;

// Everything is computed in double: means of float rows then do not depend on the order of the addends.
Row load_or(const View* view, size_t size, double missing) { return view != nullptr ? load<double>(*view) : Row(size, missing); }

void store_if(const View* view, const Row& values) {
  if (view != nullptr) store(*view, values);
}

// A batch (N, C, rest) as one row of T; a batch may be empty.
struct Batch {
  int64_t images, channels, rest;
  double size() const { return static_cast<double>(images * rest); }
};

Batch batch_of(const Dims& dims) {
  const int64_t rest = count(Dims(dims.begin() + 2, dims.end()));
  return {rest == 0 ? 0 : dims.at(0), dims.at(1), std::max<int64_t>(rest, 1)};
}

// Calls `run(channel)`, several of them at once.
template <class F>
void each_channel(const Batch& batch, F&& run) {
  share(batch.channels, std::max<int64_t>(1, kLongRow / std::max<int64_t>(1, batch.images * batch.rest)),
        [&](int64_t first, int64_t last) {
          for (int64_t c = first; c < last; ++c) run(c);
        });
}

// Calls `run(where the row of the channel starts, in every image)`.
template <class F>
void each_image(const Batch& batch, int64_t channel, F&& run) {
  for (int64_t n = 0; n < batch.images; ++n) run((n * batch.channels + channel) * batch.rest);
}

// The sum of f(0) … f(size - 1): four at a time, so that no addition waits for the one before.
template <class F>
double summed(int64_t size, F&& f) {
  double sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= size; i += 4)
    for (int64_t lane = 0; lane < 4; ++lane) sums[lane] += f(i + lane);
  for (; i < size; ++i) sums[0] += f(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

struct Moments {
  Row mean, variance;
};

// Over (N, C, rest): one pair for each channel.
template <class T>
Moments channel_moments(const T* values, const Batch& batch) {
  Moments found{Row(static_cast<size_t>(batch.channels)), Row(static_cast<size_t>(batch.channels))};
  each_channel(batch, [&](int64_t c) {
    double sum = 0, squares = 0;
    each_image(batch, c, [&](int64_t at) {
      sum += summed(batch.rest, [row = values + at](int64_t i) { return static_cast<double>(row[i]); });
    });
    const double mean = sum / batch.size();
    each_image(batch, c, [&](int64_t at) {
      squares += summed(batch.rest, [row = values + at, mean](int64_t i) { return (row[i] - mean) * (row[i] - mean); });
    });
    found.mean[static_cast<size_t>(c)] = batch.images == 0 ? 0 : mean;
    found.variance[static_cast<size_t>(c)] = batch.images == 0 ? 0 : squares / batch.size();
  });
  return found;
}

void update_running(const BatchNorm& norm, const Moments& used, double size) {
  if (norm.running_mean == nullptr || norm.running_variance == nullptr) return;
  auto means = load<double>(*norm.running_mean), variances = load<double>(*norm.running_variance);
  for (size_t c = 0; c < means.size(); ++c) {
    means[c] += norm.momentum * (used.mean[c] - means[c]);
    variances[c] += norm.momentum * (used.variance[c] * size / (size > 1 ? size - 1 : 1) - variances[c]);
  }
  store(*norm.running_mean, means);
  store(*norm.running_variance, variances);
}

Row inverse_roots(Row variances, double epsilon) {
  for (double& one : variances) one = 1 / std::sqrt(one + epsilon);
  return variances;
}

}  // namespace

void channel_sums(const View& x, const View& sums, const View& squares) {
  const Batch batch = batch_of(x.dims);
  Row one(static_cast<size_t>(batch.channels)), two(one.size());
  compute_float({x.type}, [&](auto sample) {
    const Read<decltype(sample)> values(x);
    each_channel(batch, [&](int64_t c) {
      each_image(batch, c, [&](int64_t at) {
        const auto* row = values.data() + at;
        one[static_cast<size_t>(c)] += summed(batch.rest, [row](int64_t i) { return static_cast<double>(row[i]); });
        two[static_cast<size_t>(c)] +=
            summed(batch.rest, [row](int64_t i) { return static_cast<double>(row[i]) * static_cast<double>(row[i]); });
      });
    });
  });
  store(sums, one);
  store(squares, two);
}

void batch_norm(const View& x, const BatchNorm& norm, const View& out, const View* mean, const View* inverse_deviation) {
  const Batch batch = batch_of(x.dims);
  const auto channels = static_cast<size_t>(batch.channels);
  const auto weight = load_or(norm.weight, channels, 1), bias = load_or(norm.bias, channels, 0);
  compute_float({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const Read<T> values(x);
    const Moments used = norm.training ? channel_moments(values.data(), batch)
                                       : Moments{load_or(norm.running_mean, channels, 0),
                                                 load_or(norm.running_variance, channels, 1)};
    if (norm.training) update_running(norm, used, batch.size());
    const Row inverse = inverse_roots(used.variance, norm.epsilon);
    Written<T> result(out);
    each_channel(batch, [&](int64_t c) {
      const auto at_c = static_cast<size_t>(c);
      const double middle = used.mean[at_c], scale = inverse[at_c], factor = weight[at_c], shift = bias[at_c];
      each_image(batch, c, [&](int64_t at) {
        const T* from = values.data() + at;
        T* to = result.data() + at;
        for (int64_t i = 0; i < batch.rest; ++i) to[i] = static_cast<T>((from[i] - middle) * scale * factor + shift);
      });
    });
    result.finish();
    if (!norm.training) return;
    store_if(mean, used.mean);
    store_if(inverse_deviation, inverse);
  });
}

void batch_norm_gradient(const View& grad, const View& x, const BatchNorm& norm, const View* mean,
                         const View* inverse_deviation, const View* to_x, const View* to_weight, const View* to_bias) {
  const Batch batch = batch_of(x.dims);
  const auto channels = static_cast<size_t>(batch.channels);
  if (norm.training && (mean == nullptr || inverse_deviation == nullptr))
    throw Unsupported("the moments of the batch are missing");
  const Row weight = load_or(norm.weight, channels, 1);
  const Row means = norm.training ? load<double>(*mean) : load_or(norm.running_mean, channels, 0);
  const Row inverse = norm.training ? load<double>(*inverse_deviation)
                                    : inverse_roots(load_or(norm.running_variance, channels, 1), norm.epsilon);
  Row sums(channels), products(channels);
  compute_float({grad.type, x.type}, [&](auto sample) {
    using T = decltype(sample);
    const Read<T> grads(grad, x.dims), values(x);
    std::optional<Written<T>> result;
    if (to_x != nullptr) result.emplace(*to_x);
    each_channel(batch, [&](int64_t c) {
      const auto at_c = static_cast<size_t>(c);
      const double middle = means[at_c], scale = inverse[at_c], factor = weight[at_c];
      double sum = 0, product = 0;
      each_image(batch, c, [&](int64_t at) {
        const T *g = grads.data() + at, *v = values.data() + at;
        sum += summed(batch.rest, [g](int64_t i) { return static_cast<double>(g[i]); });
        product += summed(batch.rest, [g, v, middle](int64_t i) { return g[i] * (v[i] - middle); });
      });
      product *= scale;
      sums[at_c] = sum;
      products[at_c] = product;
      const double share_of_sum = norm.training ? sum / batch.size() : 0;
      const double share_of_product = norm.training ? product / batch.size() * scale : 0;
      each_image(batch, c, [&](int64_t at) {
        const T *g = grads.data() + at, *v = values.data() + at;
        for (int64_t i = 0; result.has_value() && i < batch.rest; ++i)
          result->data()[at + i] =
              static_cast<T>((g[i] - share_of_sum - (v[i] - middle) * share_of_product) * scale * factor);
      });
    });
    if (result.has_value()) result->finish();
  });
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

void rms_norm_gradient(const View& grad, const View& x, const View& inverse_root, const View& weight, const View* to_x,
                       const View* to_weight) {
  auto grads = load<float>(grad, x.dims);
  const auto values = load<float>(x), inverses = load<float>(inverse_root), factors = load<float>(weight);
  const size_t width = factors.size();
  Row weights(width);
  std::vector<float> scaled(width);
  for (size_t first = 0; first < values.size(); first += width) {
    const float inverse = inverses.at(first / width);
    double sum = 0;
    for (size_t i = 0; i < width; ++i) {
      float& one = grads[first + i];
      scaled[i] = values[first + i] * inverse;
      weights[i] += one * scaled[i];
      one *= factors[i];
      sum += one * scaled[i];
    }
    const float mean = static_cast<float>(sum) / static_cast<float>(width);
    for (size_t i = 0; i < width; ++i) {
      const float share = scaled[i] * mean;  // a rounded product: it may cancel the gradient to nothing
      grads[first + i] = (grads[first + i] - share) * inverse;
    }
  }
  if (to_x != nullptr) store(*to_x, grads);
  store_if(to_weight, weights);
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
