#include "alert.h"

#include <ATen/Context.h>

#include <mutex>
#include <string>

namespace jumar {
namespace {

// Passes on everything else.
class Filter final : public c10::WarningHandler {
 public:
  explicit Filter(c10::WarningHandler* next) : next_(next) {}
  void process(const c10::Warning& warning) override {
    if (std::string(warning.msg()).find(" does not have a deterministic implementation") == std::string::npos)
      next_->process(warning);
  }

 private:
  c10::WarningHandler* next_;
};

// torch keeps the mode for the whole process: the first call turns errors into warnings, the last one turns them back.
std::mutex lock;
int calls = 0;
bool raises = false;

}  // namespace

NoAlerts::NoAlerts() {
  auto& context = at::globalContext();
  if (!context.deterministicAlgorithms()) return;
  filter_ = std::make_unique<Filter>(c10::WarningUtils::get_warning_handler());
  guard_.emplace(filter_.get());
  const std::lock_guard<std::mutex> guard(lock);
  if (calls++ != 0) return;
  raises = !context.deterministicAlgorithmsWarnOnly();
  if (raises) context.setDeterministicAlgorithms(true, true);
}

NoAlerts::~NoAlerts() {
  if (filter_ == nullptr) return;
  const std::lock_guard<std::mutex> guard(lock);
  auto& context = at::globalContext();
  if (--calls == 0 && raises && context.deterministicAlgorithms()) context.setDeterministicAlgorithms(true, false);
}

}  // namespace jumar
