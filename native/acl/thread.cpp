// The system calls that clients make through CANN.
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

int32_t mmGetTid() { return static_cast<int32_t>(syscall(SYS_gettid)); }
