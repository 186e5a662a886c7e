// What can go wrong in HCCL: an enum, made from the rows under [faults] in native/api/hccl.toml. Messages are made from it.
#pragma once
#include <cstdint>
#include <string>

#include "faults.h"  // generated: enum class Fault, kNone first

namespace jumar::hccl {

int32_t code_of(Fault fault);  // an HcclResult
std::string message(Fault fault, const std::string& text);  // with the vendor's number in front, where there is one

// Keeps code and message for the calling thread; returns the code.
int32_t fail_with(Fault fault, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace jumar::hccl
