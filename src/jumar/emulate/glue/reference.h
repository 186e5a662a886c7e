// Operators without a CPU kernel (npu::, atb:: and a few of aten::): the boxed kernel that finds its reference implementation
// (jumar.emulate.torch_ops) on first use.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>

#include <atomic>
#include <string>

#include "plan.h"

namespace jumar {

// Defines the operator `jumar_npu::NAME` (`jumar_SPACE::NAME` for one of another namespace) with a CPU kernel: 0, or -1
// with the reason.
using LoadReference = int (*)(const char* name, char* message, size_t room);

class Reference final : public c10::OperatorKernel {
 public:
  Reference(std::string name, const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  const c10::OperatorHandle& target();

  const std::string name_;  // with the overload; without the namespace when it is npu
  const Plan plan_;
  std::atomic<const c10::OperatorHandle*> target_{nullptr};
};

// Takes over torch_npu's own operators, those of ATB included; "npu NAME" or "npu-own NAME" per operator is added to
// `report`, with the namespace when it is not npu.
void take_over_npu(LoadReference load, std::string& report);

// The same for the operators that a companion of torch_npu has registered for the card in this namespace.
void take_over_space(const std::string& space, std::string& report);

}  // namespace jumar
