// One translation unit: the headers of torch take most of the time, so they are read once.
#define NDEBUG  // as torch itself was built: some of its classes have more fields without it
#include "answer.cpp"
#include "collective.cpp"
#include "install.cpp"
#include "kernel.cpp"
#include "ledger.cpp"
#include "shape.cpp"
