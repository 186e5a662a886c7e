// The record of refused calls and fallbacks: one line for each, in the file that JUMAR_REFUSAL_FILE names.
#pragma once
#include <string>

namespace jumar {

// jumar.runtime.refusals reads them by their words.
enum class Refusal {
  kFunction,   // a function of CANN that nobody wrote
  kOperator,   // an operator without a kernel
  kArguments,  // a function or operator that works, but not with these arguments
  kFallback,   // an operator that torch_npu ran on the CPU
};

// Several processes may write to the file. Each writes a line once; without the variable, nothing is written.
void note(Refusal kind, const std::string& name);

}  // namespace jumar
