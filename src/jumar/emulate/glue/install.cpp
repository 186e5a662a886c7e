// Takes over the operators: asks the dispatcher which ones torch_npu registers, and puts a Kernel in their place.
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "kernel.h"
#include "memory.h"
#include "plan.h"
#include "reference.h"
#include "softmax.h"

namespace jumar {
namespace {

// Allocation, metadata and streams: torch_npu's own kernels do these without an operator of the device.
const std::set<std::string> kLeft = {
    "_pin_memory", "_reshape_alias", "alias",  "as_strided",   "as_strided_", "empty",        "empty_like",
    "empty_strided", "is_pinned",    "is_set_to", "new_empty_strided", "record_stream", "resize_", "resize_as_",
    "set_",        "squeeze",        "unfold", "unsqueeze",    "view",        "view_as_complex", "view_as_real",
    "contiguous",  "_copy_from_and_resize", "to_padded_tensor",
    // These make a quantised tensor of the card and call an NPU-only operator for its numbers.
    "quantize_per_channel", "quantize_per_tensor",
};

// The CPU kernel lacks data types or asserts; a reference implementation stands in (jumar.emulate.ops.aten_*).
const std::set<std::string> kReferenced = {"_add_relu", "_add_relu_"};

// torch_npu's versions cast through NPU-only operators; the general ones allocate and copy.
const std::set<std::string> kDecomposed = {"_to_copy"};

// Composite operators that torch_npu must keep: their NPU-only operators are emulated (jumar.emulate.ops).
const std::set<std::string> kKeptComposite = {"cdist", "contiguous", "scaled_dot_product_attention"};

class Quiet final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}  // "overriding a previously registered kernel": it is what we do
};

bool has_cpu_kernel(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

torch::CppFunction kernel_for(const c10::OperatorHandle& op) {
  if (kDecomposed.count(op.operator_name().name.substr(6)) != 0)
    return torch::CppFunction::makeFromBoxedFunctor(
        std::make_unique<Decomposed>(make_plan(op), c10::DispatchKeySet(c10::DispatchKey::CPU)));
  if (op.operator_name().overload_name.empty() && is_softmax(op.operator_name().name.substr(6)))
    return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Softmax>(make_plan(op)));
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(make_plan(op)));
}

// One line per operator: "native NAME", "own NAME" (left to torch_npu), "reference NAME" (no CPU kernel:
// jumar.emulate.ops, or a refusal) or "composed NAME" (differentiated by torch's own composition).
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
    if (name.name.rfind("aten::", 0) != 0 || kKeptComposite.count(name.name.substr(6)) != 0) continue;
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
    const std::string base = name.name.substr(6);
    const bool own = kLeft.count(base) != 0, native = kReferenced.count(base) == 0 && has_cpu_kernel(*op);
    report() += (own ? "own " : native ? "native " : "reference ") + full + "\n";
    if (own) continue;
    library->impl(full.c_str(), native ? kernel_for(*op)
                                       : torch::CppFunction::makeFromBoxedFunctor(
                                             std::make_unique<Reference>("aten::" + full, make_plan(*op))));
    ++count;
  }
  return count;
}

}  // namespace
}  // namespace jumar

// Called by load.py through ctypes: the number of operators, or -1 with the reason in `message`.
extern "C" __attribute__((visibility("default"))) int jumar_glue_install(int bfloat16, jumar::LoadReference load,
                                                                         char* message, size_t room) {
  try {
    jumar::Quiet quiet;
    const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    jumar::set_bfloat16(bfloat16 != 0);
    jumar::install_allocator();
    jumar::take_over_composites();
    jumar::take_over_npu(load, jumar::report());
    return jumar::take_over();
  } catch (const std::exception& error) {
    std::snprintf(message, room, "%s", error.what());
    return -1;
  }
}

extern "C" __attribute__((visibility("default"))) const char* jumar_glue_report() { return jumar::report().c_str(); }
