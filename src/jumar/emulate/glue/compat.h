// Where the headers of torch and torch_npu differ between 2.1 and 2.14: asked of the headers themselves, never of a
// version number, so that a release nobody has seen yet is met by what it has.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace jumar {

// An element of a `Tensor?[]`: std::optional once c10::optional is only another name of it.
using MaybeTensor = decltype(std::declval<c10::IValue&>().toOptional<at::Tensor>());

// Older factories of storages allocate their memory themselves and are given ours afterwards.
template <class Create>
c10::intrusive_ptr<c10::StorageImpl> create_storage(Create create, size_t bytes, c10::DataPtr memory,
                                                    c10::Allocator* allocator) {
  constexpr auto kBytes = c10::StorageImpl::use_byte_size_t();
  if constexpr (std::is_invocable_v<Create, c10::StorageImpl::use_byte_size_t, size_t, c10::DataPtr, c10::Allocator*,
                                    bool>) {
    return create(kBytes, bytes, std::move(memory), allocator, true);
  } else {
    auto storage = create(kBytes, 0, allocator, true);
    storage->set_data_ptr_noswap(std::move(memory));
    storage->set_nbytes(bytes);
    return storage;
  }
}

// State of a card's generator for one call. Releases without graphs know no other state than the numbers themselves.
struct Philox {
  uint64_t seed = 0, offset = 0;
  const int64_t* seed_in_graph = nullptr;
  const int64_t* offset_in_graph = nullptr;
};

template <class Generator>
Philox next_philox(Generator& generator, uint64_t step) {
  const auto state = generator.philox_npu_state(step);
  if constexpr (requires { state.seed_.ptr; }) {
    if (state.captured_)
      return {0, state.offset_intragraph_, static_cast<const int64_t*>(state.seed_.ptr->const_data_ptr()),
              static_cast<const int64_t*>(state.offset_.ptr->const_data_ptr())};
    return {state.seed_.val, state.offset_.val};
  } else {
    return {state.seed_, state.offset_.val};
  }
}

// The CPU has no kernel for the type of a call; before 2.2 the error has no class of its own.
inline bool is_missing_kernel(const c10::Error& error) {
  return dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr ||
         std::strstr(error.what_without_backtrace(), " not implemented for '") != nullptr;
}

// The vendor's headers declare the function from CANN 8.5 on; under a name of ours it does not meet their declaration.
struct MemoryPlace {
  uint32_t device = 0;
  int32_t kind = 0;
  uint32_t page = 0, reserved[4] = {};
};
extern "C" int32_t jumar_memory_place(const void* memory, MemoryPlace* place) __asm__("aclrtPointerGetAttributes");

inline bool is_device_memory(const void* memory) {
  constexpr int32_t kDevice = 1;
  MemoryPlace place;
  return jumar_memory_place(memory, &place) == 0 && place.kind == kDevice;
}

}  // namespace jumar
