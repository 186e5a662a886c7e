// Softmax of half precision that answers in float32: devices have it in one kernel, the CPU refuses it.
#pragma once

#include "kernel.h"

namespace jumar {

class Softmax final : public c10::OperatorKernel {
 public:
  explicit Softmax(Plan plan) : kernel_(std::move(plan)) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  Kernel kernel_;
};

}  // namespace jumar
