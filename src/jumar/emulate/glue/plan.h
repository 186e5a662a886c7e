// What an operator's schema and its rows say about its arguments, worked out once when the operator is taken over.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "operators.h"

namespace jumar {

enum class Kind : uint8_t { kOther, kTensor, kTensors, kGenerator, kDevice };

struct Plan {
  std::vector<Kind> arguments;
  std::vector<uint8_t> written;  // by argument: changed in place
  std::vector<uint8_t> index;    // by argument: the chip also takes 32-bit numbers where the CPU wants 64
  bool has_index = false;
  bool index_result = false;  // the result is as wide as the number given
  bool random = false;
  bool has_generator = false;
  bool wide = false;           // float16 is computed in float32 and rounded once, as the chip does it
  bool wide_bfloat16 = false;  // the same for bfloat16
  bool statistics = false;     // the chip returns a row of them also where the CPU returns none
  uint32_t float32_results = 0;  // by result, one bit each: not rounded back
  uint32_t host_results = 0;     // by result, one bit each: stays a CPU tensor
  uint32_t int32_results = 0;    // by result, one bit each: torch_npu allocates them as int32
  uint64_t refused = 0, warned = 0;                  // by data type of the first tensor, one bit each
  std::string_view refusal, error, warning, source;  // torch_npu's words, and where it says them
  bool same_device = true;  // a tensor of another device is an error, as on the real machine
};

Plan make_plan(const c10::OperatorHandle& op);

}  // namespace jumar
