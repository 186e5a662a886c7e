// Collectives: torch_npu's own process group runs them, its HCCL has no peers; here they are noted and marked.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include "kernel.h"
#include "ledger.h"

namespace jumar::dry {
namespace {

class Collective final : public c10::OperatorKernel {
 public:
  explicit Collective(const c10::OperatorHandle& op)
      : original_(op.getComputedKernelForDispatchKey(c10::DispatchKey::PrivateUse1)), name_(op.operator_name().name) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const size_t first = stack->size() - op.schema().arguments().size();
    std::vector<at::Tensor> written = tensors((*stack)[first]), read;
    std::string group;
    int64_t ranks = 1;
    for (size_t i = first; i < stack->size(); ++i) {
      const c10::IValue& value = (*stack)[i];
      if (i > first)
        for (at::Tensor& tensor : tensors(value)) read.push_back(std::move(tensor));
      if (!value.isCustomClass() || !group.empty()) continue;
      if (value.type()->repr_str().find("ProcessGroup") == std::string::npos) continue;
      const auto found = value.toCustomClass<c10d::ProcessGroup>();
      group = found->getGroupName();
      ranks = found->getSize();
    }
    if (read.empty()) read = written;
    note(op, *stack, first, read, group, ranks);
    for (const at::Tensor& tensor : read) ledger().mark(address(tensor), kCommunication);
    for (const at::Tensor& tensor : written) ledger().mark(address(tensor), kCommunication);
    Now& here = now();
    const uint32_t outer = here.op;
    here.op = ledger().number(name_);
    original_.callBoxed(op, keys, stack);
    here.op = outer;
    const bool received = name_.find("recv") != std::string::npos && !computes_all();
    const bool lost = received || !are_exchanged(read);
    for (const at::Tensor& tensor : written)
      if (lost || covers_storage(tensor)) set_unknown(tensor, lost);
    note_place();
  }

 private:
  static constexpr uint8_t kCommunication = 16;

  static bool is_default_stream(c10::Device device) {
    const c10::impl::VirtualGuardImpl guard(c10::DeviceType::PrivateUse1);
    return device.type() != c10::DeviceType::PrivateUse1 || guard.getStream(device) == guard.getDefaultStream(device);
  }

  static int64_t address(const at::Tensor& tensor) {
    return is_plain(tensor) ? reinterpret_cast<int64_t>(tensor.storage().data()) : 0;
  }

  static std::vector<at::Tensor> tensors(const c10::IValue& value) {
    std::vector<at::Tensor> found;
    if (value.isTensor() && value.toTensor().defined()) found.push_back(value.toTensor());
    if (value.isList())
      for (const c10::IValue& item : value.toListRef())
        for (const at::Tensor& tensor : tensors(item)) found.push_back(tensor);
    return found;
  }

  static bool are_exchanged(const std::vector<at::Tensor>& read) {
    for (const at::Tensor& tensor : read)
      if (is_unknown(tensor) || static_cast<int64_t>(tensor.nbytes()) > lines().exchanged) return false;
    return true;
  }

  void note(const c10::OperatorHandle& op, const torch::jit::Stack& stack, size_t first,
            const std::vector<at::Tensor>& read, const std::string& group, int64_t ranks) const {
    bool waits = false;
    const auto& arguments = op.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].name() == "async_op" || arguments[i].name() == "asyncOp") waits = !stack[first + i].toBool();
    // FSDP waits at once, on streams of its own.
    waits &= !read.empty() && is_default_stream(read.front().device());
    size_t bytes = 0;
    for (const at::Tensor& tensor : read) bytes += tensor.nbytes();
    const uint32_t place = callbacks().place();
    ledger().called(name_ + "\t" + std::to_string(bytes) + "\t" + group + "\t" + std::to_string(ranks) + "\t" +
                    (waits ? "waits" : "async") + "\t" + std::to_string(place));
  }

  const c10::SafeKernelFunction original_;
  const std::string name_;
};

}  // namespace

void wrap_collectives() {
  auto& dispatcher = c10::Dispatcher::singleton();
  static auto* const library =
      new torch::Library(torch::Library::IMPL, "c10d", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("c10d::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    const std::string full = name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Collective>(*op)));
  }
}

}  // namespace jumar::dry
