#include "machine/refusals.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

namespace jumar {
namespace {

const char* word(Refusal kind) {
  switch (kind) {
    case Refusal::kFunction: return "function";
    case Refusal::kOperator: return "operator";
    case Refusal::kArguments: return "arguments";
    case Refusal::kFallback: return "fallback";
  }
  return "";
}

bool is_new(const std::string& path, const std::string& line) {
  static auto& mutex = *new std::mutex;
  static auto& written = *new std::set<std::pair<std::string, std::string>>;
  std::lock_guard<std::mutex> guard(mutex);
  return written.emplace(path, line).second;
}

}  // namespace

void note(Refusal kind, const std::string& name) {
  const char* path = std::getenv("JUMAR_REFUSAL_FILE");
  if (path == nullptr || *path == '\0') return;
  const std::string line = std::string(word(kind)) + "\t" + name + "\n";
  if (!is_new(path, line)) return;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;  // a record that cannot be kept is no reason to fail
  // One write to the end: lines of other processes cannot get in between.
  [[maybe_unused]] const ssize_t size = write(fd, line.data(), line.size());
  close(fd);
}

}  // namespace jumar

// For the glue, which sees what torch_npu does not take to a card.
extern "C" __attribute__((visibility("default"))) void jumar_note_fallback(const char* name) {
  jumar::note(jumar::Refusal::kFallback, name);
}
