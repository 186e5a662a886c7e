// Leaving the process while torch's autograd threads are still busy with Python.
//
// torch keeps one thread per card and never joins it. A short program may end while such a thread still waits for the
// interpreter: to begin, or to let go of the last backward. The interpreter then ends the thread with pthread_exit,
// whose unwinding C++ answers with std::terminate. With eight cards and a busy machine that is no rare sight.
#include <dirent.h>
#include <pthread.h>
#include <torch/csrc/autograd/engine.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>
#include <string>
#include <thread>

namespace jumar {
namespace {

constexpr char kThread[] = "pt_autograd_";
std::atomic<bool> leaving{false};
pid_t process = 0;  // a forked child has none of the threads
std::terminate_handler before = nullptr;

struct Queues : torch::autograd::Engine {
  static size_t count() { return (torch::autograd::Engine::get_default_engine().*(&Queues::device_ready_queues_)).size(); }
};

// A thread gives itself its name once it has been through the interpreter.
size_t begun() {
  std::set<std::string> names;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return SIZE_MAX;
  while (const dirent* task = readdir(tasks)) {
    char name[32] = "";
    FILE* file = fopen((std::string("/proc/self/task/") + task->d_name + "/comm").c_str(), "r");
    if (file == nullptr) continue;
    if (fgets(name, sizeof name, file) != nullptr && strncmp(name, kThread, strlen(kThread)) == 0) names.insert(name);
    fclose(file);
  }
  closedir(tasks);
  return names.size();
}

[[noreturn]] void terminate() {
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (leaving && !std::current_exception() && strncmp(name, kThread, strlen(kThread)) == 0) {
    setenv("TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT", "0", 1);  // the engine need not wait for this thread
    for (;;) pause();                                      // as later versions of Python do
  }
  if (before != nullptr) before();
  std::abort();
}

}  // namespace
}  // namespace jumar

extern "C" __attribute__((visibility("default"))) void jumar_glue_watch_leaving() {
  jumar::process = getpid();
  jumar::before = std::set_terminate(jumar::terminate);
}

// Called without the interpreter's lock, before it ends.
extern "C" __attribute__((visibility("default"))) void jumar_glue_leave() {
  if (getpid() != jumar::process) return;
  jumar::leaving = true;
  const size_t threads = jumar::Queues::count();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (threads > 0 && jumar::begun() < threads && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
