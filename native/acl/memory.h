// Device memory: host memory with an owner, counted against its card.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jumar {

// Counts `bytes` against the current device's card, or says why not.
int32_t reserve(const char* function, size_t bytes, int32_t* device);

// Which addresses are device memory, for aclrtPointerGetAttributes.
void remember(const void* address, size_t bytes, int32_t device);
bool find_block(const void* address, char** block, size_t* bytes);  // of a device, that holds the address
bool forget(const void* address, size_t* bytes, int32_t* device);

}  // namespace jumar
