// Operators on a stream that is captured into an NPU graph: kept with their arguments, to be run again by a replay.
#pragma once

#include <ATen/core/stack.h>

#include <memory>
#include <optional>

#include "plan.h"
#include "random.h"

namespace jumar {

// One call. Tensors of the card are kept as memory only: as on a device, the graph's pool or the program owns it.
class Captured {
 public:
  Captured(const Plan& plan, const c10::OperatorHandle& op, const c10::OperatorHandle& target, c10::Device device,
           void* stream, const torch::jit::Stack& stack, bool blocks);
  // What the call draws its random numbers from, when it was asked for.
  void set_seed(Seed seed) { seed_ = seed; }
  // After the call, with its results on the stack: hands itself over to the graph.
  static void finish(std::unique_ptr<Captured> call, const torch::jit::Stack& stack);
  void run() const;

 private:
  void keep_written() const;

  const Plan& plan_;  // of the kernel, which lives as long as the process
  const c10::OperatorHandle op_, target_;
  const c10::Device device_;
  void* const stream_;
  torch::jit::Stack arguments_;
  std::vector<at::Tensor> results_;
  std::optional<Seed> seed_;
};

// The stream when what the card does now is captured, otherwise nullptr.
void* captured_stream(c10::Device device);

}  // namespace jumar
