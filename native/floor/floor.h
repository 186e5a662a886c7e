// Put in front of every source of a published wheel (-include): asks for the old versions of functions that newer C
// libraries offer twice, so that the wheel loads on glibc 2.28, the floor of torch_npu's own wheels. What glibc 2.28
// and GCC 8's libstdc++ do not have at all is in floor.cpp. `auditwheel` tells of a symbol that is missing here.
#pragma once

#if defined(__x86_64__)
#define JUMAR_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define JUMAR_FIRST_GLIBC "GLIBC_2.17"
#else
#error "the wheels are built for x86-64 and aarch64"
#endif

#define JUMAR_OLD(name, version) __asm__(".symver " name "," name "@" version)

JUMAR_OLD("dlsym", JUMAR_FIRST_GLIBC);
JUMAR_OLD("dlopen", JUMAR_FIRST_GLIBC);
JUMAR_OLD("dladdr", JUMAR_FIRST_GLIBC);
JUMAR_OLD("exp", JUMAR_FIRST_GLIBC);
JUMAR_OLD("exp2", JUMAR_FIRST_GLIBC);
JUMAR_OLD("log", JUMAR_FIRST_GLIBC);
JUMAR_OLD("log2", JUMAR_FIRST_GLIBC);
JUMAR_OLD("pow", JUMAR_FIRST_GLIBC);
JUMAR_OLD("pthread_create", JUMAR_FIRST_GLIBC);
JUMAR_OLD("pthread_join", JUMAR_FIRST_GLIBC);
JUMAR_OLD("shm_open", JUMAR_FIRST_GLIBC);
JUMAR_OLD("shm_unlink", JUMAR_FIRST_GLIBC);
#if defined(__x86_64__)
JUMAR_OLD("pthread_getname_np", "GLIBC_2.12");
#else
JUMAR_OLD("pthread_getname_np", JUMAR_FIRST_GLIBC);
#endif
// std::condition_variable::wait, which only came to call another function of the C library.
JUMAR_OLD("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "GLIBCXX_3.4.11");

#undef JUMAR_OLD

#ifdef __cplusplus
#include <cstddef>
// glibc 2.30 brought pthread_cond_clockwait; without it, a wait on the steady clock asks again when it wakes.
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#endif
