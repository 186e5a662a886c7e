// A function nobody wrote returns the vendor's code, names itself and is recorded; it never returns success.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

extern "C" int32_t aclnnAdaptiveMaxPool2dGetWorkspaceSize();

namespace {

std::string record(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void refuse_all() {
  CHECK(aclmdlRIDebugPrint(nullptr) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  const char* text = aclGetRecentErrMsg();
  CHECK(std::strstr(text, "`aclmdlRIDebugPrint`") != nullptr);
  CHECK(std::strstr(text, "jumar emulate coverage") != nullptr);
  CHECK(aclnnAdaptiveMaxPool2dGetWorkspaceSize() == ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND);
  CHECK(std::strstr(aclGetRecentErrMsg(), "aclnnAdaptiveMaxPool2dGetWorkspaceSize") != nullptr);
  CHECK(aclopCompileAndExecute("LRN", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr) ==
        ACL_ERROR_OP_NOT_FOUND);
  CHECK(std::strstr(aclGetRecentErrMsg(), "`LRN`") != nullptr);
}

}  // namespace

int main() {
  const char* folder = std::getenv("TMPDIR");
  char path[256];
  std::snprintf(path, sizeof path, "%s/jumar-refusals-XXXXXX", folder != nullptr ? folder : "/tmp");
  close(mkstemp(path));
  refuse_all();  // nobody asked for a record
  CHECK(record(path).empty());
  setenv("JUMAR_REFUSAL_FILE", path, 1);
  refuse_all();
  refuse_all();  // each line is written once
  CHECK(record(path) == "function\taclmdlRIDebugPrint\noperator\taclnnAdaptiveMaxPool2d\noperator\tLRN\n");
  unlink(path);
  return 0;
}
