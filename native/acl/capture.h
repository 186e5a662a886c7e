// Work that is recorded while a stream is captured, to be done again by aclmdlRIExecuteAsync. It is also done while it
// is recorded, so that shapes and indices are known; what it changed is put back when the capture ends, because a
// device does not run it then.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace jumar {

using Step = std::function<int32_t()>;  // an aclError; the text is that of the calling thread

// Streams that are captured or updated now: 0 lets every caller skip looking.
extern std::atomic<int> captured_streams;

bool is_captured(void* stream);

// A task as aclmdlRIDebugJsonPrint shows it, in the words of the vendor's runtime.
struct Task {
  const char* type;
  std::string name;  // empty: that of its type
};

// True when the stream is captured and took the step. A step that waits makes replays run in the background.
bool record(void* stream, const Task& task, const Step& step, bool waits = false);

// A task of a captured stream that needs no step, since steps are done one after the other.
void note(void* stream, const Task& task);

// Remembers what is in memory that the next step changes.
void keep_contents(void* stream, void* memory, size_t bytes);

// An event that is recorded in a captured stream brings the streams that wait for it into the capture.
uint32_t capture_of(void* stream);  // 0: none
void join_capture(void* stream, uint32_t capture);

// For calls that a captured stream does not allow.
int32_t refuse_captured(const char* function);

// Writes the tasks as events that chrome://tracing shows, stream by stream; false: the file cannot be written.
struct Placed {
  int32_t stream;
  Task task;
};
bool print_tasks(const char* path, uint32_t model, const std::vector<Placed>& tasks);

}  // namespace jumar
