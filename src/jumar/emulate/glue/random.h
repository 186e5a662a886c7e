// Random numbers of an emulated card: drawn by the CPU's engine, from the state of the card's own generator.
#pragma once

#include <ATen/core/Generator.h>

#include <mutex>
#include <optional>

namespace jumar {

// A CPU generator for one operator call, made from seed and offset of the NPU generator, which moves on.
at::Generator next_generator(const std::optional<at::Generator>& npu, c10::Device device);

// For operators without a generator argument: the CPU's default generator stands in and is put back afterwards.
// One call at a time, or one would put back the state of another.
class DefaultGenerator {
 public:
  explicit DefaultGenerator(c10::Device device);
  ~DefaultGenerator();

 private:
  std::unique_lock<std::recursive_mutex> alone_;
  at::Tensor before_;
};

}  // namespace jumar
