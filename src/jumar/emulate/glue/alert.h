// Alerts of deterministic mode: those of CPU kernels say nothing about the card.
#pragma once

#include <c10/util/Exception.h>

#include <memory>
#include <optional>

namespace jumar {

// While it lives, a CPU kernel without a deterministic implementation neither raises nor warns on this thread: no
// kernel of torch_npu does (it has no `alertNotDeterministic`). Deterministic mode itself stays on.
class NoAlerts {
 public:
  NoAlerts();
  ~NoAlerts();
  NoAlerts(const NoAlerts&) = delete;
  NoAlerts& operator=(const NoAlerts&) = delete;

 private:
  std::unique_ptr<c10::WarningHandler> filter_;
  std::optional<c10::WarningUtils::WarningHandlerGuard> guard_;
};

}  // namespace jumar
