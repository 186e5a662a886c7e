#include "random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>

#include <mutex>

#include "torch_npu/csrc/aten/NPUGeneratorImpl.h"

namespace jumar {
namespace {

// Every call moves the generator by the same step: more than any device kernel needs is not asked for.
constexpr uint64_t kStep = 4;

uint64_t mix(uint64_t seed, uint64_t offset) {
  uint64_t value = seed + 0x9e3779b97f4a7c15ULL * (offset / kStep + 1);
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::recursive_mutex& standing_in() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

}  // namespace

Seed Seed::next(const std::optional<at::Generator>& npu, c10::Device device) {
  TORCH_CHECK(!npu.has_value() || !npu->defined() || npu->device().type() == c10::DeviceType::PrivateUse1,
              "Expected a 'npu' device type for generator but found '", npu->device().type(), "'");
  at::Generator generator =
      npu.has_value() && npu->defined() ? *npu : at_npu::detail::getDefaultNPUGenerator(device.index());
  auto* impl = static_cast<at_npu::NPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl());
  std::lock_guard<std::mutex> guard(impl->mutex_);
  return Seed(next_philox(*impl, kStep));
}

uint64_t Seed::value() const {
  if (state_.seed_in_graph == nullptr) return mix(state_.seed, state_.offset);
  return mix(static_cast<uint64_t>(*state_.seed_in_graph), static_cast<uint64_t>(*state_.offset_in_graph) + state_.offset);
}

at::Generator generator_for(const Seed& seed) { return at::make_generator<at::CPUGeneratorImpl>(seed.value()); }

DefaultGenerator::DefaultGenerator(const Seed& seed) : alone_(standing_in()) {
  at::Generator cpu = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> guard(cpu.mutex());
  before_ = cpu.get_state();
  cpu.set_current_seed(seed.value());
}

DefaultGenerator::~DefaultGenerator() {
  at::Generator cpu = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> guard(cpu.mutex());
  cpu.set_state(before_);
}

}  // namespace jumar
