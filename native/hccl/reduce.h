// Reduces the same stretch of several ranks' data into one, always in the order of the ranks.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jumar::hccl {

// `out` may be one of the inputs. The halves (float16, bfloat16) are added up as float32 and rounded once.
void reduce(int32_t type, int32_t op, char* out, const char* const* in, uint32_t ranks, size_t count);

}  // namespace jumar::hccl
