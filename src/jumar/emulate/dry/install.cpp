// Puts the dry kernels in front of those of the emulator, and hands the ledger to Python.
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>

#include "kernel.h"
#include "ledger.h"

namespace jumar::dry {
namespace {

class Silent final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

using Key = c10::DispatchKey;

bool is_composition(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(Key::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(Key::AutogradPrivateUse1) && !op.hasKernelForDispatchKey(Key::CPU);
}

bool is_view(const c10::OperatorHandle& op) {
  for (const auto& result : op.schema().returns())
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return true;
  return false;
}

// What torch_npu's own code does: it allocates and makes views; what it copies goes through the dispatcher again.
std::set<std::string>& own_code() {
  static auto* const names = new std::set<std::string>;
  return *names;
}

std::string short_name(const c10::OperatorName& name) {
  return name.name.substr(name.name.find("::") + 2) + (name.overload_name.empty() ? "" : "." + name.overload_name);
}

bool falls_back(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(Key::CPU) && !op.hasKernelForDispatchKey(Key::CompositeExplicitAutograd) &&
         !op.hasKernelForDispatchKey(Key::CompositeExplicitAutogradNonFunctional) &&
         !op.hasKernelForDispatchKey(Key::CompositeImplicitAutograd);
}

}  // namespace

void wrap_space(const std::string& space) {
  auto& dispatcher = c10::Dispatcher::singleton();
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, space, Key::PrivateUse1, __FILE__, __LINE__);
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind(space + "::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !(op->hasKernelForDispatchKey(Key::PrivateUse1) || (space == "aten" && falls_back(*op))))
      continue;
    const std::string full = short_name(name);
    const bool through = own_code().count((space == "aten" ? "" : space == "npu" ? "npu::" : space + "::") + full) != 0;
    const Way way = through || is_composition(*op) || is_view(*op) ? Way::kThrough : Way::kCard;
    library->impl(full.c_str(),
                  torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(*op, Key::PrivateUse1, way)));
  }
  library.release();
}

void wrap_host() {
  auto& dispatcher = c10::Dispatcher::singleton();
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", Key::CPU, __FILE__, __LINE__);
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0 || name.name.rfind("aten::empty", 0) == 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(Key::CPU) || is_view(*op)) continue;
    const std::string full = short_name(name);
    static const std::set<std::string> kLeft = {"resize_", "set_.source_Storage", "set_.source_Storage_storage_offset",
                                                "set_.source_Tensor", "set_", "record_stream", "_local_scalar_dense",
                                                "as_strided_", "resize_as_", "is_set_to", "equal"};
    if (kLeft.count(full) != 0) continue;
    library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(*op, Key::CPU, Way::kHost)));
  }
  library.release();
}

}  // namespace jumar::dry

using namespace jumar::dry;

#define JUMAR_VISIBLE extern "C" __attribute__((visibility("default")))

// Called by dry/load.py through ctypes: 0, or -1 with the reason in `message`. `report` is that of the glue.
JUMAR_VISIBLE int jumar_dry_install(const char* report, const Callbacks* asked, const Lines* chosen, char* message,
                                    size_t room) {
  try {
    Silent quiet;
    const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    std::istringstream text(report);
    for (std::string state, name; text >> state >> name;) {
      if (state == "own") own_code().insert(name);
      if (state == "reference") reference_code().insert("aten::" + name);
      if (state == "npu-own") own_code().insert(name.find("::") == std::string::npos ? "npu::" + name : name);
    }
    callbacks() = *asked;
    lines() = *chosen;
    set_main_thread();
    for (const char* space : {"aten", "npu", "atb"}) wrap_space(space);
    wrap_host();
    wrap_collectives();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(message, room, "%s", error.what());
    return -1;
  }
}

JUMAR_VISIBLE void jumar_dry_attach() { ledger().attach(); }
JUMAR_VISIBLE void jumar_dry_enter(uint32_t module) { now().modules.push_back(module); }
JUMAR_VISIBLE void jumar_dry_leave() {
  if (!now().modules.empty()) now().modules.pop_back();
}
JUMAR_VISIBLE void jumar_dry_mark(int64_t address, int owner) { ledger().mark(address, static_cast<uint8_t>(owner)); }
JUMAR_VISIBLE void jumar_dry_end_step() { ledger().end_step(); }
JUMAR_VISIBLE void jumar_dry_updating(int is) { set_updating(is != 0); }
JUMAR_VISIBLE uint32_t jumar_dry_number(const char* name) { return ledger().number(name); }

JUMAR_VISIBLE size_t jumar_dry_allocations(const Allocation** out) {
  *out = ledger().allocations.data();
  return ledger().allocations.size();
}
JUMAR_VISIBLE size_t jumar_dry_sequence(const uint32_t** out) {
  *out = ledger().sequence.data();
  return ledger().sequence.size();
}
JUMAR_VISIBLE size_t jumar_dry_steps(const uint32_t** out) {
  *out = ledger().steps.data();
  return ledger().steps.size();
}
JUMAR_VISIBLE const char* jumar_dry_names(int which) {
  static auto* const text = new std::string;
  text->clear();
  for (const std::string& name : which == 0 ? ledger().names : ledger().signatures) *text += name + "\n";
  return text->c_str();
}
