#include "kernel.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "answer.h"
#include "ledger.h"
#include "shape.h"

namespace jumar::dry {
namespace {

constexpr auto kNpu = c10::DeviceType::PrivateUse1;
thread_local int inside = 0;

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool overwrites(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "zero_",        "fill_",   "normal_",    "uniform_",   "random_",       "bernoulli_",           "exponential_",
      "log_normal_",  "cauchy_", "geometric_", "copy_",      "_copy_from",    "_copy_from_and_resize"};
  return is_one_of(kNames, name);
}

// Positions that nobody computed are spread evenly: experts get the same number of tokens.
int result_with_positions(std::string_view name, const c10::FunctionSchema& schema) {
  static constexpr std::array<std::string_view, 3> kOnly = {"argmax", "argmin", "multinomial"};
  static constexpr std::array<std::string_view, 7> kSecond = {"topk", "sort", "max", "min", "kthvalue", "mode", "median"};
  if (is_one_of(kOnly, name) || name == "argsort") return 0;
  return is_one_of(kSecond, name) && schema.returns().size() == 2 ? 1 : -1;
}

template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector())
      if (tensor.defined()) visit(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef())
      if (item.isTensor() && item.toTensor().defined()) visit(item.toTensor());
  }
}

std::string signature(const std::string& name, const torch::jit::Stack& stack, size_t from) {
  std::string text = name + "\t";
  for (size_t i = from; i < stack.size(); ++i)
    each_tensor(stack[i], [&](const at::Tensor& tensor) { text += text_of(tensor) + ";"; });
  return text;
}

}  // namespace

Callbacks& callbacks() {
  static Callbacks value;
  return value;
}

// aten operators that torch_npu answers otherwise than torch: their results have shapes of their own.
std::set<std::string>& reference_code() {
  static auto* const names = new std::set<std::string>;
  return *names;
}

Inside::Inside() { ++inside; }
Inside::~Inside() { --inside; }
bool Inside::is() { return inside > 0; }

std::string text_of(const at::Tensor& tensor) {
  std::string text = c10::toString(tensor.scalar_type());
  for (const int64_t size : tensor.sizes()) text += "," + std::to_string(size);
  return text;
}

void note_place() {
  Now& here = now();
  if (here.grown < 0) return;
  const auto which = static_cast<size_t>(here.grown);
  here.grown = -1;
  const uint32_t place = callbacks().place();
  const std::lock_guard<std::mutex> guard(ledger().mutex);
  ledger().allocations[which].site = place;
}

Kernel::Kernel(const c10::OperatorHandle& op, c10::DispatchKey key, Way way)
    : original_(op.getComputedKernelForDispatchKey(key)), name_(c10::toString(op.operator_name())), way_(way) {
  const std::string& full = op.operator_name().name;
  const std::string_view name = std::string_view(full).substr(full.find("::") + 2);
  const auto& arguments = op.schema().arguments();
  overwrites_ = overwrites(name);
  dynamic_ = op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
  indices_ = result_with_positions(name, op.schema());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias = arguments[i].alias_info();
    written_.push_back(alias != nullptr && alias->isWrite());
    out_.push_back(written_.back() != 0 && (arguments[i].is_out() || overwrites_));
    if (arguments[i].name() == "dim") dim_ = static_cast<int>(i);
  }
  number_ = ledger().number(name_);
}

Look Kernel::look(const torch::jit::Stack& stack) const {
  Look found;
  const size_t first = stack.size() - written_.size();
  for (size_t i = 0; i < written_.size(); ++i)
    each_tensor(stack[first + i], [&](const at::Tensor& tensor) {
      found.on_card |= tensor.device().type() == kNpu;
      if (!is_plain(tensor)) {
        found.plain = false;
        return;
      }
      const bool read = out_[i] == 0 || !covers_storage(tensor);
      found.unknown |= read && is_unknown(tensor);
      found.small &= is_small(tensor);
      found.huge |= tensor.numel() > lines().host && tensor.is_floating_point();
    });
  return found;
}

void Kernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (inside > 0) return original_.callBoxed(op, keys, stack);
  if (way_ == Way::kHost) return on_host(op, keys, stack);
  Now& here = now();
  const uint32_t outer = here.op;
  // What an operator allocates for its results is its own.
  if (outer == 0 || way_ != Way::kThrough) here.op = number_;
  try {
    if (way_ == Way::kThrough) {
      original_.callBoxed(op, keys, stack);
    } else {
      on_card(op, keys, stack);
    }
  } catch (...) {
    here.op = outer;
    throw;
  }
  here.op = outer;
  note_place();
}

void Kernel::on_host(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const Look found = look(*stack);
  if (!found.plain || found.on_card || dynamic_ || !(found.huge || found.unknown))
    return original_.callBoxed(op, keys, stack);
  Shaped shaped(op, *stack);
  if (!shaped.run(op)) return original_.callBoxed(op, keys, stack);
  shaped.finish(stack);
}

void Kernel::on_card(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const Look found = look(*stack);
  if (!found.plain) return original_.callBoxed(op, keys, stack);
  const std::string called = signature(name_, *stack, stack->size() - written_.size());
  const auto results = op.schema().returns().size();
  const auto note = [&] { ledger().called(called + signature("", *stack, stack->size() - results)); };
  if (found.unknown && answer(op, stack)) return note();
  if (computes_all() || (dynamic_ && !found.unknown)) {
    compute(op, keys, stack, found);
    return note();
  }
  const at::Tensor input = (*stack)[stack->size() - written_.size()].isTensor()
                               ? (*stack)[stack->size() - written_.size()].toTensor()
                               : at::Tensor();
  int64_t dim = input.defined() ? input.dim() - 1 : 0;
  if (dim_ >= 0 && (*stack)[stack->size() - written_.size() + static_cast<size_t>(dim_)].isInt())
    dim = (*stack)[stack->size() - written_.size() + static_cast<size_t>(dim_)].toInt();
  Shaped shaped(op, *stack);
  const bool has_shape = shaped.run(target(op));
  const bool compute_it = !found.unknown && found.small && (!has_shape || shaped.results_are_small());
  if (compute_it || !has_shape) {
    if (!compute_it) callbacks().computed(name_.c_str());
    compute(op, keys, stack, found);
  } else {
    if (copies_to_host(name_, *stack)) read_on_host(name_, *stack);
    shaped.finish(stack);
    if (indices_ >= 0) number_indices(op, input, dim, stack);
  }
  note();
}

void Kernel::compute(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack,
                     const Look& found) {
  std::vector<at::Tensor> changed;
  const size_t first = stack->size() - written_.size();
  for (size_t i = 0; i < written_.size(); ++i)
    if (written_[i] != 0) each_tensor((*stack)[first + i], [&](const at::Tensor& one) { changed.push_back(one); });
  {
    const Inside guard;
    original_.callBoxed(op, keys, stack);
  }
  for (const at::Tensor& tensor : changed) set_unknown(tensor, found.unknown);
  if (!found.unknown) return;
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i)
    each_tensor((*stack)[i], [](const at::Tensor& tensor) { set_unknown(tensor, true); });
}

bool Kernel::answer(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  return answer_unknown(op, name_, stack);
}

// An operator without a meta kernel of torch_npu: the emulator's reference is run on shapes.
const c10::OperatorHandle& Kernel::target(const c10::OperatorHandle& op) {
  if (target_.has_value()) return *target_;
  target_ = op;
  const bool has_meta = reference_code().count(name_) == 0 &&
                        (op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ||
                        op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
                        op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
                        op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd));
  if (!has_meta && callbacks().shape(name_.c_str()) == 0) {
    const auto& name = op.operator_name();
    if (auto own = c10::Dispatcher::singleton().findSchema({"jumar_" + name.name, name.overload_name})) target_ = *own;
  }
  return *target_;
}

void Kernel::number_indices(const c10::OperatorHandle& op, const at::Tensor& input, int64_t dim,
                            torch::jit::Stack* stack) {
  const size_t results = op.schema().returns().size();
  const at::Tensor indices = (*stack)[stack->size() - results + static_cast<size_t>(indices_)].toTensor();
  if (!is_plain(indices) || !is_small(indices) || !indices.is_contiguous() || input.dim() == 0) return;
  spread_evenly(indices, input.size(dim < 0 ? dim + input.dim() : dim));
}

}  // namespace jumar::dry
