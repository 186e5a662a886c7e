// Processes by number and start time: a number alone may have been given to another one.
#pragma once
#include <cstdint>

namespace jumar {

// Clock ticks after boot, as in /proc/<pid>/stat; 0 when there is no such process.
uint64_t start_time(int32_t pid);

// The letter of /proc/<pid>/stat (R, S, T for stopped …); 0 when the process that started then is dead.
char process_state(int32_t pid, uint64_t started);

}  // namespace jumar
