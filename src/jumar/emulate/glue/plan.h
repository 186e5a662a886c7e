// What an operator's schema and its rows say about its arguments, worked out once when the operator is taken over.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <vector>

#include "../numerics/model.h"
#include "operators.h"

namespace jumar {

enum class Kind : uint8_t { kOther, kTensor, kTensors, kGenerator, kDevice };

struct Plan {
  std::vector<Kind> arguments;
  std::vector<uint8_t> written;  // by argument: changed in place
  std::vector<uint8_t> index;    // by argument: the chip also takes 32-bit numbers where the CPU wants 64
  std::vector<size_t> parameters;  // places of those that are float32 beside a bfloat16 tensor
  bool has_index = false;
  bool random = false;
  bool has_generator = false;
  Computing computing;
  Strictness strictness;  // of a row about other chips only what holds on every chip
  int transposed_unless = -1;  // the argument's place
  numerics::Facts numerics;
};

Plan make_plan(const c10::OperatorHandle& op);

}  // namespace jumar
