// One translation unit: the headers of torch take most of the time, so they are read once.
#include "alias.cpp"
#include "install.cpp"
#include "kernel.cpp"
#include "memory.cpp"
#include "plan.cpp"
#include "random.cpp"
#include "reference.cpp"
#include "widen.cpp"
