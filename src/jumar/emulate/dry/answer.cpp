#include "answer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

#include "kernel.h"

namespace jumar::dry {
namespace {

double ask(const std::string& name, const at::Tensor& tensor) {
  double value = 0;
  const int code = callbacks().look(name.c_str(), c10::toString(tensor.scalar_type()), tensor.numel(), &value);
  TORCH_CHECK(code == 0, "jumar: dry run: this line has looked ", code,
              " times at values that are not computed (", name, "): it would do so for ever; give it one with "
              "`--value FILE:LINE=NUMBER`");
  return value;
}

c10::Scalar as(at::ScalarType type, double value) {
  if (type == at::kBool) return value != 0;
  if (c10::isIntegralType(type, false)) return static_cast<int64_t>(value);
  return value;
}

// Rows that a data-dependent operator finds; all but positions are unknown like what they were taken from.
int64_t rows(const std::string& name, const at::Tensor& from) {
  return std::min<int64_t>(from.numel(), std::max<int64_t>(0, static_cast<int64_t>(ask(name, from))));
}

at::Tensor made(at::IntArrayRef sizes, const at::TensorOptions& options) {
  at::Tensor tensor = at::empty(sizes, options);
  set_unknown(tensor, tensor.numel() > 0);
  return tensor;
}

bool is_mask(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte;
}

// `x[mask]` and its like: the mask becomes as many positions as it is said to have ones.
bool index_by_mask(const std::string& name, torch::jit::Stack* stack) {
  auto list = (*stack)[stack->size() - 1];
  if (!list.isList()) return false;
  c10::List<std::optional<at::Tensor>> indices;
  bool found = false;
  for (const c10::IValue& item : list.toListRef()) {
    if (item.isNone() || !is_mask(item.toTensor()) || !is_unknown(item.toTensor())) {
      indices.push_back(item.isNone() ? std::nullopt : std::optional<at::Tensor>(item.toTensor()));
      continue;
    }
    found = true;
    const at::Tensor& mask = item.toTensor();
    const int64_t count = rows(name, mask);
    for (int64_t axis = 0; axis < mask.dim(); ++axis) indices.push_back(at::zeros({count}, mask.options().dtype(at::kLong)));
  }
  if (found) (*stack)[stack->size() - 1] = std::move(indices);
  return found;
}

}  // namespace

bool answer_unknown(const c10::OperatorHandle& op, const std::string& name, torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size(), first = stack->size() - count;
  const auto give = [&](c10::IValue value) {
    stack->resize(first);
    stack->push_back(std::move(value));
    return true;
  };
  if (name == "aten::_local_scalar_dense") {
    const at::Tensor tensor = (*stack)[first].toTensor();
    return give(as(tensor.scalar_type(), ask(name, tensor)));
  }
  if (name == "aten::equal") return give(ask(name, (*stack)[first].toTensor()) == 0);
  if (name == "aten::nonzero") {
    const at::Tensor tensor = (*stack)[first].toTensor();
    at::Tensor found = at::zeros({rows(name, tensor), tensor.dim()}, tensor.options().dtype(at::kLong));
    for (int64_t axis = 0; axis < tensor.dim(); ++axis) spread_evenly(found, tensor.size(axis));
    return give(found);
  }
  if (name == "aten::masked_select") {
    const at::Tensor tensor = (*stack)[first].toTensor();
    return give(made({rows(name, (*stack)[first + 1].toTensor())}, tensor.options()));
  }
  if (name == "aten::index.Tensor" && index_by_mask(name, stack)) {
    op.callBoxed(stack);
    return true;
  }
  return false;
}

bool copies_to_host(const std::string& name, const torch::jit::Stack& stack) {
  if (name != "aten::copy_") return false;
  const at::Tensor &to = stack[stack.size() - 3].toTensor(), &from = stack[stack.size() - 2].toTensor();
  return to.device().is_cpu() && !from.device().is_cpu();
}

void read_on_host(const std::string& name, const torch::jit::Stack& stack) {
  const at::Tensor &to = stack[stack.size() - 3].toTensor(), &from = stack[stack.size() - 2].toTensor();
  const double value = ask("copy to the host", from);
  if (to.numel() > lines().host) return;
  const Inside guard;
  to.fill_(as(to.scalar_type(), value));
}

void spread_evenly(const at::Tensor& indices, int64_t range) {
  if (range <= 0) return;
  const int64_t count = indices.numel();
  if (indices.scalar_type() == at::kLong) {
    auto* data = indices.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i < count; ++i) data[i] = i % range;
  } else if (indices.scalar_type() == at::kInt) {
    auto* data = indices.mutable_data_ptr<int32_t>();
    for (int64_t i = 0; i < count; ++i) data[i] = static_cast<int32_t>(i % range);
  } else {
    return;
  }
  set_unknown(indices, false);
}

}  // namespace jumar::dry
