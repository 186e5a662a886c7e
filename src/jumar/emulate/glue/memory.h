// Memory that the CPU kernel of an NPU operator allocates comes from torch_npu's own caching allocator.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

namespace jumar {

void install_allocator();

// While one exists, CPU allocations of this thread are device memory.
class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
};

// Makes the memory of a CPU storage that of `device`, without a copy where it is device memory already.
c10::DataPtr take_memory(c10::StorageImpl& storage, c10::Device device);

}  // namespace jumar
