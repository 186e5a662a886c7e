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

uint64_t next_seed(const std::optional<at::Generator>& npu, c10::Device device) {
  at::Generator generator =
      npu.has_value() && npu->defined() ? *npu : at_npu::detail::getDefaultNPUGenerator(device.index());
  auto* impl = static_cast<at_npu::NPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl());
  std::lock_guard<std::mutex> guard(impl->mutex_);
  const auto state = impl->philox_engine_inputs(kStep);
  return mix(state.first, state.second);
}

std::recursive_mutex& standing_in() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

}  // namespace

at::Generator next_generator(const std::optional<at::Generator>& npu, c10::Device device) {
  TORCH_CHECK(!npu.has_value() || !npu->defined() || npu->device().type() == c10::DeviceType::PrivateUse1,
              "Expected a 'npu' device type for generator but found '", npu->device().type(), "'");
  return at::make_generator<at::CPUGeneratorImpl>(next_seed(npu, device));
}

DefaultGenerator::DefaultGenerator(c10::Device device) : alone_(standing_in()) {
  at::Generator cpu = at::detail::getDefaultCPUGenerator();
  const uint64_t seed = next_seed(std::nullopt, device);
  std::lock_guard<std::mutex> guard(cpu.mutex());
  before_ = cpu.get_state();
  cpu.set_current_seed(seed);
}

DefaultGenerator::~DefaultGenerator() {
  at::Generator cpu = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> guard(cpu.mutex());
  cpu.set_state(before_);
}

}  // namespace jumar
