#include "capture.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "alias.h"
#include "kernel.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" {
const std::atomic<int>* jumar_captured_streams();
int32_t jumar_is_captured(void* stream);
void jumar_keep_contents(void* stream, void* memory, size_t bytes);
void jumar_record(void* stream, const char* name, int32_t (*run)(void*, char*, size_t), void (*release)(void*),
                  void* data);
}

namespace jumar {
namespace {

// Their answer is a number or a decision of the host: the device would have to be waited for.
bool answers_the_host(const c10::OperatorHandle& op) {
  for (const auto& result : op.schema().returns()) {
    const auto kind = result.real_type()->kind();
    if (kind != c10::TypeKind::TensorType && kind != c10::TypeKind::ListType) return true;
  }
  return false;
}

template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) for_each_tensor(item, visit);
  }
}

int32_t run_again(void* call, char* reason, size_t room) {
  try {
    static_cast<const Captured*>(call)->run();
    return 0;
  } catch (const c10::Error& error) {
    std::snprintf(reason, room, "%s", error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::snprintf(reason, room, "%s", error.what());
  }
  return 1;
}

void release(void* call) { delete static_cast<Captured*>(call); }

}  // namespace

void* captured_stream(c10::Device device) {
  static const std::atomic<int>& captured = *jumar_captured_streams();
  if (captured.load(std::memory_order_acquire) == 0) return nullptr;
  void* stream = c10_npu::getCurrentNPUStream(device.index()).stream(false);
  return jumar_is_captured(stream) != 0 ? stream : nullptr;
}

Captured::Captured(const Plan& plan, const c10::OperatorHandle& op, const c10::OperatorHandle& target,
                   c10::Device device, void* stream, const torch::jit::Stack& stack, bool blocks)
    : plan_(plan), op_(op), target_(target), device_(device), stream_(stream),
      arguments_(stack.end() - static_cast<ptrdiff_t>(plan.arguments.size()), stack.end()) {
  TORCH_CHECK(!blocks && !answers_the_host(op), op.operator_name().name,
              ": not allowed while the stream is captured: the host would wait for the result (error code is 107027)");
  keep_written();
}

void Captured::keep_written() const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (plan_.written[i] == 0) continue;
    for_each_tensor(arguments_[i], [this](const at::Tensor& tensor) {
      if (tensor.has_storage()) jumar_keep_contents(stream_, tensor.storage().mutable_data(), tensor.storage().nbytes());
    });
  }
}

void Captured::finish(std::unique_ptr<Captured> call, const torch::jit::Stack& stack) {
  const size_t count = call->op_.schema().returns().size();
  Aliases aliases;
  for (size_t i = stack.size() - count; i < stack.size(); ++i)
    for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
      call->results_.push_back(tensor.device().is_cpu() || !tensor.has_storage() ? tensor : aliases.to_cpu(tensor));
    });
  void* const stream = call->stream_;
  const std::string& name = call->op_.schema().name();
  jumar_record(stream, name.c_str(), &run_again, &release, call.release());
}

void Captured::run() const {
  const c10::OptionalDeviceGuard on(device_);
  torch::jit::Stack stack = arguments_;
  compute(plan_, target_, seed_, &stack);
  size_t next = 0;
  for (const c10::IValue& value : stack)
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      at::Tensor kept = results_.at(next++);
      if (!tensor.has_storage() || kept.storage().data() == tensor.storage().data()) return;
      TORCH_CHECK(kept.sizes() == tensor.sizes(), op_.operator_name().name, " gave ", kept.sizes(),
                  " when it was captured and now gives ", tensor.sizes());
      kept.copy_(tensor);
    });
}

}  // namespace jumar
