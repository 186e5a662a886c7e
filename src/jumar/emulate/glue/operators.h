// What is known about an operator beyond its schema: the rows of data/operators.toml, which says what each means.
#pragma once

#include <ATen/core/operator_name.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace jumar {

enum class Carried : uint8_t { kDefault, kTorchNpu, kReference, kSoftmax, kPython, kRefused };

enum class Chip : uint8_t { kOlder, k910B, k950 };

using Names = std::array<std::string_view, 4>;  // of arguments; unused ones are empty

struct Facts {
  std::string_view name;  // of a row; empty in what `facts_of` returns
  Carried carried = Carried::kDefault;
  bool keeps_autograd = false;
  Names index{}, written{}, host{};
  uint32_t float32_results = 0, host_results = 0;  // one bit per result
  bool wide_float16 = false, wide_bfloat16 = false;
  bool index_result = false, statistics = false, random = false;
  bool mixes_devices = false;
  uint64_t refused = 0, warned = 0;  // one bit per data type
  uint32_t int32_results = 0;        // one bit per result
  uint8_t chips = 0;                 // one bit per chip that these last facts are about; none: all of them
  std::string_view refusal, error, warning, source;
};

// All rows that match, as one. Asked once per operator, when it is taken over.
Facts facts_of(const c10::OperatorName& name);

bool contains(const Names& names, std::string_view name);

}  // namespace jumar
