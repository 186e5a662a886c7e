#include "hccl/meet.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace jumar::hccl {
namespace {

struct Offer {
  int listener, stop, memory;
};

struct Offers {
  std::mutex mutex;
  std::map<std::string, Offer> open;
};

Offers& offers() {
  static Offers* value = new Offers;  // never destroyed: threads may outlive the end of `main`
  return *value;
}

// A child of fork would keep the names taken and the memory alive.
void before_fork() { offers().mutex.lock(); }
void after_fork() { offers().mutex.unlock(); }
void close_in_child() {
  for (const auto& [name, offer] : offers().open) {
    close(offer.listener);
    close(offer.stop);
    close(offer.memory);
  }
  offers().open.clear();
  offers().mutex.unlock();
}

__attribute__((constructor)) void watch_fork() { pthread_atfork(before_fork, after_fork, close_in_child); }

socklen_t address(const std::string& name, sockaddr_un* out) {
  *out = sockaddr_un{};
  out->sun_family = AF_UNIX;
  const std::string full = "jumar-" + std::to_string(getuid()) + "-hccl-" + name;
  const size_t size = std::min(full.size(), sizeof out->sun_path - 1);
  std::memcpy(out->sun_path + 1, full.data(), size);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == getuid();
}

struct Message {
  char byte = 'j';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
  Message() {
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof control;
  }
};

void hand_over(int socket, int memory) {
  Message message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.head);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &memory, sizeof memory);
  sendmsg(socket, &message.head, MSG_NOSIGNAL);
}

void serve(Offer offer) {
  for (;;) {
    pollfd wait[2] = {{offer.listener, POLLIN, 0}, {offer.stop, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) break;
    if (wait[1].revents != 0) break;
    if (wait[0].revents == 0) continue;
    const int socket = accept4(offer.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    if (same_user(socket)) hand_over(socket, offer.memory);
    close(socket);
  }
  std::lock_guard<std::mutex> guard(offers().mutex);  // after the write that ended the loop
  close(offer.listener);
  close(offer.stop);
  close(offer.memory);
}

}  // namespace

int make_memory() { return memfd_create("jumar-hccl", MFD_CLOEXEC); }

bool offer(const std::string& name, int fd) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return false;
  sockaddr_un where;
  const socklen_t size = address(name, &where);
  if (bind(listener, reinterpret_cast<sockaddr*>(&where), size) != 0 || listen(listener, 256) != 0) {
    const int reason = errno;
    close(listener);
    errno = reason;
    return false;
  }
  const Offer made{listener, eventfd(0, EFD_CLOEXEC), dup(fd)};
  std::lock_guard<std::mutex> guard(offers().mutex);
  offers().open[name] = made;
  std::thread(serve, made).detach();
  return true;
}

void withdraw(const std::string& name) {
  std::lock_guard<std::mutex> guard(offers().mutex);
  const auto found = offers().open.find(name);
  if (found == offers().open.end()) return;
  const uint64_t one = 1;
  if (write(found->second.stop, &one, sizeof one) < 0) std::perror("jumar: hccl");
  offers().open.erase(found);
}

int take(const std::string& name) {
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  sockaddr_un where;
  const socklen_t size = address(name, &where);
  const timeval limit{1, 0};  // the other side may be stopped
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int memory = -1;
  if (connect(connection, reinterpret_cast<sockaddr*>(&where), size) == 0 && same_user(connection)) {
    Message message;
    if (recvmsg(connection, &message.head, MSG_CMSG_CLOEXEC) == 1) {
      const cmsghdr* control = CMSG_FIRSTHDR(&message.head);
      if (control != nullptr && control->cmsg_type == SCM_RIGHTS)
        std::memcpy(&memory, CMSG_DATA(control), sizeof memory);
    }
  }
  close(connection);
  return memory;
}

}  // namespace jumar::hccl
