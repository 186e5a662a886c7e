#include "machine/announce.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "machine/own_file.h"
#include "machine/process.h"
#include "machine/profile.h"

namespace jumar {
namespace {

constexpr const char* kVariable = "JUMAR_ANNOUNCED";
constexpr const char* kDone = "1";

std::string file_start() { return "jumar-" + std::to_string(getuid()) + "-announced-"; }

// The process at the top of the tree, as `number-start time`: what came before a process with the same number ended.
std::string top_of_tree() {
  if (const char* value = std::getenv(kVariable); value != nullptr && *value != '\0') return value;
  const std::string own = std::to_string(getpid()) + "-" + std::to_string(start_time(getpid()));
  setenv(kVariable, own.c_str(), 1);
  return own;
}

// Trees that ended leave their file behind: the next one to announce removes it.
void sweep() {
  DIR* folder = opendir("/dev/shm");
  if (folder == nullptr) return;
  const std::string start = file_start();
  while (const dirent* entry = readdir(folder)) {
    int pid = 0;
    unsigned long long started = 0;
    if (std::strncmp(entry->d_name, start.c_str(), start.size()) != 0) continue;
    if (std::sscanf(entry->d_name + start.size(), "%d-%llu", &pid, &started) != 2) continue;
    if (process_state(pid, started) == '\0') shm_unlink(("/" + std::string(entry->d_name)).c_str());
  }
  closedir(folder);
}

// Ranks touch their cards at the same time: the one that makes the file speaks for all. Without /dev/shm, each does;
// a file that somebody else made silences nobody.
bool first_of(const std::string& tree) {
  const std::string name = "/" + file_start() + tree;
  int fd = shm_open(name.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool is_new = fd >= 0 || errno != EEXIST;
  if (fd < 0) fd = shm_open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  const bool is_ours = fd >= 0 && is_own(fd);
  if (fd >= 0) close(fd);
  return is_new || !is_ours;
}

bool has_real_cards() {
  DIR* folder = opendir("/dev");
  if (folder == nullptr) return false;
  bool found = false;
  constexpr size_t kLength = 7;
  while (const dirent* entry = readdir(folder))
    found = found || (std::strncmp(entry->d_name, "davinci", kLength) == 0 && std::isdigit(entry->d_name[kLength]));
  closedir(folder);
  return found;
}

void say() {
  const Profile& machine = profile();
  const char* numerics = std::getenv("JUMAR_NUMERICS");
  const bool like_card = numerics != nullptr && std::strncmp(numerics, "card", 4) == 0;
  char text[320];
  const int size = std::snprintf(
      text, sizeof text, "jumar: %d emulated %s card%s: results are %s, speed is not a card's%s (JUMAR_QUIET=1 hides this line)\n",
      machine.cards, machine.chip.name, machine.cards == 1 ? "" : "s",
      like_card ? "a model of the card's" : "the CPU's",
      has_real_cards() ? "; the real cards of this machine are not used" : "");
  // One write: lines of other processes must not get in between. Nobody listening is no reason to fail.
  if (size > 0 && write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) return;
}

}  // namespace

void announce() {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  const char* quiet = std::getenv("JUMAR_QUIET");
  if (quiet != nullptr && std::strcmp(quiet, "1") == 0) return;
  const std::string tree = top_of_tree();
  if (tree == kDone) return;
  sweep();
  if (first_of(tree)) say();
}

}  // namespace jumar
