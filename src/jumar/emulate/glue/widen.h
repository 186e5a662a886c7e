// Data types that a device kernel has and the CPU kernel has not: half precision is computed in float32, and so are
// integers that are drawn, those that are divided in place, and those that only the chip takes.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "plan.h"

namespace jumar {

// The arguments of a call that has such tensors, kept until it is known that the CPU kernel takes them.
class Wider {
 public:
  Wider(const Plan& plan, const torch::jit::Stack& stack);

  // True for an operator that the chip always computes so.
  bool needed() const {
    const Computing& computing = plan_.computing;
    return cut_ || (computing.wide_float16 && narrow_ == at::kHalf) || (computing.wide_bfloat16 && narrow_ == at::kBFloat16);
  }

  // True when there are such tensors, so that the CPU may have a kernel for wider ones.
  bool may_help() const { return narrow_.has_value(); }

  // The same call in float32, at `keys`; results and changed arguments are rounded once, at the end.
  void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  const Plan& plan_;
  const bool cut_;       // integers, divided in place
  const bool integers_;  // are among the types that are widened
  std::optional<at::ScalarType> narrow_;
  std::vector<c10::IValue> arguments_;
};

// The CPU kernel of a norm keeps its statistics in the type of its weight: float32 beside a bfloat16 input, as on the chip.
void widen_parameters(const Plan& plan, const c10::FunctionSchema& schema, torch::jit::Stack& stack);

}  // namespace jumar
