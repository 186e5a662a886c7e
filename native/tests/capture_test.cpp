// Graphs: what is captured, that it is not done by the capture, groups that are exchanged, and what is refused.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "api.h"
#include "machine/codes.h"
#include "tests/check.h"

using namespace jumar;

namespace {

void add_one(void* number) { ++*static_cast<int*>(number); }
void* function(void (*pointer)(void*)) { return reinterpret_cast<void*>(pointer); }

// Tasks are told stream by stream; a record and its wait have the same number, those of an update are not told.
void check_picture(void* model) {
  char path[] = "/tmp/jumar-capture-XXXXXX";
  const int file = mkstemp(path);
  CHECK(file >= 0 && close(file) == 0);
  CHECK(aclmdlRIDebugJsonPrint(model, path, 1) == ACL_SUCCESS);
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  unlink(path);
  std::string names;
  const std::string key = "{\"name\":\"";
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const size_t from = at + key.size();
    names += text.substr(from, text.find('"', from) - from) + " ";
  }
  CHECK(names == "MEMSET_ASYNC HOSTFUNC_CALLBACK EVENT_RECORD_1 HOSTFUNC_CALLBACK EVENT_WAIT_1 MEMCPY_ASYNC ");
  CHECK(text.front() == '[' && text.back() == ']');
  CHECK(aclmdlRIDebugJsonPrint(model, "/proc/no/such/folder", 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclmdlRIDebugJsonPrint(model, nullptr, 0) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclmdlRIDebugJsonPrint(path, path, 0) == ACL_ERROR_RT_PARAM_INVALID);
}

}  // namespace

int main() {
  setenv("JUMAR_MACHINE", "capture-test", 1);
  CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  void *stream = nullptr, *side = nullptr, *event = nullptr, *model = nullptr, *group = nullptr;
  CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS && aclrtCreateStream(&side) == ACL_SUCCESS);
  CHECK(aclrtCreateEvent(&event) == ACL_SUCCESS);
  void* memory = nullptr;
  CHECK(aclrtMalloc(&memory, 64, 0) == ACL_SUCCESS);
  std::memset(memory, 7, 64);
  auto* bytes = static_cast<char*>(memory);
  int count = 0, other = 0;

  CHECK(aclmdlRICaptureEnd(stream, &model) == ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  CHECK(aclmdlRIExecuteAsync(&count, stream) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclmdlRICaptureBegin(nullptr, 0) == ACL_ERROR_RT_PARAM_INVALID);

  CHECK(aclmdlRICaptureBegin(stream, 0) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureBegin(stream, 0) == ACL_ERROR_RT_STREAM_CAPTURED);
  CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_STREAM_CAPTURED);
  int32_t status = -1;
  CHECK(aclmdlRICaptureGetInfo(stream, &status, &model) == ACL_SUCCESS && status == 1 && model != nullptr);
  CHECK(aclmdlRICaptureGetInfo(side, &status, &model) == ACL_SUCCESS && status == 0 && model == nullptr);
  CHECK(aclrtMemsetAsync(memory, 64, 1, 8, stream) == ACL_SUCCESS);
  CHECK(aclrtLaunchHostFunc(stream, function(add_one), &count) == ACL_SUCCESS && count == 0);
  // A second stream comes into the capture by an event.
  CHECK(aclrtRecordEvent(event, stream) == ACL_SUCCESS && aclrtStreamWaitEvent(side, event) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureGetInfo(side, &status, nullptr) == ACL_SUCCESS && status == 1);
  CHECK(aclrtMemcpyAsync(bytes + 8, 56, bytes, 8, 0, side) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureTaskGrpBegin(stream) == ACL_SUCCESS);
  CHECK(aclrtLaunchHostFunc(stream, function(add_one), &count) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureTaskGrpEnd(stream, &group) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureEnd(side, &model) == ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
  CHECK(aclmdlRICaptureEnd(stream, &model) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureGetInfo(side, &status, nullptr) == ACL_SUCCESS && status == 0);
  CHECK(bytes[0] == 7 && bytes[8] == 7 && count == 0);

  CHECK(aclmdlRIExecuteAsync(model, side) == ACL_SUCCESS && aclrtSynchronizeStream(side) == ACL_SUCCESS);
  CHECK(bytes[0] == 1 && bytes[15] == 1 && bytes[16] == 7 && count == 2);

  CHECK(aclmdlRICaptureTaskUpdateBegin(stream, group) == ACL_SUCCESS);
  CHECK(aclrtLaunchHostFunc(stream, function(add_one), &other) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureTaskUpdateEnd(stream) == ACL_SUCCESS);
  CHECK(aclmdlRIExecuteAsync(model, stream) == ACL_SUCCESS && count == 3 && other == 1);
  check_picture(model);
  CHECK(aclmdlRIDestroy(model) == ACL_SUCCESS && aclmdlRIDestroy(model) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclmdlRICaptureTaskUpdateBegin(stream, group) == ACL_ERROR_RT_PARAM_INVALID);

  // A graph that waits for a number goes on in the background.
  std::memset(memory, 0, 64);
  CHECK(aclmdlRICaptureBegin(stream, 2) == ACL_SUCCESS);
  CHECK(aclrtValueWrite(static_cast<char*>(memory) + 4, 0, 0, stream) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtValueWait(nullptr, 0, 0, stream) == ACL_ERROR_RT_PARAM_INVALID);
  CHECK(aclrtValueWait(memory, 1, 1, stream) == ACL_SUCCESS && aclrtValueWrite(memory, 0, 0, stream) == ACL_SUCCESS);
  CHECK(aclrtLaunchHostFunc(stream, function(add_one), &other) == ACL_SUCCESS);
  CHECK(aclmdlRICaptureEnd(stream, &model) == ACL_SUCCESS);
  CHECK(aclmdlRIExecuteAsync(model, stream) == ACL_SUCCESS);
  CHECK(aclrtValueWrite(memory, 1, 0, side) == ACL_SUCCESS);
  CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS && other == 2 && bytes[0] == 0);
  CHECK(aclmdlRIDestroy(model) == ACL_SUCCESS);

  CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS && aclrtFree(memory) == ACL_SUCCESS);
  CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS && aclrtDestroyStream(side) == ACL_SUCCESS);
  return 0;
}
