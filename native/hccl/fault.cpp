#include "hccl/fault.h"

#include <cstdarg>
#include <cstdio>

#include "machine/error.h"

namespace jumar::hccl {
namespace {

struct Row {
  int32_t code;
  const char* number;
};

constexpr Row kRows[] = {
#define JUMAR_FAULT(NAME, CODE, NUMBER) {CODE, NUMBER},
    JUMAR_FAULTS(JUMAR_FAULT)
#undef JUMAR_FAULT
};

const Row& row_of(Fault fault) { return kRows[static_cast<size_t>(fault)]; }

}  // namespace

int32_t code_of(Fault fault) { return row_of(fault).code; }

std::string message(Fault fault, const std::string& text) {
  const char* number = row_of(fault).number;
  return *number == '\0' ? text : std::string(number) + ": " + text;
}

int32_t fail_with(Fault fault, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fail(code_of(fault), "%s", message(fault, text).c_str());
}

}  // namespace jumar::hccl
