#include "kernel.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "alert.h"
#include "alias.h"
#include "capture.h"
#include "compat.h"
#include "memory.h"
#include "random.h"
#include "stream.h"
#include "strict.h"
#include "widen.h"

namespace jumar {
namespace {

bool has_bfloat16 = true;

constexpr auto kNpu = c10::DeviceType::PrivateUse1;

// Autograd, autocast and views were dealt with above the backend; the CPU kernel must not do it again.
const c10::DispatchKeySet kAbove =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;

const c10::DispatchKeySet kCard(c10::DispatchKey::PrivateUse1);

// True when there was a 32-bit one.
bool lengthen_indices(const Plan& plan, torch::jit::Stack& stack) {
  bool found = false;
  const size_t first = stack.size() - plan.arguments.size();
  for (size_t i = 0; i < plan.index.size(); ++i) {
    c10::IValue& value = stack[first + i];
    if (plan.index[i] == 0 || !value.isTensor() || !value.toTensor().defined()) continue;
    if (value.toTensor().scalar_type() != at::kInt) continue;
    value = value.toTensor().to(at::kLong);
    found = true;
  }
  return found;
}

// Normalisation with known statistics computes none; their place is one zero per channel.
void complete_statistics(torch::jit::Stack& stack) {
  const at::Tensor& out = stack[stack.size() - 3].toTensor();
  if (out.dim() < 2) return;
  for (size_t i = stack.size() - 2; i < stack.size(); ++i) {
    const at::Tensor none = stack[i].toTensor();
    if (none.defined() && none.numel() == 0) stack[i] = at::zeros({out.size(1)}, none.options());
  }
}

// One call: arguments on the way in, results on the way out.
class Call {
 public:
  Call(const Plan& plan, const c10::OperatorHandle& op, torch::jit::Stack* stack)
      : plan_(plan), op_(op), stack_(*stack), first_(stack->size() - plan.arguments.size()) {}

  void replace_arguments() {
    for (size_t i = 0; i < plan_.arguments.size(); ++i) {
      c10::IValue& value = stack_[first_ + i];
      switch (plan_.arguments[i]) {
        case Kind::kTensor:
          if (value.isTensor()) replace_tensor(value, plan_.written[i]);
          break;
        case Kind::kTensors:
          if (!value.isNone()) replace_tensors(value, plan_.written[i]);
          break;
        case Kind::kDevice:
          if (value.isDevice()) replace_device(value);
          break;
        case Kind::kGenerator:
        case Kind::kOther:
          break;
      }
    }
    if (host_tensor_ && device_.has_value() && !plan_.computing.mixes_devices) refuse_other(c10::Device(c10::kCPU));
  }

  // After the other arguments: a generator that is not given is that of the card the operator runs on.
  Seed seed() {
    for (size_t i = 0; i < plan_.arguments.size(); ++i) {
      const c10::IValue& value = stack_[first_ + i];
      if (plan_.arguments[i] == Kind::kGenerator && !value.isNone()) return Seed::next(value.toGenerator(), device());
    }
    return Seed::next(std::nullopt, device());
  }

  void replace_results() {
    for (const auto& tensor : written_) aliases_.update(tensor);
    const size_t count = op_.schema().returns().size();
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      c10::IValue& value = stack_[i];
      if ((plan_.computing.host_results >> (i - (stack_.size() - count)) & 1u) != 0) continue;
      if (value.isTensor()) {
        value = result(std::move(value).toTensor());
      } else if (value.isTensorList()) {
        c10::List<at::Tensor> tensors;
        for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(result(tensor));
        value = std::move(tensors);
      }
    }
  }

  // A copy to the host that the caller waits for.
  bool blocks() const { return host_written_ && stack_.back().isBool() && !stack_.back().toBool(); }

  c10::Device device() {
    if (!device_.has_value() || !device_->has_index()) device_ = c10::impl::VirtualGuardImpl(kNpu).getDevice();
    return *device_;
  }

 private:
  at::Tensor result(at::Tensor cpu) {
    if (to_host_) return cpu;
    if (!has_bfloat16) check_type(cpu);
    return aliases_.to_npu(std::move(cpu), device());
  }

  void check_type(const at::Tensor& tensor) {
    TORCH_CHECK(!tensor.defined() || tensor.scalar_type() != at::kBFloat16, op_.operator_name().name,
                ": this chip has no bfloat16 (DT_BFLOAT16 is not in the list of supported data types)");
  }

  at::Tensor replaced(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    if (tensor.device().type() != kNpu) {
      host_tensor_ |= tensor.dim() > 0;
      host_written_ |= written;
      aliases_.pass_through(tensor);
      return tensor;
    }
    if (!device_.has_value() || to_host_) {
      device_ = tensor.device();
    } else if (*device_ != tensor.device() && !plan_.computing.mixes_devices) {
      refuse_other(tensor.device());
    }
    if (!tensor.has_storage()) return tensor;
    if (!has_bfloat16) check_type(tensor);
    if (written) written_.push_back(tensor);
    return aliases_.to_cpu(tensor);
  }

  void replace_tensor(c10::IValue& value, bool written) {
    const at::Tensor tensor = std::move(value).toTensor();
    value = replaced(tensor, written);
  }

  void replace_tensors(c10::IValue& value, bool written) {
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(replaced(tensor, written));
      value = std::move(list);
      return;
    }
    c10::List<MaybeTensor> list;
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isNone()) {
        list.push_back(MaybeTensor());
      } else {
        list.push_back(replaced(item.toTensor(), written));
      }
    }
    value = std::move(list);
  }

  void replace_device(c10::IValue& value) {
    const c10::Device wanted = value.toDevice();
    if (wanted.type() == kNpu) {
      if (!device_.has_value()) device_ = wanted;
      value = c10::Device(c10::kCPU);
    } else {
      to_host_ = true;
    }
  }

  void refuse_other(c10::Device other) {
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", *device_,
                " and ", other, "! (when checking arguments for ", op_.operator_name().name, ")");
  }

  const Plan& plan_;
  const c10::OperatorHandle& op_;
  torch::jit::Stack& stack_;
  const size_t first_;
  Aliases aliases_;
  c10::SmallVector<at::Tensor, 2> written_;
  std::optional<c10::Device> device_;
  bool host_tensor_ = false;
  bool host_written_ = false;
  bool to_host_ = false;
};

}  // namespace

void set_bfloat16(bool supported) { has_bfloat16 = supported; }

void Kernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const Changes changes = refuse_or_warn(plan_, *stack);
  run(op, stack);
  if ((changes.shortened | changes.transposed) != 0) change_results(changes, *stack, op.schema().returns().size());
}

void Kernel::run(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (plan_.has_index) lengthen_indices(plan_, *stack);
  Wider wider(plan_, *stack);
  const size_t below = stack->size() - plan_.arguments.size();
  if (wider.needed() || (wider.may_help() && numerics::rounds_once(plan_.numerics, stack->data() + below))) {
    stack->resize(below);
    wider.run(op, kCard, stack);
    return;
  }
  try {
    execute(plan_, op, op, stack);
  } catch (const c10::Error& error) {
    if (!wider.may_help() || !is_missing_kernel(error)) throw;
    stack->resize(below);
    wider.run(op, kCard, stack);
  }
  if (plan_.computing.statistics) complete_statistics(*stack);
}

void Decomposed::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  refuse_or_warn(plan_, *stack);
  const bool lengthened = plan_.has_index && lengthen_indices(plan_, *stack);
  if (plan_.computing.wide_float16) {
    Wider wider(plan_, *stack);
    if (wider.needed()) {
      stack->resize(stack->size() - plan_.arguments.size());
      wider.run(op, keys_, stack);
      return;
    }
  }
  op.redispatchBoxed(keys_, stack);
  // The chip answers in the type it was asked in.
  if (lengthened && plan_.computing.index_result) stack->back() = stack->back().toTensor().to(at::kInt);
}

void execute(const Plan& plan, const c10::OperatorHandle& op, const c10::OperatorHandle& target,
             torch::jit::Stack* stack) {
  Call call(plan, op, stack);
  call.replace_arguments();
  const c10::OptionalDeviceGuard on(call.device());
  finish_current_stream(call.device());
  std::optional<Seed> seed;
  if (plan.random) seed = call.seed();
  std::unique_ptr<Captured> captured;
  if (void* in = captured_stream(call.device())) {
    captured = std::make_unique<Captured>(plan, op, target, call.device(), in, *stack, call.blocks());
    if (seed.has_value()) captured->set_seed(*seed);
  }
  compute(plan, target, seed, stack);
  call.replace_results();
  if (captured != nullptr) Captured::finish(std::move(captured), *stack);
}

void compute(const Plan& plan, const c10::OperatorHandle& target, const std::optional<Seed>& seed,
             torch::jit::Stack* stack) {
  std::optional<DefaultGenerator> generator;
  if (seed.has_value() && plan.has_generator) {
    const size_t first = stack->size() - plan.arguments.size();
    for (size_t i = 0; i < plan.arguments.size(); ++i)
      if (plan.arguments[i] == Kind::kGenerator) (*stack)[first + i] = generator_for(*seed);
  } else if (seed.has_value()) {
    generator.emplace(*seed);
  }
  const NoAlerts quiet;
  const c10::impl::ExcludeDispatchKeyGuard below(kAbove);
  std::optional<numerics::Call> model;
  if (numerics::active()) model.emplace(plan.numerics, plan.written, *stack);
  {
    std::optional<DeviceMemory> memory;
    if (!plan.parameters.empty()) widen_parameters(plan, target.schema(), *stack);
    if (!plan.computing.host_work) memory.emplace();
    target.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  if (model.has_value()) model->finish(*stack);
}

}  // namespace jumar
