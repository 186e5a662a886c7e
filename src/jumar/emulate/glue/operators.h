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

// How a chip computes where the CPU does otherwise.
struct Computing {
  uint32_t float32_results = 0;  // by result, one bit each: not rounded back
  uint32_t host_results = 0;     // by result, one bit each: stays a CPU tensor
  bool wide_float16 = false;     // computed in float32 and rounded once
  bool wide_bfloat16 = false;    // the same
  bool index_result = false;     // the result is as wide as the number given
  bool statistics = false;       // the chip returns a row of them also where the CPU returns none
  bool host_work = false;        // what its CPU kernel needs beside the results is no memory of the card
  bool takes_integers = false;   // where the CPU kernel does not
  bool mixes_devices = false;    // a tensor of another device is no error
};

// What torch_npu's own code does around the kernel.
struct Strictness {
  uint64_t refused = 0, warned = 0;  // by data type of the first tensor, one bit each
  uint64_t on_cpu = 0;               // the same: computed on the CPU on every chip, with torch's own warning
  uint32_t int32_results = 0;        // by result, one bit each: allocated as int32
  uint32_t transposed_results = 0;   // by result, one bit each: the transpose of what is allocated
  bool cut_integers = false;         // integers are divided in float32, and the quotient is cut off
  uint8_t chips = 0;                 // the chips that this is about, one bit each; none: all of them
  std::string_view refusal, error, warning, source;  // its words, and where it says them
  std::string_view transposed_unless;                // an argument: results are as allocated where it is true
};

struct Facts {
  std::string_view name;  // of a row; empty in what `facts_of` returns
  Carried carried = Carried::kDefault;
  std::string_view calls;  // the row holds only where there is this operator; empty in what `facts_of` returns
  bool keeps_autograd = false;
  Names index{}, written{}, host{}, parameters{};
  bool random = false;
  Computing computing;
  Strictness strictness;
};

// All rows that match, as one. Asked once per operator, when it is taken over.
Facts facts_of(const c10::OperatorName& name);

bool contains(const Names& names, std::string_view name);

}  // namespace jumar
