#include "shape.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <string>

namespace jumar::dry {
namespace {

const c10::DispatchKeySet kAboveBackend =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;

std::vector<int64_t> row_by_row(c10::IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}

// Meta kernels written in Python raise theirs through the interpreter; the class of that error needs Python's headers.
bool is_not_implemented(const std::exception& error) {
  if (dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr) return true;
  const std::string text = error.what();
  return text.find("NotImplementedError") != std::string::npos || text.find("DataDependent") != std::string::npos;
}

bool keeps_strides(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return name == "aten::clone" || name == "aten::_to_copy" || name == "aten::empty_like";
}

}  // namespace

Lines& lines() {
  static Lines value;
  return value;
}

Shaped::Shaped(const c10::OperatorHandle& op, const torch::jit::Stack& stack)
    : op_(op), device_(c10::DeviceType::PrivateUse1) {
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack.size() - count; i < stack.size(); ++i) stack_.push_back(to_meta(stack[i]));
}

at::Tensor Shaped::to_meta(const at::Tensor& tensor) {
  // A number of the host goes with tensors of any device, and Python's meta kernels ask for its value.
  if (!tensor.defined() || (tensor.device().is_cpu() && tensor.dim() == 0)) return tensor;
  for (const Pair& pair : tensors_)
    if (pair.real.unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl()) return pair.meta;
  if (tensor.device().type() == c10::DeviceType::PrivateUse1 || !has_device_) {
    device_ = tensor.device();
    has_device_ = true;
  }
  auto* const real = tensor.storage().unsafeGetStorageImpl();
  c10::Storage storage;
  for (const auto& [known, meta] : storages_)
    if (known == real) storage = meta;
  if (!storage) {
    c10::DataPtr nothing(nullptr, c10::Device(c10::kMeta));
    storage = c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), real->nbytes(), std::move(nothing), c10::GetAllocator(c10::kMeta), true));
    storages_.emplace_back(real, storage);
  }
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::Meta),
                                                   tensor.dtype());
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  at::Tensor meta(std::move(impl));
  if (tensor.is_conj()) meta._set_conj(true);
  if (tensor.is_neg()) meta._set_neg(true);
  tensors_.push_back({tensor, meta});
  return meta;
}

c10::IValue Shaped::to_meta(const c10::IValue& value) {
  if (value.isTensor()) return to_meta(value.toTensor());
  if (value.isDevice()) {
    if (!has_device_) device_ = value.toDevice();
    has_device_ = true;
    return c10::Device(c10::kMeta);
  }
  if (value.isGenerator()) return c10::IValue();
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(to_meta(tensor));
    return list;
  }
  if (value.isList() && value.toList().elementType()->kind() == c10::TypeKind::OptionalType) {
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue& item : value.toListRef()) {
      if (!item.isNone() && !item.isTensor()) return value;
      list.push_back(item.isNone() ? std::nullopt : std::optional<at::Tensor>(to_meta(item.toTensor())));
    }
    return list;
  }
  return value;
}

bool Shaped::run(const c10::OperatorHandle& target) {
  const c10::impl::ExcludeDispatchKeyGuard below(kAboveBackend);
  const torch::jit::Stack before = stack_;
  try {
    target.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack_);
    return true;
  } catch (const std::exception& error) {
    if (!is_not_implemented(error)) throw;
  }
  stack_ = before;
  return false;
}

bool Shaped::results_are_small() const {
  const auto small = [](const at::Tensor& tensor) { return !tensor.defined() || is_small(tensor); };
  for (const c10::IValue& value : stack_) {
    if (value.isTensor() && !small(value.toTensor())) return false;
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector())
      if (!small(tensor)) return false;
  }
  return true;
}

// As the chip's kernels write them, row by row, whatever the strides of the arguments are; copies keep theirs.
at::Tensor Shaped::allocated(const at::Tensor& meta) {
  const bool own = meta.is_contiguous() || !meta.is_non_overlapping_and_dense() || keeps_strides(op_);
  const auto options = meta.options().device(device_);
  at::Tensor made = own ? at::empty_strided(meta.sizes(), meta.strides(), options)
                        : at::empty_strided(meta.sizes(), row_by_row(meta.sizes()), options);
  set_unknown(made, true);
  return made;
}

at::Tensor Shaped::to_real(const at::Tensor& meta) {
  if (!meta.defined()) return meta;
  for (const Pair& pair : tensors_)
    if (pair.meta.unsafeGetTensorImpl() == meta.unsafeGetTensorImpl()) return pair.real;
  for (const auto& [real, storage] : storages_) {
    if (storage.unsafeGetStorageImpl() != meta.storage().unsafeGetStorageImpl()) continue;
    for (const Pair& pair : tensors_)
      if (pair.real.storage().unsafeGetStorageImpl() == real)
        return pair.real.as_strided(meta.sizes(), meta.strides(), meta.storage_offset());
  }
  return allocated(meta);
}

c10::IValue Shaped::to_real(const c10::IValue& value) {
  if (value.isTensor()) return to_real(value.toTensor());
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> list;
  for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(to_real(tensor));
  return list;
}

void Shaped::finish(torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(kAboveBackend);
  const size_t count = op_.schema().arguments().size();
  const size_t first = stack->size() - count;
  for (size_t i = 0; i < count; ++i) {
    const auto* alias = op_.schema().arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    const auto change = [&](const at::Tensor& real) {
      if (!real.defined()) return;
      const at::Tensor meta = to_meta(real);
      if (meta.sizes() != real.sizes()) real.resize_(meta.sizes());
      set_unknown(real, true);
    };
    const c10::IValue& value = (*stack)[first + i];
    if (value.isTensor()) change(value.toTensor());
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) change(tensor);
  }
  torch::jit::Stack results;
  for (const c10::IValue& value : stack_) results.push_back(to_real(value));
  stack->resize(first);
  for (c10::IValue& value : results) stack->push_back(std::move(value));
}

}  // namespace jumar::dry
