// Kernels run in threads of the client. Those of MindSpore's graphs take subnormal numbers for zero, its others do not:
// what a kernel computes must not depend on it.
#pragma once
#include <cfenv>

namespace jumar {

// As long as it lives, this thread and those that it starts round as IEEE 754 says, subnormal numbers included.
class PlainArithmetic {
 public:
  PlainArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~PlainArithmetic() { std::fesetenv(&before_); }
  PlainArithmetic(const PlainArithmetic&) = delete;
  PlainArithmetic& operator=(const PlainArithmetic&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace jumar
