#include "ledger.h"

#include <atomic>
#include <map>
#include <thread>

#include "torch_npu/csrc/core/npu/NPUCachingAllocator.h"

namespace jumar::dry {
namespace {

std::thread::id main_thread;
std::atomic<bool> updating{false};
constexpr double kNoticed = 1.002;  // a peak is worth a look at the program's place when it is so much higher
int64_t noticed = 0;

Phase phase() {
  if (updating) return Phase::kUpdate;
  return std::this_thread::get_id() == main_thread ? Phase::kForward : Phase::kBackward;
}

}  // namespace

Ledger& ledger() {
  static auto* const value = new Ledger;
  return *value;
}

Now& now() {
  thread_local Now value;
  return value;
}

void set_main_thread() { main_thread = std::this_thread::get_id(); }
void set_updating(bool is) { updating = is; }

void Ledger::attach() {
  using Entry = c10_npu::NPUCachingAllocator::TraceEntry;
  c10_npu::NPUCachingAllocator::attachAllocatorTraceTracker([this](const Entry& entry) {
    const std::lock_guard<std::mutex> guard(mutex);
    switch (entry.action_) {
      case Entry::ALLOC:
        return take(entry.addr_, entry.size_, entry.device_);
      case Entry::FREE_REQUESTED:
        return give(entry.addr_);
      default:
        return;
    }
  });
}

void Ledger::take(int64_t address, int64_t size, int device) {
  Now& here = now();
  const auto module = here.modules.empty() ? 0 : here.modules.back();
  live_[address] = static_cast<uint32_t>(allocations.size());
  allocations.push_back({address, size, ++events, 0, module, here.op, 0, static_cast<uint8_t>(phase()), 0,
                         static_cast<uint8_t>(device), static_cast<uint8_t>(std::min<size_t>(steps.size(), 255))});
  allocated += size;
  if (allocated <= peak) return;
  peak = allocated;
  if (static_cast<double>(peak) < kNoticed * static_cast<double>(noticed)) return;
  noticed = peak;
  here.grown = static_cast<int64_t>(allocations.size()) - 1;
}

void Ledger::give(int64_t address) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  Allocation& one = allocations[found->second];
  one.died = ++events;
  allocated -= one.size;
  live_.erase(found);
}

void Ledger::mark(int64_t address, uint8_t owners) {
  const std::lock_guard<std::mutex> guard(mutex);
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  allocations[found->second].owners |= owners;
}

void Ledger::end_step() {
  const std::lock_guard<std::mutex> guard(mutex);
  steps.push_back(events);
  sequence.push_back(0);
}

uint32_t Ledger::number(const std::string& name) {
  const std::lock_guard<std::mutex> guard(mutex);
  const auto [place, added] = numbers_.emplace(name, names.size());
  if (added) names.push_back(name);
  return place->second;
}

void Ledger::called(std::string signature) {
  const std::lock_guard<std::mutex> guard(mutex);
  const auto [place, added] = signature_numbers_.emplace(signature, signatures.size());
  if (added) signatures.push_back(std::move(signature));
  sequence.push_back(place->second);
}

}  // namespace jumar::dry
