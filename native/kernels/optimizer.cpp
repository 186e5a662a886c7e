#include "kernels/optimizer.h"

#include <algorithm>
#include <cmath>

namespace jumar::kernels {

void momentum(const View& parameter, const View& state, double rate, const View& grad, double factor, bool nesterov) {
  compute_float({parameter.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(parameter), states = load<T>(state);
    const auto grads = load<T>(grad, parameter.dims);
    const T step = static_cast<T>(rate), keep = static_cast<T>(factor);
    for (size_t i = 0; i < values.size(); ++i) {
      states[i] = states[i] * keep + grads[i];
      values[i] -= nesterov ? grads[i] * step + states[i] * keep * step : states[i] * step;
    }
    store(state, states);
    store(parameter, values);
  });
}

void sgd(const View& parameter, const View& grad, const View& state, const View& first, const Sgd& options) {
  compute_float({parameter.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(parameter), states = load<T>(state), fresh = load<T>(first, parameter.dims);
    auto grads = load<T>(grad, parameter.dims);
    const T step = static_cast<T>(options.rate), keep = static_cast<T>(options.momentum);
    for (size_t i = 0; i < values.size(); ++i) {
      grads[i] += static_cast<T>(options.weight_decay) * values[i];
      if (keep > T(0)) {
        states[i] = fresh[i] > T(0) ? grads[i] : states[i] * keep + static_cast<T>(1 - options.dampening) * grads[i];
        grads[i] = options.nesterov ? grads[i] + keep * states[i] : states[i];
      }
      values[i] -= step * grads[i];
    }
    store(state, states);
    store(parameter, values);
    if (first.dims == parameter.dims) store(first, std::vector<T>(fresh.size(), T(0)));
  });
}

void adam(const View& parameter, const View& mean, const View& square, const View& grad, const Adam& options) {
  compute_float({parameter.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(parameter), means = load<T>(mean), squares = load<T>(square);
    const auto grads = load<T>(grad, parameter.dims);
    const T beta1 = static_cast<T>(options.beta1), beta2 = static_cast<T>(options.beta2);
    const T step = static_cast<T>(options.rate * std::sqrt(1 - options.beta2_power) / (1 - options.beta1_power));
    for (size_t i = 0; i < values.size(); ++i) {
      means[i] += (grads[i] - means[i]) * (T(1) - beta1);
      squares[i] += (grads[i] * grads[i] - squares[i]) * (T(1) - beta2);
      const T direction = options.nesterov ? means[i] * beta1 + (T(1) - beta1) * grads[i] : means[i];
      values[i] -= step * direction / (std::sqrt(squares[i]) + static_cast<T>(options.epsilon));
    }
    store(mean, means);
    store(square, squares);
    store(parameter, values);
  });
}

}  // namespace jumar::kernels
