// Which tensors hold values that were really computed, and which are only shapes over untouched memory.
//
// The mark lies in the storage itself, so views share it and it ends with the memory: `received_cuda`, a bit of every
// StorageImpl that only CUDA's sharing between processes uses.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>

namespace jumar::dry {

// Elements up to which values are computed, by what they are.
struct Lines {
  int64_t floats = 64 << 10;
  int64_t integers = 4 << 20;
  int64_t host = 4 << 20;
  int64_t exchanged = 512 << 10;  // bytes of a collective, as native/hccl/alone.h
};

Lines& lines();

// Of an emulated run that is only recorded.
inline bool computes_all() { return lines().host == std::numeric_limits<int64_t>::max(); }

inline bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage() && !tensor.is_quantized();
}

inline bool is_unknown(const at::Tensor& tensor) {
  return is_plain(tensor) && tensor.storage().unsafeGetStorageImpl()->received_cuda();
}

inline void set_unknown(const at::Tensor& tensor, bool unknown) {
  if (is_plain(tensor)) tensor.storage().unsafeGetStorageImpl()->set_received_cuda(unknown);
}

inline bool covers_storage(const at::Tensor& tensor) {
  return is_plain(tensor) && tensor.is_non_overlapping_and_dense() && tensor.nbytes() == tensor.storage().nbytes();
}

inline bool is_small(const at::Tensor& tensor) {
  const bool integral = c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
  return tensor.numel() <= (integral ? lines().integers : lines().floats);
}

}  // namespace jumar::dry
