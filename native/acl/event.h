// Waiting for the point in a stream that an event stands for.
#pragma once
#include <cstdint>

#include "acl/capture.h"

namespace jumar {

int32_t finish_event(const char* function, void* event);

// The capture in which the event was recorded; 0: none.
uint32_t capture_of_event(void* event);

// A task in the picture of a graph, with the number of the record that it belongs to.
Task named(const char* type, void* event);

}  // namespace jumar
