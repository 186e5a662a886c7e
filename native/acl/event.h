// Waiting for the point in a stream that an event stands for.
#pragma once
#include <cstdint>

namespace jumar {

int32_t finish_event(const char* function, void* event);

}  // namespace jumar
