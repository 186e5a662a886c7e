// Two names for one piece of memory: the NPU tensor a program holds and the CPU tensor a CPU kernel is given.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

namespace jumar {

// The tensors of one operator call. Lives on the stack of the call.
class Aliases {
 public:
  // The CPU tensor for an NPU tensor; the same one for the same tensor, one storage for tensors that share theirs.
  const at::Tensor& to_cpu(const at::Tensor& npu);

  // A program's tensor for what the CPU kernel returned: the argument itself, a view of it, or a new NPU tensor.
  at::Tensor to_npu(at::Tensor cpu, c10::Device device);

  // A kernel may resize what it writes to: carries size and memory of the alias over to the NPU tensor.
  void update(const at::Tensor& npu);

  void pass_through(const at::Tensor& cpu) { host_.push_back(cpu.unsafeGetTensorImpl()); }

 private:
  struct Pair {
    at::Tensor npu, cpu;
  };
  struct StoragePair {
    c10::Storage npu, cpu;
  };
  const c10::Storage& cpu_storage(const c10::Storage& npu);

  c10::SmallVector<Pair, 6> tensors_;
  c10::SmallVector<StoragePair, 6> storages_;
  c10::SmallVector<c10::TensorImpl*, 4> host_;
};

}  // namespace jumar
