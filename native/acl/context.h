// The current device of a thread, and the checks every function of a device starts with.
#pragma once
#include <cstdint>

namespace jumar {

bool is_device(int32_t device);
int32_t current_device();           // logical number; -1 when the thread has none
int card_of(int32_t device);        // number of the card behind a logical device
int32_t bad_device(const char* function, int32_t device);
bool initialized();

}  // namespace jumar
