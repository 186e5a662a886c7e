// Memory that other processes may open.
#pragma once

namespace jumar {

// Before a block is freed: others can no longer open it.
void end_export(const void* block);

}  // namespace jumar
