#include "alias.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "compat.h"
#include "memory.h"
#include "torch_npu/csrc/core/NPUStorageImpl.h"

namespace jumar {
namespace {

void keep(void*) {}

// The layout record torch_npu keeps in each storage. Plain layouts only: the CPU has no others.
void describe(c10::StorageImpl& storage, const at::TensorBase& shape) {
  auto& desc = static_cast<torch_npu::NPUStorageImpl&>(storage).npu_desc_;
  const auto sizes = shape.sizes(), strides = shape.strides();
  const aclFormat format = sizes.size() == 4 ? ACL_FORMAT_NCHW : sizes.size() == 5 ? ACL_FORMAT_NCDHW : ACL_FORMAT_ND;
  desc.base_sizes_.assign(sizes.begin(), sizes.end());
  desc.base_strides_.assign(strides.begin(), strides.end());
  desc.storage_sizes_.assign(sizes.begin(), sizes.end());
  desc.origin_format_ = desc.npu_format_ = format;
  desc.data_type_ = shape.dtype();
}

// torch_npu does not export the constructor of its tensor class, but any tensor of it can be cloned.
const c10::TensorImpl& prototype() {
  static const at::Tensor* const tensor = [] {
    return new at::Tensor(at::empty({0}, at::TensorOptions().device(c10::DeviceType::PrivateUse1)));
  }();
  return *tensor->unsafeGetTensorImpl();
}

at::Tensor npu_tensor(c10::Storage storage, const at::TensorBase& shape) {
  auto impl = prototype().shallow_copy_and_detach(c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true);
  impl->set_storage_and_dtype(std::move(storage), shape.dtype());
  impl->set_sizes_and_strides(shape.sizes(), shape.strides(), shape.storage_offset());
  return at::Tensor(std::move(impl));
}

c10::Storage npu_storage(const c10::Storage& cpu, c10::Device device) {
  static const auto create = c10::GetStorageImplCreate(c10::DeviceType::PrivateUse1);
  static auto* const allocator = c10::GetAllocator(c10::DeviceType::PrivateUse1);
  auto& from = *cpu.unsafeGetStorageImpl();
  const size_t bytes = from.nbytes();
  return {create_storage(create, bytes, take_memory(from, device), allocator)};
}

// Kernels of the chip write their results row by row, whatever the strides of the arguments are.
bool is_written_otherwise(const at::Tensor& cpu) {
  return !cpu.is_contiguous() && cpu.is_non_overlapping_and_dense() && cpu.storage().use_count() == 1 &&
         cpu.storage().nbytes() == cpu.nbytes() && !cpu.is_conj() && !cpu.is_neg();
}

}  // namespace

const c10::Storage& Aliases::cpu_storage(const c10::Storage& npu) {
  for (const auto& pair : storages_)
    if (pair.npu.unsafeGetStorageImpl() == npu.unsafeGetStorageImpl()) return pair.cpu;
  c10::DataPtr memory(npu.mutable_data(), nullptr, &keep, c10::Device(c10::kCPU));
  c10::Storage cpu(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), npu.nbytes(),
                                                         std::move(memory), c10::GetAllocator(c10::kCPU), true));
  storages_.push_back({npu, std::move(cpu)});
  return storages_.back().cpu;
}

const at::Tensor& Aliases::to_cpu(const at::Tensor& npu) {
  for (const auto& pair : tensors_)
    if (pair.npu.unsafeGetTensorImpl() == npu.unsafeGetTensorImpl()) return pair.cpu;
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(cpu_storage(npu.storage())),
                                                   c10::DispatchKeySet(c10::DispatchKey::CPU), npu.dtype());
  const auto& source = *npu.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(npu.sizes(), npu.strides(), npu.storage_offset());
  if (source.is_wrapped_number()) impl->set_wrapped_number(true);
  at::Tensor cpu(std::move(impl));
  if (npu.is_conj()) cpu._set_conj(true);
  if (npu.is_neg()) cpu._set_neg(true);
  tensors_.push_back({npu, std::move(cpu)});
  return tensors_.back().cpu;
}

at::Tensor Aliases::to_npu(at::Tensor cpu, c10::Device device) {
  if (!cpu.defined() || cpu.device().type() != c10::kCPU || !cpu.has_storage()) return cpu;
  for (const auto* impl : host_)
    if (impl == cpu.unsafeGetTensorImpl()) return cpu;
  for (const auto& pair : tensors_)
    if (pair.cpu.unsafeGetTensorImpl() == cpu.unsafeGetTensorImpl()) return pair.npu;
  for (const auto& pair : storages_)
    if (pair.cpu.unsafeGetStorageImpl() == cpu.storage().unsafeGetStorageImpl()) return npu_tensor(pair.npu, cpu);
  if (is_written_otherwise(cpu)) cpu = cpu.contiguous();
  c10::Storage storage = npu_storage(cpu.storage(), device);
  describe(*storage.unsafeGetStorageImpl(), cpu);
  storages_.push_back({storage, cpu.storage()});
  return npu_tensor(std::move(storage), cpu);
}

void Aliases::update(const at::Tensor& npu) {
  const at::Tensor& cpu = to_cpu(npu);
  auto& to = *npu.storage().unsafeGetStorageImpl();
  auto& from = *cpu.storage().unsafeGetStorageImpl();
  if (from.data() != to.data()) {
    const size_t bytes = from.nbytes();
    to.set_data_ptr_noswap(take_memory(from, npu.device()));
    to.set_nbytes(bytes);
    from.set_data_ptr_noswap(c10::DataPtr(to.mutable_data(), nullptr, &keep, c10::Device(c10::kCPU)));
    describe(to, cpu);
  } else if (from.nbytes() != to.nbytes()) {
    to.set_nbytes(from.nbytes());
  }
  if (cpu.sizes() == npu.sizes() && cpu.strides() == npu.strides()) return;
  npu.unsafeGetTensorImpl()->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
}

}  // namespace jumar
