#include "machine/own_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace jumar {
namespace {

std::string numbered(const std::string& name, int number) {
  return number == 0 ? name : name + "~" + std::to_string(number);
}

// The file of this name if it is ours; -1 otherwise.
int open_existing(const std::string& name) {
  const int fd = shm_open(name.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd < 0 || is_own(fd)) return fd;
  close(fd);
  return -1;
}

}  // namespace

bool is_own(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && info.st_nlink <= 1;
}

int open_own(const std::string& name, bool make, std::string* used) {
  for (int number = 0; number < kNames; ++number) {
    *used = numbered(name, number);
    const int fd = open_existing(*used);
    if (fd >= 0) return fd;
  }
  for (int number = 0; make && number < kNames; ++number) {
    *used = numbered(name, number);
    int fd = shm_open(used->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) return -1;
    if (fd < 0) fd = open_existing(*used);  // another process of ours may have been quicker
    if (fd >= 0) return fd;
  }
  return -1;
}

}  // namespace jumar
