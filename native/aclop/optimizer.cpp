// Operators by type that update parameters. The output is the parameter itself: callers give it the same memory.
#include "kernels/optimizer.h"

#include <cmath>

#include "aclop/run.h"
#include "kernels/layout.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

// Some forms of an operator hand out its state too, in the order of its inputs.
void hand_out(const Arguments& a) {
  for (size_t i = 0; i < a.outputs(); ++i)
    if (a.out(i).data != a.in(i).data) copy(a.in(i), a.out(i));
}

void apply_momentum(const Arguments& a) {
  momentum(a.in(0), a.in(1), a.number_in(2), a.in(3), a.number_in(4), a.number("use_nesterov", 0) != 0);
  hand_out(a);
}

void apply_sgd(const Arguments& a) {
  sgd(a.in(0), a.in(1), a.in(3), a.in(5),
      {a.number_in(2), a.number_in(4), a.number("dampening", 0), a.number("weight_decay", 0), a.number("nesterov", 0) != 0});
  hand_out(a);
}

void apply_adam(const Arguments& a) {
  Adam options{};
  options.beta1_power = a.number_in(3), options.beta2_power = a.number_in(4);
  options.rate = a.number_in(5), options.beta1 = a.number_in(6), options.beta2 = a.number_in(7);
  options.epsilon = a.number_in(8);
  options.nesterov = a.number("use_nesterov", 0) != 0;
  adam(a.in(0), a.in(1), a.in(2), a.in(9), options);
  hand_out(a);
}

// Inputs: gradient, mean of squares, mean, parameter, rate; factors 1-β1.. in the order m, g, v, g², decay; epsilon.
void adam_with_decay(const Arguments& a) {
  const View parameter = a.in(3);
  const auto factor = [&](size_t index) { return static_cast<float>(a.number_in(index)); };
  const auto grads = load<float>(a.in(0), parameter.dims);
  auto squares = load<float>(a.in(1)), means = load<float>(a.in(2)), values = load<float>(parameter);
  const float rate = factor(4), keep_mean = factor(5), add_mean = factor(6), keep_square = factor(7),
              add_square = factor(8), decay = factor(9), epsilon = factor(10);
  for (size_t i = 0; i < values.size(); ++i) {
    means[i] = keep_mean * means[i] + add_mean * grads[i];
    squares[i] = keep_square * squares[i] + add_square * grads[i] * grads[i];
    values[i] -= rate * (decay * values[i] + means[i] / (std::sqrt(squares[i]) + epsilon));
  }
  store(a.out(0), squares);
  store(a.out(1), means);
  store(a.out(2), values);
}

}  // namespace

const std::vector<Entry> kOptimizers = {
    {"AdamApplyOneWithDecay", adam_with_decay},
    {"AdamApplyOneWithDecayAssign", adam_with_decay},
    {"ApplyAdam", apply_adam},
    {"ApplyAdamD", apply_adam},
    {"ApplyMomentum", apply_momentum},
    {"ApplyMomentumD", apply_momentum},
    {"SGD", apply_sgd},
};

}  // namespace jumar::aclop
