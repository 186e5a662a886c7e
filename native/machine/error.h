// The error of the calling thread: its code, and the text that aclGetRecentErrMsg hands out.
#pragma once
#include <cstdint>
#include <string>

#include "machine/codes.h"

namespace jumar {

// Both keep code and text for the calling thread and return the code.
int32_t fail(int32_t code, const char* format, ...) __attribute__((format(printf, 2, 3)));
// A function that nobody wrote; `operation` is the operator that it is a half of.
int32_t refuse(const char* function, int32_t code, const char* operation = nullptr, const char* where = "");
// For clients that swallow the text: says it on stderr too, once for each name.
int32_t fail_aloud(int32_t code, const char* name, const std::string& text);
[[noreturn]] void refuse_by_throwing(const char* function);  // for C++ functions, which return no code

}  // namespace jumar
