// Two cards, a thread each: what HCCL's first example does.
#include <cstdio>
#include <thread>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace {

float result[2][2];

bool good(int code) {
  if (code != 0) std::printf("failed with %d: %s\n", code, aclGetRecentErrMsg());
  return code == 0;
}

void rank(int number, HcclComm comm) {
  const float mine[2] = {1.0F + static_cast<float>(number), 2.0F + static_cast<float>(number)};
  void *from = nullptr, *to = nullptr;
  aclrtStream stream = nullptr;
  if (!good(aclrtSetDevice(number)) || !good(aclrtCreateStream(&stream)) ||
      !good(aclrtMalloc(&from, sizeof mine, ACL_MEM_MALLOC_HUGE_FIRST)) ||
      !good(aclrtMalloc(&to, sizeof mine, ACL_MEM_MALLOC_HUGE_FIRST)) ||
      !good(aclrtMemcpy(from, sizeof mine, mine, sizeof mine, ACL_MEMCPY_HOST_TO_DEVICE)) ||
      !good(HcclAllReduce(from, to, 2, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream)) ||
      !good(aclrtSynchronizeStream(stream)))
    return;
  good(aclrtMemcpy(result[number], sizeof mine, to, sizeof mine, ACL_MEMCPY_DEVICE_TO_HOST));
  aclrtFree(from);
  aclrtFree(to);
  aclrtDestroyStream(stream);
}

}  // namespace

int main() {
  int32_t devices[2] = {0, 1};
  HcclComm comms[2];
  if (!good(aclInit(nullptr)) || !good(HcclCommInitAll(2, devices, comms))) return 1;
  std::thread first(rank, 0, comms[0]), second(rank, 1, comms[1]);
  first.join();
  second.join();
  for (int number = 0; number < 2; ++number)
    std::printf("rank %d: %g %g\n", number, result[number][0], result[number][1]);
  for (HcclComm comm : comms) good(HcclCommDestroy(comm));
  return good(aclFinalize()) ? 0 : 1;
}
