#include "widen.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

namespace jumar {
namespace {

// The device draws integers from distributions of real numbers, too: rounded towards zero.
bool is_narrow(const at::Tensor& tensor, bool integers) {
  if (!tensor.defined()) return false;
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 || (integers && c10::isIntegralType(type, true));
}

std::optional<at::ScalarType> narrow_type(const c10::IValue& value, Kind kind, bool integers) {
  if (kind == Kind::kTensor && value.isTensor() && is_narrow(value.toTensor(), integers))
    return value.toTensor().scalar_type();
  if (kind == Kind::kTensors && value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorVector())
      if (is_narrow(tensor, integers)) return tensor.scalar_type();
  return std::nullopt;
}

// A number is taken as it is; a real tensor of the card is an error, as elsewhere. Rounding that is asked for is exact.
bool is_cut(const Plan& plan, const torch::jit::Stack& stack) {
  if (!plan.strictness.cut_integers) return false;
  const c10::IValue* const arguments = &stack[stack.size() - plan.arguments.size()];
  if (!c10::isIntegralType(arguments[0].toTensor().scalar_type(), false)) return false;
  if (plan.arguments.size() > 2 && !arguments[2].isNone()) return false;
  if (arguments[1].isScalar()) return !arguments[1].isComplexDouble();
  const at::Tensor& by = arguments[1].toTensor();
  if (c10::isIntegralType(by.scalar_type(), true)) return true;
  return by.dim() == 0 && by.device().is_cpu() && !by.is_complex();
}

struct Pair {
  at::Tensor narrow, wide;
  bool written;
};

at::Tensor widened(const at::Tensor& tensor, bool integers, bool written, std::vector<Pair>& pairs) {
  if (!is_narrow(tensor, integers)) return tensor;
  for (const Pair& pair : pairs)
    if (pair.narrow.is_same(tensor)) return pair.wide;
  pairs.push_back({tensor, tensor.to(at::kFloat), written});
  return pairs.back().wide;
}

at::Tensor narrowed(const at::Tensor& tensor, at::ScalarType type, const std::vector<Pair>& pairs) {
  if (!tensor.defined()) return tensor;
  for (const Pair& pair : pairs)
    if (pair.wide.is_same(tensor)) return pair.narrow;
  return tensor.scalar_type() == at::kFloat ? tensor.to(type) : tensor;
}

}  // namespace

Wider::Wider(const Plan& plan, const torch::jit::Stack& stack)
    : plan_(plan), cut_(is_cut(plan, stack)), integers_(plan.random || cut_ || plan.computing.takes_integers) {
  const size_t count = plan.arguments.size(), first = stack.size() - count;
  for (size_t i = 0; i < count && !narrow_.has_value(); ++i)
    narrow_ = narrow_type(stack[first + i], plan.arguments[i], integers_);
  if (plan.computing.takes_integers && narrow_ == at::kBool) narrow_.reset();
  if (narrow_.has_value()) arguments_.assign(stack.end() - static_cast<ptrdiff_t>(count), stack.end());
}

void Wider::run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  std::vector<Pair> pairs;
  torch::jit::Stack call;
  at::ScalarType result = *narrow_;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const c10::IValue& value = arguments_[i];
    if (plan_.arguments[i] == Kind::kTensor && value.isTensor()) {
      call.emplace_back(widened(value.toTensor(), integers_, plan_.written[i], pairs));
    } else if (plan_.arguments[i] == Kind::kTensors && value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector())
        list.push_back(widened(tensor, integers_, plan_.written[i], pairs));
      call.emplace_back(std::move(list));
    } else if (value.isInt() && op.schema().arguments()[i].name() == "dtype") {
      result = static_cast<at::ScalarType>(value.toInt());
      call.emplace_back(static_cast<int64_t>(result == *narrow_ ? at::kFloat : result));
    } else {
      call.push_back(value);
    }
  }
  op.redispatchBoxed(keys, &call);
  for (const Pair& pair : pairs) {
    if (!pair.written) continue;
    if (pair.narrow.sizes() != pair.wide.sizes()) pair.narrow.resize_(pair.wide.sizes());
    pair.narrow.copy_(pair.wide);
  }
  size_t index = 0;
  for (c10::IValue& value : call) {
    const bool narrow = (plan_.computing.float32_results >> index++ & 1u) == 0;
    if (value.isTensor()) {
      stack->emplace_back(narrow ? narrowed(value.toTensor(), result, pairs) : value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(narrowed(tensor, result, pairs));
      stack->emplace_back(std::move(list));
    } else {
      stack->push_back(std::move(value));
    }
  }
}

void widen_parameters(const Plan& plan, const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  c10::IValue* const arguments = &stack[stack.size() - plan.arguments.size()];
  if (arguments[0].toTensor().scalar_type() != at::kBFloat16) return;
  for (const size_t place : plan.parameters) {
    const at::Tensor given = arguments[place].isTensor() ? arguments[place].toTensor() : at::Tensor();
    if (given.defined()) {
      arguments[place] = given.to(at::kFloat);
    } else if (schema.arguments()[place].name() == "weight") {
      const int shape = *schema.argumentIndexWithName("normalized_shape");
      arguments[place] = at::ones(arguments[shape].toIntVector(), at::kFloat);
    }
  }
}

}  // namespace jumar
