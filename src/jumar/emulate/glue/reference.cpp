#include "reference.h"

#include <torch/library.h>

#include <memory>

#include "kernel.h"
#include "operators.h"

namespace jumar {
namespace {

LoadReference load_reference = nullptr;

// Tags of torch_npu's schemas do not say it: implementations that keep the seed draw from it themselves.
Plan reference_plan(const c10::OperatorHandle& op) {
  Plan plan = make_plan(op);
  plan.random = facts_of(op.operator_name()).random;
  plan.computing.host_work = true;  // a fused kernel of the chip does not keep the parts of our formula
  return plan;
}

}  // namespace

Reference::Reference(std::string name, const c10::OperatorHandle& op)
    : name_(std::move(name)), plan_(reference_plan(op)) {}

const c10::OperatorHandle& Reference::target() {
  if (const auto* found = target_.load(std::memory_order_acquire)) return *found;
  char message[1024] = "";
  const int loaded = load_reference(name_.c_str(), message, sizeof message);
  TORCH_CHECK_NOT_IMPLEMENTED(loaded >= 0, message);
  const std::string full = "jumar_" + (name_.find("::") != std::string::npos ? name_ : "npu::" + name_);
  const size_t dot = full.find('.');
  const std::string overload = dot == std::string::npos ? "" : full.substr(dot + 1);
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(full.substr(0, dot).c_str(), overload.c_str());
  const auto* kept = new c10::OperatorHandle(handle);  // kernels live as long as the process
  target_.store(kept, std::memory_order_release);
  return *kept;
}

void Reference::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const auto& found = target();
  execute(plan_, op, found, stack);
}

void take_over_space(const std::string& space, std::string& report) {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::unique_ptr<torch::Library> library;
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind(space + "::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    const std::string base = name.name.substr(space.size() + 2);
    const std::string shown = (space == "npu" ? base : name.name) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    const bool own = facts_of(name).carried == Carried::kTorchNpu;
    report += (own ? "npu-own " : "npu ") + shown + "\n";
    if (own) continue;
    if (library == nullptr)
      library = std::make_unique<torch::Library>(torch::Library::IMPL, space, c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    const std::string full = base + (name.overload_name.empty() ? "" : "." + name.overload_name);
    library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Reference>(shown, *op)));
  }
  library.release();  // kernels live as long as the process
}

void take_over_npu(LoadReference load, std::string& report) {
  load_reference = load;
  for (const char* space : {"npu", "atb"}) take_over_space(space, report);
}

}  // namespace jumar
