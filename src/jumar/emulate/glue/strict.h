// What torch_npu's own code does around a kernel by the rows: it refuses and warns before the call, and narrows and
// transposes results after it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "plan.h"

namespace jumar {

// Results to change, one bit each.
struct Changes {
  uint32_t shortened = 0;   // int32 where the CPU's are int64
  uint32_t transposed = 0;  // the transpose of a contiguous matrix
};

// Refuses data types as torch_npu does, gives its warning once, and tells what it does to the results of this call.
Changes refuse_or_warn(const Plan& plan, const torch::jit::Stack& stack);

void change_results(const Changes& changes, torch::jit::Stack& stack, size_t results);

// The chip that is emulated; rows may be about some of them.
void set_chip(Chip chip);
Chip emulated_chip();

}  // namespace jumar
