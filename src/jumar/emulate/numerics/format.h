// Numbers as a chip keeps them, bit by bit.
#pragma once

#include <ATen/core/Tensor.h>

#include "model.h"

namespace jumar::numerics {

// A copy of a float32 tensor whose values have the bits of another format.
at::Tensor rounded(const at::Tensor& tensor, Format format, bool saturates);

// Infinities become the largest number and nan becomes 0; true if there were any.
bool saturate(const at::Tensor& tensor);

// Subnormal numbers become 0 and keep their sign.
void flush(const at::Tensor& tensor);

}  // namespace jumar::numerics
