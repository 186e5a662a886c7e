// An operator on shapes: its meta kernel says what would come out, torch_npu's allocator gives the memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

#include "values.h"

namespace jumar::dry {

class Shaped {
 public:
  Shaped(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

  // False: the operator has no shape function. Errors of the program (shapes that do not fit) are thrown.
  bool run(const c10::OperatorHandle& target);
  // The sizes of what would come out and did not go in.
  bool results_are_small() const;
  // Puts results into the place of the arguments: fresh ones are allocated and unknown, changed ones become unknown.
  void finish(torch::jit::Stack* stack);

 private:
  struct Pair {
    at::Tensor real, meta;
  };

  c10::IValue to_meta(const c10::IValue& value);
  at::Tensor to_meta(const at::Tensor& tensor);
  c10::IValue to_real(const c10::IValue& value);
  at::Tensor to_real(const at::Tensor& meta);
  at::Tensor allocated(const at::Tensor& meta);

  const c10::OperatorHandle& op_;
  torch::jit::Stack stack_;
  std::vector<Pair> tensors_;
  std::vector<std::pair<c10::StorageImpl*, c10::Storage>> storages_;
  c10::Device device_;
  bool has_device_ = false;
};

}  // namespace jumar::dry
