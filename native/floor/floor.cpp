// What floor.h cannot ask for in an older version, because glibc 2.28 or GCC 8's libstdc++ have nothing of the name.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <new>

#define JUMAR_OWN __attribute__((visibility("hidden")))

extern "C" {

// False: objects are counted as in a process with threads, which every process with torch is.
JUMAR_OWN char __libc_single_threaded = 0;

// Older headers make an inline function of it.
JUMAR_OWN int fstat(int file, struct stat* facts) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, facts));
}

// std::exception_ptr counts the owners of an exception in a header in front of it, whose layout is part of the ABI.
JUMAR_OWN void jumar_add_owner(char** exception) __asm__("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
JUMAR_OWN void jumar_drop_owner(char** exception) __asm__("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void __cxa_free_exception(void*) noexcept;

}  // extern "C"

namespace {

constexpr int kOwners = -128, kDestructor = -104;

int* owners(char* exception) { return reinterpret_cast<int*>(exception + kOwners); }

}  // namespace

void jumar_add_owner(char** exception) { __atomic_add_fetch(owners(*exception), 1, __ATOMIC_ACQ_REL); }

void jumar_drop_owner(char** exception) {
  char* const object = *exception;
  *exception = nullptr;
  if (__atomic_sub_fetch(owners(object), 1, __ATOMIC_ACQ_REL) != 0) return;
  void (*destroy)(void*);
  std::memcpy(&destroy, object + kDestructor, sizeof destroy);
  if (destroy) destroy(object);
  __cxa_free_exception(object);
}

namespace std {
JUMAR_OWN void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std
