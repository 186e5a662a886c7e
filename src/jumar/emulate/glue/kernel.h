// The boxed kernel that takes the place of torch_npu's: same operator, CPU kernel, same memory.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "plan.h"
#include "random.h"

namespace jumar {

// Runs `target` on CPU tensors over the memory of the arguments of `op`, which has the same schema.
void execute(const Plan& plan, const c10::OperatorHandle& op, const c10::OperatorHandle& target,
             torch::jit::Stack* stack);

// The middle of it: CPU tensors in, CPU tensors out. `seed` is set for operators that draw random numbers.
void compute(const Plan& plan, const c10::OperatorHandle& target, const std::optional<Seed>& seed,
             torch::jit::Stack* stack);

class Kernel final : public c10::OperatorKernel {
 public:
  explicit Kernel(Plan plan) : plan_(std::move(plan)) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  void run(const c10::OperatorHandle& op, torch::jit::Stack* stack);

  const Plan plan_;
};

// For operators whose general implementation is made of other operators: those then run on the card.
class Decomposed final : public c10::OperatorKernel {
 public:
  Decomposed(Plan plan, c10::DispatchKeySet keys) : plan_(std::move(plan)), keys_(keys) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack);

 private:
  const Plan plan_;
  const c10::DispatchKeySet keys_;  // where the general implementation is registered
};

void set_bfloat16(bool supported);

}  // namespace jumar
