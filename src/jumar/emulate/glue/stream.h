// Operators run on the caller's thread at once; collectives are queued on their stream and come first.
#pragma once

#include <c10/core/Device.h>

namespace jumar {

// Waits for what the current stream of the card still has to do; raises what went wrong there.
void finish_current_stream(c10::Device device);

}  // namespace jumar
