// One step of an optimizer: parameters and state are changed in place.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

void momentum(const View& parameter, const View& state, double rate, const View& grad, double factor, bool nesterov);

struct Sgd {
  double rate, momentum, dampening, weight_decay;
  bool nesterov;
};
// `first`: one for a state that has not been used yet; set to zero by the step.
void sgd(const View& parameter, const View& grad, const View& state, const View& first, const Sgd& options);

struct Adam {
  double rate, beta1, beta2, epsilon, beta1_power, beta2_power;
  bool nesterov;
};
void adam(const View& parameter, const View& mean, const View& square, const View& grad, const Adam& options);

}  // namespace jumar::kernels
