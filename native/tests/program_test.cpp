// What only programs in C and C++ call: contexts of their own, copies by rows, half precision, facts about arguments.
#include <cstring>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

namespace {

void contexts() {
  void *first = nullptr, *second = nullptr, *current = nullptr;
  int32_t device = -1;
  CHECK(aclrtCreateContext(&first, 1) == ACL_SUCCESS);
  CHECK(aclrtGetDevice(&device) == ACL_SUCCESS && device == 1);
  CHECK(aclrtCreateContext(&second, 0) == ACL_SUCCESS);
  CHECK(aclrtGetCurrentContext(&current) == ACL_SUCCESS && current == second);
  CHECK(aclrtSetCurrentContext(first) == ACL_SUCCESS);
  CHECK(aclrtGetDevice(&device) == ACL_SUCCESS && device == 1);
  CHECK(aclrtDestroyContext(first) == ACL_SUCCESS);
  CHECK(aclrtGetDevice(&device) == ACL_ERROR_RT_CONTEXT_NULL);
  CHECK(aclrtSetCurrentContext(first) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtDestroyContext(first) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtCreateContext(&first, 99) == ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK(aclrtSetCurrentContext(second) == ACL_SUCCESS);
}

void copies() {
  char from[4][8], to[4][6] = {};
  for (int row = 0; row < 4; ++row) std::memset(from[row], 'a' + row, sizeof from[row]);
  CHECK(aclrtMemcpy2d(to, 6, from, 8, 5, 4, 0) == ACL_SUCCESS);
  for (int row = 0; row < 4; ++row) CHECK(to[row][4] == 'a' + row && to[row][5] == 0);
  CHECK(aclrtMemcpy2d(to, 6, from, 8, 7, 4, 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclFloat16ToFloat(aclFloatToFloat16(1.5F)) == 1.5F);
}

void arguments() {
  const int64_t dims[] = {2, 3}, strides[] = {3, 1}, storage[] = {6};
  int32_t type = -1, format = -1;
  int64_t offset = -1, *found = nullptr;
  uint64_t count = 0;
  void* tensor = aclCreateTensor(dims, 2, 9, strides, 4, 2, storage, 1, nullptr);
  CHECK(aclGetDataType(tensor, &type) == ACL_SUCCESS && type == 9);
  CHECK(aclGetFormat(tensor, &format) == ACL_SUCCESS && format == 2);
  CHECK(aclGetViewOffset(tensor, &offset) == ACL_SUCCESS && offset == 4);
  CHECK(aclGetStorageShape(tensor, &found, &count) == ACL_SUCCESS && count == 1 && found[0] == 6);
  delete[] found;
  CHECK(aclGetViewStrides(tensor, &found, &count) == ACL_SUCCESS && count == 2 && found[0] == 3);
  delete[] found;
  CHECK(aclGetDataType(nullptr, &type) == ACL_ERROR_INVALID_PARAM);
  void* list = aclCreateIntArray(dims, 2);
  CHECK(aclGetIntArraySize(list, &count) == ACL_SUCCESS && count == 2);
  aclDestroyIntArray(list);
  void* descriptor = aclCreateTensorDesc(0, 2, dims, 2);
  CHECK(aclGetTensorDescElementCount(descriptor) == 6);
  aclDestroyTensorDesc(descriptor);
  void* buffer = aclCreateDataBuffer(&count, sizeof count);
  CHECK(aclGetDataBufferSizeV2(buffer) == sizeof count && aclGetDataBufferSize(buffer) == sizeof count);
  aclDestroyDataBuffer(buffer);
  CHECK(aclDestroyTensor(tensor) == ACL_SUCCESS);
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr) == ACL_SUCCESS);
  contexts();
  copies();
  arguments();
  CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
