#include "machine/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "api.h"

namespace jumar {
namespace {

struct Recent {
  int32_t code = 0;
  std::string text;
  std::string handed_out;
};

Recent& recent() {
  thread_local Recent value;
  return value;
}

}  // namespace

int32_t fail(int32_t code, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  recent().code = code;
  recent().text = text;
  return code;
}

int32_t refuse(const char* function, int32_t code) {
  // Clients often swallow an error: JUMAR_REFUSALS=1 shows each one where it happens.
  static const bool shown = std::getenv("JUMAR_REFUSALS") != nullptr;
  if (shown) std::fprintf(stderr, "jumar: refused `%s`\n", function);
  return fail(code, "jumar: `%s` is not emulated (state: refused); `jumar emulate coverage` lists what is", function);
}

}  // namespace jumar

const char* aclGetRecentErrMsg() {
  auto& recent = jumar::recent();
  recent.handed_out.swap(recent.text);
  recent.text.clear();
  return recent.handed_out.c_str();
}

int32_t aclrtPeekAtLastError(int32_t) { return jumar::recent().code; }

int32_t aclrtGetLastError(int32_t) {
  const int32_t code = jumar::recent().code;
  jumar::recent().code = 0;
  return code;
}

int32_t aclrtGetErrorVerbose(int32_t, void* info) {
  // First bytes of the vendor's record: "repair possible", "has details", padding, then the kind of fault.
  struct Head {
    uint8_t try_repair, has_detail, reserved[2];
    int32_t kind;
  };
  if (info == nullptr) return jumar::fail(jumar::ACL_ERROR_RT_PARAM_INVALID, "aclrtGetErrorVerbose: no output");
  *static_cast<Head*>(info) = Head{};
  return jumar::ACL_SUCCESS;
}

int32_t aclrtGetMemUceInfo(int32_t, void*, size_t, size_t* found) {
  if (found != nullptr) *found = 0;
  return jumar::ACL_SUCCESS;
}
