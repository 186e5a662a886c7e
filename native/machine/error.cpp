#include "machine/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include "api.h"
#include "machine/refusals.h"

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

// Clients swallow some errors and fail later with another one, so each refusal is also said once on stderr.
// Operator calls are not: torch_npu always raises them, with our text. JUMAR_REFUSALS=0 is silent, =1 says all.
bool is_first(const char* function) {
  static const char* const choice = std::getenv("JUMAR_REFUSALS");
  if (choice != nullptr) return *choice == '1';
  if (std::strncmp(function, "aclnn", 5) == 0) return false;
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string>;
  std::lock_guard<std::mutex> guard(mutex);
  return said.insert(function).second;
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

int32_t refuse(const char* function, int32_t code, const char* operation, const char* where) {
  note(operation != nullptr ? Refusal::kOperator : Refusal::kFunction, operation != nullptr ? operation : function);
  fail(code, "jumar: `%s` is not emulated (state: refused)%s; `jumar emulate coverage` lists what is", function, where);
  if (is_first(function)) std::fprintf(stderr, "%s\n", recent().text.c_str());
  return code;
}

int32_t fail_aloud(int32_t code, const char* name, const std::string& text) {
  fail(code, "%s", text.c_str());
  if (is_first(name)) std::fprintf(stderr, "%s\n", text.c_str());
  return code;
}

void refuse_by_throwing(const char* function) {
  refuse(function, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  throw std::runtime_error(recent().text);
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
