// What MindSpore and programs in C ask of descriptors and buffers beside what acl/op.cpp has.
#include "acl/nnop.h"
#include "acl/op.h"
#include "api.h"
#include "kernels/view.h"
#include "machine/error.h"
#include "machine/half.h"

using namespace jumar;

int32_t aclSetTensorConst(void* descriptor, void* data, size_t bytes) {
  if (descriptor == nullptr || data == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorConst: no descriptor or data");
  const auto* from = static_cast<const uint8_t*>(data);
  static_cast<Descriptor*>(descriptor)->constant.assign(from, from + bytes);
  return ACL_SUCCESS;
}

size_t aclDataTypeSize(int32_t type) { return element_size(type); }

void* aclGetDataBufferAddr(const void* buffer) {
  return buffer != nullptr ? static_cast<const Buffer*>(buffer)->data : nullptr;
}

size_t aclGetDataBufferSizeV2(const void* buffer) {
  return buffer != nullptr ? static_cast<const Buffer*>(buffer)->size : 0;
}

uint32_t aclGetDataBufferSize(const void* buffer) { return static_cast<uint32_t>(aclGetDataBufferSizeV2(buffer)); }

float aclFloat16ToFloat(uint16_t bits) { return static_cast<float>(Float16{bits}); }
uint16_t aclFloatToFloat16(float value) { return Float16::from(value).bits; }

int32_t aclUpdateDataBuffer(void* buffer, void* data, size_t size) {
  if (buffer == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclUpdateDataBuffer: no buffer");
  *static_cast<Buffer*>(buffer) = {data, size};
  return ACL_SUCCESS;
}

int64_t aclGetTensorDescDim(const void* descriptor, size_t index) {
  const auto& dims = static_cast<const Descriptor*>(descriptor)->dims;
  return index < dims.size() ? dims[index] : -1;
}

size_t aclGetTensorDescElementCount(const void* descriptor) {
  return static_cast<size_t>(kernels::count(static_cast<const Descriptor*>(descriptor)->dims));
}

const char* aclGetTensorDescName(void* descriptor) { return static_cast<Descriptor*>(descriptor)->name.c_str(); }

size_t aclGetTensorDescSize(const void* descriptor) {
  const auto* of = static_cast<const Descriptor*>(descriptor);
  return static_cast<size_t>(kernels::count(of->dims)) * element_size(of->type);
}

int32_t aclopSetAttrListString(void* attributes, const char* name, int32_t, const char**) {
  if (attributes == nullptr || name == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttrListString: no attributes or name");
  static_cast<Attributes*>(attributes)->values[name] = {};  // no operator that runs here has such an attribute
  return ACL_SUCCESS;
}

// A client takes no handle for a failure.
void* aclrtAllocatorCreateDesc() {
  static char description;
  return &description;
}
