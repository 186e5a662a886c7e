// Random numbers of an emulated card: drawn by the CPU's engine, from the state of the card's own generator.
#pragma once

#include <ATen/core/Generator.h>

#include <mutex>
#include <optional>

#include "compat.h"

namespace jumar {

// What one call draws from: seed and offset of a card's generator. In a graph both are read from the memory that
// torch_npu fills in before each replay.
class Seed {
 public:
  // Moves the generator on; without one, that of the card.
  static Seed next(const std::optional<at::Generator>& npu, c10::Device device);
  uint64_t value() const;

 private:
  explicit Seed(Philox state) : state_(state) {}

  Philox state_;
};

// A CPU generator for one operator call.
at::Generator generator_for(const Seed& seed);

// For operators without a generator argument: the CPU's default generator stands in and is put back afterwards.
// One call at a time, or one would put back the state of another.
class DefaultGenerator {
 public:
  explicit DefaultGenerator(const Seed& seed);
  ~DefaultGenerator();

 private:
  std::unique_lock<std::recursive_mutex> alone_;
  at::Tensor before_;
};

}  // namespace jumar
