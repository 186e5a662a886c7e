// Takes over the operators: asks the dispatcher which ones torch_npu registers, and puts a Kernel in their place.
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdio>
#include <memory>
#include <string>

#include "kernel.h"
#include "memory.h"
#include "operators.h"
#include "plan.h"
#include "reference.h"
#include "softmax.h"
#include "strict.h"

namespace jumar {
namespace {

class Quiet final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}  // "overriding a previously registered kernel": it is what we do
};

bool has_cpu_kernel(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

// Older torch_npu puts kernels in front of compositions and leaves the derivative to their parts.
bool is_composition(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::AutogradPrivateUse1) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

torch::CppFunction kernel_for(const c10::OperatorHandle& op, Carried carried) {
  if (is_composition(op))
    return torch::CppFunction::makeFromBoxedFunctor(
        std::make_unique<Decomposed>(make_plan(op), c10::DispatchKeySet(c10::DispatchKey::CPU)));
  if (carried == Carried::kSoftmax)
    return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Softmax>(make_plan(op)));
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(make_plan(op)));
}

// One line per operator: "native NAME", "own NAME" (left to torch_npu), "reference NAME" (no CPU kernel:
// jumar.emulate.torch_ops, or a refusal) or "composed NAME" (differentiated by torch's own composition).
std::string& report() {
  static auto* const text = new std::string;
  return *text;
}

// torch_npu differentiates some composite operators itself, through kernels the CPU does not have (matmul_backward,
// the fused LSTM). torch's own composition gives the same numbers as on the CPU, gradients included.
void take_over_composites() {
  static auto* const library =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0 || facts_of(name).keeps_autograd) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::AutogradPrivateUse1)) continue;
    const bool implicit = op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    const bool with_formula = op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) &&
                              op->hasKernelForDispatchKey(c10::DispatchKey::Autograd);
    if (!implicit && !with_formula) continue;
    const std::string full = name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    report() += "composed " + full + "\n";
    // torch's derivative formula, followed by the composition: both are those of AutogradCPU and CPU.
    const c10::DispatchKeySet keys = implicit ? c10::DispatchKeySet(c10::DispatchKey::CPU)
                                              : c10::DispatchKeySet({c10::DispatchKey::AutogradCPU, c10::DispatchKey::CPU});
    library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Decomposed>(make_plan(*op), keys)));
  }
}

int take_over() {
  static auto* const library =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  int count = 0;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    const std::string full = name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    const Carried carried = facts_of(name).carried;
    const bool own = carried == Carried::kTorchNpu, native = carried != Carried::kReference && has_cpu_kernel(*op);
    report() += (own ? "own " : native ? "native " : "reference ") + full + "\n";
    if (own) continue;
    library->impl(full.c_str(), native ? kernel_for(*op, carried)
                                       : torch::CppFunction::makeFromBoxedFunctor(
                                             std::make_unique<Reference>("aten::" + full, *op)));
    ++count;
  }
  return count;
}

}  // namespace
}  // namespace jumar

// Called by load.py through ctypes: the number of operators, or -1 with the reason in `message`.
extern "C" __attribute__((visibility("default"))) int jumar_glue_install(int bfloat16, int chip, jumar::LoadReference load,
                                                                         char* message, size_t room) {
  try {
    jumar::Quiet quiet;
    const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    jumar::set_bfloat16(bfloat16 != 0);
    jumar::set_chip(static_cast<jumar::Chip>(chip));
    jumar::install_allocator();
    jumar::take_over_composites();
    jumar::take_over_npu(load, jumar::report());
    return jumar::take_over();
  } catch (const std::exception& error) {
    std::snprintf(message, room, "%s", error.what());
    return -1;
  }
}

// Called when an installed glue meets a further namespace: 0, or -1 with the reason in `message`.
extern "C" __attribute__((visibility("default"))) int jumar_glue_take_over(const char* space, char* message, size_t room) {
  try {
    jumar::Quiet quiet;
    const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    jumar::take_over_space(space, jumar::report());
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(message, room, "%s", error.what());
    return -1;
  }
}

extern "C" __attribute__((visibility("default"))) const char* jumar_glue_report() { return jumar::report().c_str(); }
