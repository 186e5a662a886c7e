// Memory of one process in another: both see what either writes, and it outlives the process that brought it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

struct aclrtIpcEventHandle {
  char bytes[64];
};

namespace {

// Starts before the machine is touched, and waits for the key: under qemu a program cannot start itself anew.
int in_other_process(int pipe) {
  char key[65] = "";
  if (read(pipe, key, sizeof key) <= 0) return 1;
  void* memory = nullptr;
  CHECK(aclInit(nullptr) == ACL_SUCCESS);
  CHECK(aclrtIpcMemImportByKey(&memory, key, 0) == ACL_ERROR_RT_CONTEXT_NULL);
  CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  CHECK(aclrtIpcMemImportByKey(&memory, "jumar-1-999-4096-1", 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtIpcMemImportByKey(&memory, key, 0) == ACL_SUCCESS);
  auto* bytes = static_cast<char*>(memory);
  CHECK(bytes[0] == 7 && bytes[99] == 7);
  bytes[0] = 8;
  void* again = nullptr;
  CHECK(aclrtIpcMemImportByKey(&again, key, 0) == ACL_SUCCESS && again == memory);
  CHECK(aclrtIpcMemClose(key) == ACL_SUCCESS && bytes[0] == 8);
  CHECK(aclrtIpcMemClose(key) == ACL_SUCCESS && aclrtIpcMemClose(key) == ACL_ERROR_RT_PARAM_INVALID);
  return 0;
}

}  // namespace

int main() {
  setenv("JUMAR_MACHINE", "ipc-test", 1);
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    return in_other_process(ends[0]);
  }
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 100, 0) == ACL_SUCCESS);
  std::memset(memory, 7, 100);
  char key[65] = "", same[65] = "", small[4] = "";
  CHECK(aclrtIpcMemGetExportKey(static_cast<char*>(memory) + 1, 10, key, sizeof key, 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtIpcMemGetExportKey(key, 10, key, sizeof key, 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtIpcMemGetExportKey(memory, 100, small, sizeof small, 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtIpcMemGetExportKey(memory, 100, key, sizeof key, 0) == ACL_SUCCESS);
  CHECK(aclrtIpcMemGetExportKey(memory, 100, same, sizeof same, 0) == ACL_SUCCESS && std::strcmp(key, same) == 0);
  CHECK(static_cast<char*>(memory)[99] == 7);
  CHECK(write(ends[1], key, sizeof key) == sizeof key);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(static_cast<char*>(memory)[0] == 8);
  CHECK(aclrtIpcMemClose(key) == ACL_SUCCESS && aclrtFree(memory) == ACL_SUCCESS);
  void *plain = nullptr, *event = nullptr, *opened = nullptr, *stream = nullptr;
  aclrtIpcEventHandle handle{};
  CHECK(aclrtCreateEvent(&plain) == ACL_SUCCESS && aclrtCreateEventExWithFlag(&event, 0x40) == ACL_SUCCESS);
  CHECK(aclrtIpcOpenEventHandle(handle, &opened) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtIpcGetEventHandle(plain, &handle) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS && aclrtRecordEvent(event, stream) == ACL_SUCCESS);
  CHECK(aclrtIpcGetEventHandle(event, &handle) == ACL_SUCCESS);
  CHECK(aclrtIpcOpenEventHandle(handle, &opened) == ACL_SUCCESS);
  CHECK(aclrtStreamWaitEvent(stream, opened) == ACL_SUCCESS && aclrtSynchronizeEvent(opened) == ACL_SUCCESS);
  for (void* each : {plain, event, opened}) CHECK(aclrtDestroyEvent(each) == ACL_SUCCESS);
  CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  void* gone = nullptr;
  CHECK(aclrtIpcMemImportByKey(&gone, key, 0) == ACL_ERROR_RT_PARAM_INVALID);
  return 0;
}
