// How an operator call (aclnn) is made: its first half keeps the arguments, its second half runs the kernel.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "acl/nnop.h"
#include "bridge/bridge.h"
#include "kernels/view.h"
#include "parameters.h"  // generated

namespace jumar::aclnn {

// Arguments as callers hand them over.
using In = const Tensor*;
using Out = Tensor*;
using Both = Tensor*;  // an output that is read, too
using Number = const Scalar*;
using Ints = const std::vector<int64_t>*;
using Flags = const std::vector<uint8_t>*;
using Tensors = const std::vector<const Tensor*>*;
using Outs = Tensors;
using aclDataType = int32_t;

// Tensors are looked at when the call runs: a client may give a kept call other addresses.
int32_t prepare(const char* name, uint64_t* bytes, void** executor, std::function<void()> run);
int32_t execute(const char* name, void* executor, void* stream);

kernels::View view(In tensor);
std::vector<kernels::View> views(Tensors tensors);
double value(Number scalar, double missing);

// An argument that may be missing, for kernels that take a pointer.
class Maybe {
 public:
  explicit Maybe(In tensor) {
    if (tensor != nullptr) view_ = view(tensor);
  }
  operator const kernels::View*() const { return view_.has_value() ? &*view_ : nullptr; }

 private:
  std::optional<kernels::View> view_;
};

}  // namespace jumar::aclnn

// Both halves of the operator NAME. Its parameters are those of its row in native/api: the body, which is the last
// argument, uses them by name. What the body does not do for complex numbers, the Python process may.
#define OPERATOR(NAME, ...)                                                                                    \
  extern "C" __attribute__((visibility("default"))) int32_t NAME##GetWorkspaceSize(JUMAR_PARAMETERS_##NAME,     \
                                                                                   uint64_t* bytes_, void** run_) { \
    return jumar::aclnn::prepare(#NAME, bytes_, run_, [=] {                                                     \
      try {                                                                                                    \
        __VA_ARGS__;                                                                                           \
      } catch (const jumar::kernels::ComplexNumbers&) {                                                        \
        jumar::bridge::call_complex(#NAME, [&] { return std::vector<jumar::bridge::Kept>{JUMAR_KEPT_##NAME}; }); \
      }                                                                                                        \
    });                                                                                                        \
  }                                                                                                            \
  extern "C" __attribute__((visibility("default"))) int32_t NAME(void*, uint64_t, void* run_, void* stream_) {  \
    return jumar::aclnn::execute(#NAME, run_, stream_);                                                         \
  }
