// A function nobody wrote returns the vendor's code and names itself; it never returns success.
#include <cstdlib>
#include <cstring>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

extern "C" int32_t aclnnAdaptiveMaxPool2dGetWorkspaceSize();

int main() {
  CHECK(aclmdlRIDebugPrint(nullptr) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  const char* text = aclGetRecentErrMsg();
  CHECK(std::strstr(text, "`aclmdlRIDebugPrint`") != nullptr);
  CHECK(std::strstr(text, "jumar emulate coverage") != nullptr);
  CHECK(aclnnAdaptiveMaxPool2dGetWorkspaceSize() == ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND);
  CHECK(std::strstr(aclGetRecentErrMsg(), "aclnnAdaptiveMaxPool2dGetWorkspaceSize") != nullptr);
  CHECK(aclopCompileAndExecute("LRN", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, 0, 0, nullptr, nullptr) ==
        ACL_ERROR_OP_NOT_FOUND);
  CHECK(std::strstr(aclGetRecentErrMsg(), "`LRN`") != nullptr);
  return 0;
}
