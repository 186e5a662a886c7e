#include "aclnn/call.h"

#include "acl/queue.h"
#include "api.h"
#include "machine/arithmetic.h"
#include "machine/error.h"
#include "machine/half.h"

namespace jumar::aclnn {
namespace {

struct Executor {
  std::function<void()> run;
  bool repeatable = false;
};

}  // namespace

int32_t prepare(const char* name, uint64_t* bytes, void** executor, std::function<void()> run) {
  if (bytes == nullptr || executor == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "%sGetWorkspaceSize: no place for the results", name);
  *bytes = 0;
  *executor = new Executor{std::move(run)};
  return ACL_SUCCESS;
}

int32_t execute(const char* name, void* handle, void* stream) {
  auto* executor = static_cast<Executor*>(handle);
  if (executor == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: no executor", name);
  int32_t code = finish_stream(name, stream);
  if (code == ACL_SUCCESS) {
    try {
      const PlainArithmetic plain;
      executor->run();
    } catch (const kernels::Fault& fault) {
      code = fail(ACL_ERROR_RT_AICPU_EXCEPTION, "jumar: `%s`: %s", name, fault.what());
    } catch (const std::exception& problem) {
      kernels::note_limit(name, problem);
      code = fail(ACL_ERROR_INVALID_PARAM, "jumar: `%s`: %s", name, problem.what());
    }
  }
  if (!executor->repeatable) delete executor;
  return code;
}

kernels::View view(In tensor) {
  if (tensor == nullptr) throw kernels::Unsupported("a tensor is missing");
  auto* data = static_cast<char*>(tensor->data) + tensor->offset * static_cast<int64_t>(element_size(tensor->type));
  const auto strides = tensor->strides.size() == tensor->dims.size() ? tensor->strides
                                                                     : kernels::packed_strides(tensor->dims);
  return {tensor->type, tensor->dims, strides, data};
}

std::vector<kernels::View> views(Tensors tensors) {
  if (tensors == nullptr) throw kernels::Unsupported("a list of tensors is missing");
  std::vector<kernels::View> found;
  for (In tensor : *tensors) found.push_back(view(tensor));
  return found;
}

double value(Number scalar, double missing) {
  if (scalar == nullptr) return missing;
  auto* bytes = const_cast<uint8_t*>(scalar->value);
  return kernels::load<double>({scalar->type, {}, {}, bytes}).at(0);
}

}  // namespace jumar::aclnn

using namespace jumar;

int32_t aclSetAclOpExecutorRepeatable(void* executor) {
  if (executor == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclSetAclOpExecutorRepeatable: no executor");
  static_cast<aclnn::Executor*>(executor)->repeatable = true;
  return ACL_SUCCESS;
}

int32_t aclDestroyAclOpExecutor(void* executor) {
  delete static_cast<aclnn::Executor*>(executor);
  return ACL_SUCCESS;
}

int32_t aclSetTensorAddr(void*, const size_t, void* tensor, void* address) {
  if (tensor == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorAddr: no tensor");
  static_cast<Tensor*>(tensor)->data = address;
  return ACL_SUCCESS;
}

int32_t aclSetDynamicTensorAddr(void*, size_t, const size_t which, void* list, void* address) {
  auto* tensors = static_cast<std::vector<const void*>*>(list);
  if (tensors == nullptr || which >= tensors->size())
    return fail(ACL_ERROR_INVALID_PARAM, "aclSetDynamicTensorAddr: no tensor %zu", which);
  static_cast<Tensor*>(const_cast<void*>((*tensors)[which]))->data = address;
  return ACL_SUCCESS;
}

// An input and an output are the same to a kept call: it holds the tensor.
int32_t aclSetInputTensorAddr(void* executor, const size_t index, void* tensor, void* address) {
  return aclSetTensorAddr(executor, index, tensor, address);
}

int32_t aclSetOutputTensorAddr(void* executor, const size_t index, void* tensor, void* address) {
  return aclSetTensorAddr(executor, index, tensor, address);
}

int32_t aclSetDynamicInputTensorAddr(void* executor, size_t index, const size_t which, void* list, void* address) {
  return aclSetDynamicTensorAddr(executor, index, which, list, address);
}

int32_t aclSetDynamicOutputTensorAddr(void* executor, size_t index, const size_t which, void* list, void* address) {
  return aclSetDynamicTensorAddr(executor, index, which, list, address);
}
