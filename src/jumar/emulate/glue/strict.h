// What torch_npu's own code refuses, warns about and narrows around a kernel: the rows' words, before and after a call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "plan.h"

namespace jumar {

// Refuses data types as torch_npu does, and gives its warning once.
void refuse_or_warn(const Plan& plan, const torch::jit::Stack& stack);

// Results that torch_npu allocates as int32 where the CPU's are int64.
void shorten_indices(const Plan& plan, torch::jit::Stack& stack, size_t results);

// The chip that is emulated; rows may be about some of them.
void set_chip(Chip chip);
Chip emulated_chip();

}  // namespace jumar
