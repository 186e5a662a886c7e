#include "reference.h"

#include <torch/library.h>

#include <memory>
#include <set>

#include "kernel.h"

namespace jumar {
namespace {

// torch_npu's own kernels do these without an operator of the device, by one that the stand-ins have, or by calling
// other npu:: operators above autograd, which must stay visible to it.
const std::set<std::string> kOwn = {
    "_npu_dtype_cast_backward",
    "_npu_format_cast",
    "_npu_silent_check_v2",
    "_npu_silent_check_v3",
    "copy_memory_",
    "dropout_with_byte_mask",
    "empty_with_format",
    "empty_with_swapped_memory",
    "get_npu_format",
    "get_storage_size",
    "npu_change_data_ptr",
    "npu_ciou",
    "npu_dropout_gen_mask",
    "npu_dtype_cast_backward",
    "npu_format_cast",
    "npu_format_cast_",
    "npu_fused_attention_score",
    "npu_moe_token_unpermute",
    "npu_moe_token_unpermute_with_routing_map",
    "print_npugraph_tensor",
    "save_npugraph_tensor",
    "set_op_timeout_ms",
    "super_kernel_scope_begin",
    "super_kernel_scope_end",
    "unsafe_empty_with_format",
};

LoadReference load_reference = nullptr;

}  // namespace

const c10::OperatorHandle& Reference::target() {
  if (const auto* found = target_.load(std::memory_order_acquire)) return *found;
  char message[1024] = "";
  const int loaded = load_reference(name_.c_str(), message, sizeof message);
  TORCH_CHECK_NOT_IMPLEMENTED(loaded >= 0, message);
  // Tags of torch_npu's schemas do not say it: implementations that keep the seed draw it themselves.
  plan_.random = loaded == 1;
  // Lengths and seeds of this one are host tensors, on the device as well.
  if (name_.rfind("npu_fusion_attention", 0) == 0 && name_.find("_v3") != std::string::npos) plan_.same_device = false;
  const std::string full = "jumar_" + (name_.rfind("aten::", 0) == 0 ? name_ : "npu::" + name_);
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

void take_over_npu(LoadReference load, std::string& report) {
  load_reference = load;
  static auto* const library =
      new torch::Library(torch::Library::IMPL, "npu", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("npu::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    const std::string base = name.name.substr(5);
    const std::string full = base + (name.overload_name.empty() ? "" : "." + name.overload_name);
    const bool own = kOwn.count(base) != 0;
    report += (own ? "npu-own " : "npu ") + full + "\n";
    if (own) continue;
    library->impl(full.c_str(),
                  torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Reference>(full, make_plan(*op))));
  }
}

}  // namespace jumar
