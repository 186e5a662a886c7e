// Sums whose order is left open: a card adds in another one in every run, here a seed draws it.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include "model.h"

namespace jumar::numerics {

void set_seed(uint64_t seed);

// Puts what is added into another order; returns the way back for a convolution's gradient, else an undefined tensor.
at::Tensor reorder(const Facts& facts, c10::IValue* arguments);

}  // namespace jumar::numerics
