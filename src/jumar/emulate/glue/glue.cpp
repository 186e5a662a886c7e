// One translation unit: the headers of torch take most of the time, so they are read once.
#define NDEBUG  // as torch itself was built: some of its classes have more fields without it
#include "alias.cpp"
#include "capture.cpp"
#include "install.cpp"
#include "record.cpp"
#include "kernel.cpp"
#include "memory.cpp"
#include "plan.cpp"
#include "random.cpp"
#include "reference.cpp"
#include "softmax.cpp"
#include "stream.cpp"
#include "widen.cpp"
