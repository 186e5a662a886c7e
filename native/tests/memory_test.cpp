// Device memory: counted per card, limited, told apart from host memory.
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

int main() {
  setenv("JUMAR_SOC", "Ascend910B4", 1);
  setenv("JUMAR_CARDS", "2", 1);
  setenv("JUMAR_MEMORY", "64M", 1);
  setenv("JUMAR_MACHINE", "memory-test", 1);

  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 16, 0) == ACL_ERROR_RT_CONTEXT_NULL);
  CHECK(aclInit(nullptr) == ACL_SUCCESS);
  CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
  CHECK(aclrtSetDevice(2) == ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK(aclrtSetDevice(1) == ACL_SUCCESS);

  size_t free_bytes = 0, total = 0;
  CHECK(aclrtMalloc(&memory, 48 << 20, 0) == ACL_SUCCESS);
  CHECK(aclrtGetMemInfo(1, &free_bytes, &total) == ACL_SUCCESS);
  CHECK(total == 64 << 20 && free_bytes == 16 << 20);
  void* more = nullptr;
  CHECK(aclrtMalloc(&more, 17 << 20, 0) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK(std::strstr(aclGetRecentErrMsg(), "card 1") != nullptr);
  CHECK(*aclGetRecentErrMsg() == '\0');
  CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  CHECK(aclrtMalloc(&more, 17 << 20, 0) == ACL_SUCCESS);

  struct {
    uint32_t device;
    int32_t kind;
    uint32_t rest[5];
  } place{};
  CHECK(aclrtPointerGetAttributes(static_cast<char*>(memory) + 100, &place) == ACL_SUCCESS);
  CHECK(place.kind == 1 && place.device == 1);
  CHECK(aclrtPointerGetAttributes(&place, &place) == ACL_SUCCESS);
  CHECK(place.kind == 2);

  char text[6] = "hello";
  CHECK(aclrtMemcpy(memory, 4, text, 6, 1) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtMemcpy(memory, 6, text, 6, 1) == ACL_SUCCESS);
  CHECK(std::memcmp(memory, "hello", 6) == 0);

  CHECK(aclrtFree(text) == ACL_ERROR_RT_MEMORY_FREE);
  CHECK(aclrtFree(memory) == ACL_SUCCESS);
  CHECK(aclrtFree(more) == ACL_SUCCESS);

  void *range = nullptr, *block = nullptr;
  size_t piece = 0;
  CHECK(aclrtMemGetAllocationGranularity(nullptr, 0, &piece) == ACL_SUCCESS);
  CHECK(piece == 2 << 20);
  CHECK(aclrtReserveMemAddress(&range, 4 << 20, 0, nullptr, 1) == ACL_SUCCESS);
  CHECK(aclrtMallocPhysical(&block, 2 << 20, nullptr, 0) == ACL_SUCCESS);
  CHECK(aclrtMapMem(range, 2 << 20, 0, block, 0) == ACL_SUCCESS);
  std::memset(range, 7, 2 << 20);
  CHECK(aclrtUnmapMem(range) == ACL_SUCCESS);
  CHECK(aclrtFreePhysical(block) == ACL_SUCCESS);
  CHECK(aclrtReleaseMemAddress(range) == ACL_SUCCESS);

  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([] {
      CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
      for (int round = 0; round < 50; ++round) {
        void* part = nullptr;
        CHECK(aclrtMalloc(&part, 1 << 20, 0) == ACL_SUCCESS);
        CHECK(aclrtFree(part) == ACL_SUCCESS);
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(aclrtGetMemInfo(1, &free_bytes, &total) == ACL_SUCCESS && free_bytes == total);
  CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
