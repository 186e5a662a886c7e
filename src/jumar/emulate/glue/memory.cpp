#include "memory.h"

#include <cstring>

#include "compat.h"

namespace jumar {
namespace {

thread_local int depth = 0;

c10::Allocator* device_allocator() {
  static c10::Allocator* const allocator = c10::GetAllocator(c10::DeviceType::PrivateUse1);
  return allocator;
}

c10::DataPtr as(c10::DataPtr&& memory, c10::Device device) {
  void* data = memory.get();
  const c10::DeleterFnPtr deleter = memory.get_deleter();
  return {data, memory.release_context(), deleter, device};
}

c10::Allocator* host_allocator = nullptr;

// oneDNN allocates raw memory and frees it through raw_deleter, which is not told whose memory it is.
void free_either(void* memory) {
  (is_device_memory(memory) ? device_allocator() : host_allocator)->raw_deleter()(memory);
}

c10::DataPtr allocate_either(size_t bytes) {
  if (depth == 0) return host_allocator->allocate(bytes);
  return as(device_allocator()->allocate(bytes), c10::Device(c10::kCPU));
}

// `allocate` was const once, and `copy_data` is newer than that: no `override`, each torch takes what it declares.
class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) { return allocate_either(bytes); }
  c10::DataPtr allocate(size_t bytes) const { return allocate_either(bytes); }
  c10::DeleterFnPtr raw_deleter() const override { return &free_either; }
  void copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }
};

}  // namespace

DeviceMemory::DeviceMemory() { ++depth; }
DeviceMemory::~DeviceMemory() { --depth; }

void install_allocator() {
  // Storages keep a pointer to the allocator they came from: it is never destroyed.
  static auto* const allocator = new Allocator;
  host_allocator = c10::GetAllocator(c10::DeviceType::CPU);
  c10::SetAllocator(c10::DeviceType::CPU, allocator, /*priority=*/255);
}

c10::DataPtr take_memory(c10::StorageImpl& storage, c10::Device device) {
  c10::DataPtr memory = storage.set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::kCPU)));
  // torch_npu recognises its own blocks by their deleter (record_stream does).
  if (memory.get_deleter() == device_allocator()->raw_deleter()) return as(std::move(memory), device);
  c10::DataPtr copy = device_allocator()->allocate(storage.nbytes());
  if (storage.nbytes() != 0) std::memcpy(copy.get(), memory.get(), storage.nbytes());
  return copy;
}

}  // namespace jumar
