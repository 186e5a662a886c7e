// Waiting for the point in a stream that an event stands for.
#pragma once
#include <cstdint>

namespace jumar {

int32_t finish_event(const char* function, void* event);

// The capture in which the event was recorded; 0: none.
uint32_t capture_of_event(void* event);

}  // namespace jumar
