// What a program gets that looks at values nobody computed: zeros, or what the user gave for that place.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

#include "values.h"

namespace jumar::dry {

// True when the operator was one that looks at values, and is answered.
bool answer_unknown(const c10::OperatorHandle& op, const std::string& name, torch::jit::Stack* stack);

bool copies_to_host(const std::string& name, const torch::jit::Stack& stack);
void read_on_host(const std::string& name, const torch::jit::Stack& stack);

void spread_evenly(const at::Tensor& indices, int64_t range);

}  // namespace jumar::dry
