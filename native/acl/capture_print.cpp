// The picture of a graph for chrome://tracing, with the fields and made-up durations of the vendor's runtime
// (hicann/runtime: src/runtime/core/src/stream/stream.cc, DebugJsonPrintForModelStm): nothing has run yet.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>

#include "acl/capture.h"

namespace jumar {
namespace {

// Microseconds from a task to the next; half of one less is its own time.
int steps_of(const char* type) {
  if (std::strstr(type, "RECORD") != nullptr) return 5;
  if (std::strstr(type, "WAIT") != nullptr) return 15;
  return 10;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
  }
  return out + "\"";
}

}  // namespace

bool print_tasks(const char* path, uint32_t model, const std::vector<Placed>& tasks) {
  std::map<int32_t, std::vector<const Task*>> streams;
  for (const Placed& placed : tasks) streams[placed.stream].push_back(&placed.task);
  std::ofstream out(path);
  const char* separator = "[\n";
  for (const auto& [stream, listed] : streams) {
    int time = 0, number = 0;
    for (const Task* task : listed) {
      const int length = steps_of(task->type);
      out << separator << "{\"name\":" << quoted(task->name.empty() ? task->type : task->name) << ",\"pid\":\""
          << getpid() << " aclGraph\",\"tid\":\"stream" << stream << "\",\"ts\":" << time
          << ",\"dur\":" << length - 0.5 << ",\"ph\":\"X\",\"args\":{\"Model Id\":" << model
          << ",\"Stream Id\":" << stream << ",\"Task Id\":" << number++ << ",\"Task Type\":" << quoted(task->type)
          << "}}";
      separator = ",\n";
      time += length;
    }
  }
  out << (streams.empty() ? "[\n]" : "\n]");
  return out.flush().good();
}

}  // namespace jumar
