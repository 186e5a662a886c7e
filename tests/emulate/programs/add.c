/* What a user of AscendCL writes: two rows of numbers are added on the card. */
#include <stdio.h>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"

#define CHECK(call)                                                          \
  do {                                                                       \
    const int code = (call);                                                 \
    if (code != ACL_SUCCESS) {                                               \
      printf("%s: %d: %s\n", #call, code, aclGetRecentErrMsg());             \
      return 1;                                                              \
    }                                                                        \
  } while (0)

static int upload(const float *numbers, aclTensor **tensor, void **memory) {
  const int64_t dims[] = {4, 2}, strides[] = {2, 1};
  CHECK(aclrtMalloc(memory, 8 * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(*memory, 8 * sizeof(float), numbers, 8 * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE));
  *tensor = aclCreateTensor(dims, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 2, *memory);
  return 0;
}

int main(void) {
  const float left[8] = {0, 1, 2, 3, 4, 5, 6, 7}, right[8] = {1, 1, 1, 2, 2, 2, 3, 3};
  float result[8] = {0}, factor = 2;
  aclrtContext context;
  aclrtStream stream;
  aclrtRunMode mode;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateContext(&context, 0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtGetRunMode(&mode));
  printf("%s %s\n", aclrtGetSocName(), mode == ACL_HOST ? "host" : "device");

  aclTensor *self, *other, *out;
  void *memory[3], *workspace = NULL;
  if (upload(left, &self, &memory[0]) || upload(right, &other, &memory[1]) || upload(result, &out, &memory[2])) return 1;
  aclScalar *alpha = aclCreateScalar(&factor, ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor *executor;
  CHECK(aclnnAddGetWorkspaceSize(self, other, alpha, out, &bytes, &executor));
  if (bytes > 0) CHECK(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclnnAdd(workspace, bytes, executor, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(result, sizeof(result), memory[2], sizeof(result), ACL_MEMCPY_DEVICE_TO_HOST));
  for (int i = 0; i < 8; ++i) printf("%g%s", result[i], i == 7 ? "\n" : " ");

  aclDataType type;
  int64_t *dims;
  uint64_t count;
  CHECK(aclGetDataType(out, &type));
  CHECK(aclGetStorageShape(out, &dims, &count));
  printf("type %d, %d dims\n", type, (int)count);

  CHECK(aclDestroyTensor(self) || aclDestroyTensor(other) || aclDestroyTensor(out) || aclDestroyScalar(alpha));
  for (int i = 0; i < 3; ++i) CHECK(aclrtFree(memory[i]));
  if (workspace) CHECK(aclrtFree(workspace));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtDestroyContext(context));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
