#include "acl/capture.h"

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/queue.h"
#include "api.h"
#include "machine/error.h"

namespace jumar {
namespace {

// Steps that can be exchanged after the capture.
struct Group {
  std::mutex mutex;
  std::vector<Step> steps;
};

struct Kept {
  char* memory;
  std::vector<char> contents;
};

struct Model {
  uint32_t id;
  void* origin;  // the stream that the capture began on
  std::vector<Step> steps;
  std::vector<Placed> tasks;
  std::vector<std::shared_ptr<Group>> groups;
  std::vector<Kept> kept;
  bool waits = false;
};

// What is recorded on one stream: a model, a group within it, or new steps for a group of a finished model.
struct Recording {
  std::shared_ptr<Model> model;
  std::shared_ptr<Group> group;
  std::shared_ptr<std::vector<Step>> update;
  std::vector<Kept> kept;  // of an update
};

// Never destroyed: clients destroy graphs while the process is on its way out.
struct State {
  std::mutex mutex;
  std::map<void*, Recording> streams;
  std::map<void*, std::shared_ptr<Model>> models;  // by handle
  std::map<void*, std::shared_ptr<Group>> groups;  // by handle
  uint32_t next = 1;
};

State& state() {
  static State* value = new State;
  return *value;
}

void restore(std::vector<Kept>& kept) {
  for (auto item = kept.rbegin(); item != kept.rend(); ++item)
    std::memcpy(item->memory, item->contents.data(), item->contents.size());
  kept.clear();
}

int32_t run_all(const std::vector<Step>& steps) {
  for (const Step& step : steps)
    if (int32_t code = step()) return code;
  return ACL_SUCCESS;
}

int32_t run_group(Group& group) {
  std::vector<Step> steps;
  {
    std::lock_guard<std::mutex> guard(group.mutex);
    steps = group.steps;
  }
  return run_all(steps);
}

Recording& begin(void* stream) {
  queue_of(stream)->set_captured(true);
  ++captured_streams;
  return state().streams[stream];
}

std::map<void*, Recording>::iterator end(std::map<void*, Recording>::iterator item) {
  queue_of(item->first)->set_captured(false);
  --captured_streams;
  return state().streams.erase(item);
}

Recording* find(void* stream) {
  const auto found = state().streams.find(stream);
  return found == state().streams.end() ? nullptr : &found->second;
}

void place(Model& model, void* stream, const Task& task) {
  int32_t id = 0;
  aclrtStreamGetId(stream, &id);
  model.tasks.push_back({id, task});
}

int32_t not_captured(const char* function) {
  return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s: the stream is not captured", function);
}

}  // namespace

std::atomic<int> captured_streams{0};

bool is_captured(void* stream) {
  if (captured_streams == 0) return false;
  std::lock_guard<std::mutex> guard(state().mutex);
  return find(stream) != nullptr;
}

bool record(void* stream, const Task& task, const Step& step, bool waits) {
  if (captured_streams == 0) return false;
  std::lock_guard<std::mutex> guard(state().mutex);
  Recording* recording = find(stream);
  if (recording == nullptr) return false;
  if (recording->update != nullptr) {
    recording->update->push_back(step);
    return true;
  }
  place(*recording->model, stream, task);
  recording->model->waits |= waits;
  (recording->group != nullptr ? recording->group->steps : recording->model->steps).push_back(step);
  return true;
}

void note(void* stream, const Task& task) {
  if (captured_streams == 0) return;
  std::lock_guard<std::mutex> guard(state().mutex);
  const Recording* recording = find(stream);
  if (recording != nullptr && recording->model != nullptr) place(*recording->model, stream, task);
}

void keep_contents(void* stream, void* memory, size_t bytes) {
  if (captured_streams == 0 || memory == nullptr || bytes == 0) return;
  std::lock_guard<std::mutex> guard(state().mutex);
  Recording* recording = find(stream);
  if (recording == nullptr) return;
  auto* at = static_cast<char*>(memory);
  auto& kept = recording->update != nullptr ? recording->kept : recording->model->kept;
  for (const Kept& item : kept)
    if (item.memory <= at && at + bytes <= item.memory + item.contents.size()) return;
  kept.push_back({at, std::vector<char>(at, at + bytes)});
}

uint32_t capture_of(void* stream) {
  if (captured_streams == 0) return 0;
  std::lock_guard<std::mutex> guard(state().mutex);
  const Recording* recording = find(stream);
  return recording == nullptr || recording->model == nullptr ? 0 : recording->model->id;
}

void join_capture(void* stream, uint32_t capture) {
  if (captured_streams == 0) return;
  std::lock_guard<std::mutex> guard(state().mutex);
  if (find(stream) != nullptr) return;
  for (const auto& [other, recording] : state().streams) {
    if (recording.model == nullptr || recording.model->id != capture) continue;
    const std::shared_ptr<Model> model = recording.model;
    begin(stream).model = model;
    return;
  }
}

int32_t refuse_captured(const char* function) {
  return fail(ACL_ERROR_RT_STREAM_CAPTURED, "%s: not allowed while the stream is captured", function);
}

}  // namespace jumar

using namespace jumar;

int32_t aclmdlRICaptureBegin(void* stream, int32_t mode) {
  if (stream == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureBegin: no stream");
  if (mode < 0 || mode > 2) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureBegin: mode %d", mode);
  if (int32_t code = finish_stream("aclmdlRICaptureBegin", stream)) return code;
  std::lock_guard<std::mutex> guard(state().mutex);
  if (find(stream) != nullptr) return refuse_captured("aclmdlRICaptureBegin");
  auto model = std::make_shared<Model>();
  model->id = state().next++;
  model->origin = stream;
  state().models[model.get()] = model;
  begin(stream).model = std::move(model);
  return ACL_SUCCESS;
}

int32_t aclmdlRICaptureGetInfo(void* stream, int32_t* status, void** model) {
  std::shared_ptr<Model> found;
  if (captured_streams != 0) {
    std::lock_guard<std::mutex> guard(state().mutex);
    if (const Recording* recording = find(stream)) found = recording->model;
  }
  if (status != nullptr) *status = found != nullptr ? 1 : 0;  // active, none
  if (model != nullptr) *model = found.get();
  return ACL_SUCCESS;
}

int32_t aclmdlRICaptureEnd(void* stream, void** out) {
  if (out == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureEnd: no output");
  std::lock_guard<std::mutex> guard(state().mutex);
  const Recording* recording = find(stream);
  if (recording == nullptr || recording->model == nullptr) return not_captured("aclmdlRICaptureEnd");
  const std::shared_ptr<Model> model = recording->model;
  if (model->origin != stream)
    return fail(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "aclmdlRICaptureEnd: the capture began on another stream");
  for (auto item = state().streams.begin(); item != state().streams.end();) {
    item = item->second.model == model ? end(item) : std::next(item);
  }
  restore(model->kept);
  *out = model.get();
  return ACL_SUCCESS;
}

int32_t aclmdlRIExecuteAsync(void* handle, void* stream) {
  std::shared_ptr<Model> model;
  {
    std::lock_guard<std::mutex> guard(state().mutex);
    const auto found = state().models.find(handle);
    if (found == state().models.end())
      return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIExecuteAsync: not a model of aclmdlRICaptureEnd");
    model = found->second;
  }
  if (is_captured(stream)) return refuse_captured("aclmdlRIExecuteAsync");
  if (!model->waits) {
    if (int32_t code = finish_stream("aclmdlRIExecuteAsync", stream)) return code;
    return run_all(model->steps);
  }
  Work work;
  work.run = [model]() -> Failure {
    const int32_t code = run_all(model->steps);
    return code == 0 ? Failure{} : Failure{code, aclGetRecentErrMsg()};
  };
  queue_of(stream)->submit(std::move(work));
  return ACL_SUCCESS;
}

int32_t aclmdlRIDestroy(void* handle) {
  std::lock_guard<std::mutex> guard(state().mutex);
  const auto found = state().models.find(handle);
  if (found == state().models.end())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIDestroy: not a model of aclmdlRICaptureEnd");
  for (const auto& group : found->second->groups) state().groups.erase(group.get());
  state().models.erase(found);
  return ACL_SUCCESS;
}

int32_t aclmdlRIGetId(void* handle, uint32_t* id) {
  std::lock_guard<std::mutex> guard(state().mutex);
  const auto found = state().models.find(handle);
  if (id == nullptr || found == state().models.end())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIGetId: no output, or not a model");
  *id = found->second->id;
  return ACL_SUCCESS;
}

int32_t aclmdlRIDebugJsonPrint(void* handle, const char* path, uint32_t) {
  std::lock_guard<std::mutex> guard(state().mutex);
  const auto found = state().models.find(handle);
  if (path == nullptr || found == state().models.end())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIDebugJsonPrint: no path, or not a model");
  if (print_tasks(path, found->second->id, found->second->tasks)) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRIDebugJsonPrint: cannot write `%s`", path);
}

int32_t aclmdlRICaptureTaskGrpBegin(void* stream) {
  std::lock_guard<std::mutex> guard(state().mutex);
  Recording* recording = find(stream);
  if (recording == nullptr || recording->model == nullptr) return not_captured("aclmdlRICaptureTaskGrpBegin");
  if (recording->group != nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureTaskGrpBegin: the stream is in a group already");
  auto group = std::make_shared<Group>();
  recording->model->steps.push_back([group] { return run_group(*group); });
  recording->model->groups.push_back(group);
  state().groups[group.get()] = group;
  recording->group = std::move(group);
  return ACL_SUCCESS;
}

int32_t aclmdlRICaptureTaskGrpEnd(void* stream, void** handle) {
  std::lock_guard<std::mutex> guard(state().mutex);
  Recording* recording = find(stream);
  if (handle == nullptr || recording == nullptr || recording->group == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureTaskGrpEnd: no output, or no group was begun");
  *handle = recording->group.get();
  recording->group = nullptr;
  return ACL_SUCCESS;
}

int32_t aclmdlRICaptureTaskUpdateBegin(void* stream, void* handle) {
  std::lock_guard<std::mutex> guard(state().mutex);
  const auto found = state().groups.find(handle);
  if (found == state().groups.end())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureTaskUpdateBegin: not a group of aclmdlRICaptureTaskGrpEnd");
  if (find(stream) != nullptr) return refuse_captured("aclmdlRICaptureTaskUpdateBegin");
  Recording& recording = begin(stream);
  recording.group = found->second;
  recording.update = std::make_shared<std::vector<Step>>();
  return ACL_SUCCESS;
}

int32_t aclmdlRICaptureTaskUpdateEnd(void* stream) {
  std::lock_guard<std::mutex> guard(state().mutex);
  Recording* recording = find(stream);
  if (recording == nullptr || recording->update == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureTaskUpdateEnd: no update was begun");
  restore(recording->kept);
  {
    std::lock_guard<std::mutex> exchange(recording->group->mutex);
    recording->group->steps.swap(*recording->update);
  }
  end(state().streams.find(stream));
  return ACL_SUCCESS;
}

int32_t aclmdlRICaptureThreadExchangeMode(int32_t* mode) {
  thread_local int32_t kept = 0;
  if (mode == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclmdlRICaptureThreadExchangeMode: no mode");
  const int32_t before = kept;
  kept = *mode;
  *mode = before;
  return ACL_SUCCESS;
}

// For the glue, whose steps are operators: `run` returns 0, or another number with the reason in its buffer.
extern "C" {

__attribute__((visibility("default"))) const std::atomic<int>* jumar_captured_streams() { return &captured_streams; }

__attribute__((visibility("default"))) int32_t jumar_is_captured(void* stream) { return is_captured(stream) ? 1 : 0; }

__attribute__((visibility("default"))) void jumar_keep_contents(void* stream, void* memory, size_t bytes) {
  keep_contents(stream, memory, bytes);
}

__attribute__((visibility("default"))) void jumar_record(void* stream, const char* name,
                                                         int32_t (*run)(void*, char*, size_t), void (*release)(void*),
                                                         void* data) {
  const std::shared_ptr<void> owned(data, release);
  record(stream, {"KERNEL_AICORE", name}, [owned, run] {
    char reason[1024] = "";
    if (run(owned.get(), reason, sizeof reason) == 0) return static_cast<int32_t>(ACL_SUCCESS);
    return fail(ACL_ERROR_RT_INTERNAL_ERROR, "a captured operator failed: %s", reason);
  });
}
}
