#include "strict.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/ForeachUtils.h>
#include <c10/util/Exception.h>

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

namespace jumar {
namespace {

Chip chip = Chip::k910B;

// The first tensor with storage of a call, alone or the first of a list; nullopt when there is none.
std::optional<at::Tensor> first_tensor(const Plan& plan, const torch::jit::Stack& stack) {
  const size_t first = stack.size() - plan.arguments.size();
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    const c10::IValue& value = stack[first + i];
    if (plan.arguments[i] == Kind::kTensor && value.isTensor() && value.toTensor().defined()) return value.toTensor();
    if (plan.arguments[i] == Kind::kTensors && value.isTensorList() && !value.toTensorList().empty())
      return value.toTensorList().get(0);
  }
  return std::nullopt;
}

bool has(uint64_t types, at::ScalarType type) { return (types >> static_cast<int>(type) & 1u) != 0; }

// torch_npu sends lists that differ among themselves to torch's loop, which takes every type.
bool takes_loop(const Plan& plan, const torch::jit::Stack& stack) {
  std::vector<std::vector<at::Tensor>> lists;
  std::vector<at::Scalar> scalars;
  const size_t first = stack.size() - plan.arguments.size();
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    const c10::IValue& value = stack[first + i];
    if (value.isTensorList()) lists.push_back(value.toTensorVector());
    if (value.isScalar()) scalars.push_back(value.toScalar());
  }
  const std::vector<at::TensorList> views(lists.begin(), lists.end());
  return !views.empty() && !at::native::can_use_fast_route(views, scalars);
}

long number(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? -1L : std::strtol(text, nullptr, 10);
}

// In torch_npu's words, with the line that it adds to errors that have a code.
[[noreturn]] void refuse(const Strictness& strict, const at::Tensor& tensor) {
  std::ostringstream text;
  const size_t gap = strict.refusal.find("{}");
  text << strict.refusal.substr(0, gap);
  if (gap != std::string_view::npos) text << tensor.dtype() << strict.refusal.substr(gap + 2);
  if (!strict.error.empty()) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    text << "\n[ERROR] " << std::put_time(localtime_r(&now, &local), "%Y-%m-%d-%H:%M:%S") << " (PID:" << getpid()
         << ", Device:" << int{tensor.device().index()} << ", RankID:" << number("RANK") << ") " << strict.error;
  }
  TORCH_CHECK(false, text.str());
}

// As torch_npu: the first rank speaks, unless the user switched its warnings off.
bool is_quiet() {
  const bool renamed = std::getenv("TORCH_NPU_WARNING_DISABLE") != nullptr;
  return number(renamed ? "TORCH_NPU_WARNING_DISABLE" : "TORCH_NPU_DISABLED_WARNING") == 1 || number("RANK") > 0;
}

bool is_first(std::string_view warning) {
  static std::mutex lock;
  static auto* const given = new std::set<std::string_view>;
  const std::lock_guard<std::mutex> guard(lock);
  return given->insert(warning).second;
}

// torch_npu writes its own warnings to stderr and lets them be switched off (TORCH_NPU_WARN_ONCE); what it says through
// torch (TORCH_WARN_ONCE) is a warning of Python.
void warn_once(const Strictness& strict, bool through_torch) {
  static const bool quiet = is_quiet();
  if (!is_first(strict.warning) || (quiet && !through_torch)) return;
  const auto& place = *new std::string(strict.source);  // kept: torch reads it when the call returns to Python
  const size_t colon = place.rfind(':');
  const auto& file = *new std::string(place, 0, colon);
  const auto line = static_cast<uint32_t>(std::strtoul(place.c_str() + colon + 1, nullptr, 10));
  const c10::Warning warning(c10::UserWarning(), {"operator()", file.c_str(), line}, std::string(strict.warning), false);
  through_torch ? c10::warn(warning) : c10::WarningHandler().process(warning);
}

Changes changes_of(const Plan& plan, const torch::jit::Stack& stack) {
  Changes changes{plan.strictness.int32_results, plan.strictness.transposed_results};
  if (plan.transposed_unless >= 0 &&
      stack[stack.size() - plan.arguments.size() + static_cast<size_t>(plan.transposed_unless)].toBool())
    changes.transposed = 0;
  return changes;
}

}  // namespace

void set_chip(Chip emulated) { chip = emulated; }
Chip emulated_chip() { return chip; }

Changes refuse_or_warn(const Plan& plan, const torch::jit::Stack& stack) {
  const Strictness& strict = plan.strictness;
  if (strict.source.empty()) return {};
  const std::optional<at::Tensor> tensor = first_tensor(plan, stack);
  if (!tensor.has_value()) return {};
  const at::ScalarType type = tensor->scalar_type();
  if (has(strict.on_cpu, type)) {
    warn_once(strict, true);
    return {};
  }
  if (!strict.refusal.empty() && has(strict.refused, type) && !takes_loop(plan, stack)) refuse(strict, *tensor);
  const bool warns = strict.on_cpu == 0 && !strict.warning.empty();
  if (warns && (strict.warned == 0 || has(strict.warned, type))) warn_once(strict, false);
  return changes_of(plan, stack);
}

void change_results(const Changes& changes, torch::jit::Stack& stack, size_t results) {
  const size_t first = stack.size() - results;
  for (size_t i = 0; i < results; ++i) {
    c10::IValue& value = stack[first + i];
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor tensor = value.toTensor();
    if ((changes.shortened >> i & 1u) != 0 && tensor.scalar_type() == at::kLong) value = tensor.to(at::kInt);
    if ((changes.transposed >> i & 1u) != 0 && tensor.dim() > 1) value = tensor.mT().contiguous().mT();
  }
}

}  // namespace jumar
