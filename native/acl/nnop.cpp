// The objects that arguments of an operator call (aclnn) are wrapped in.
#include "acl/nnop.h"

#include <algorithm>

#include "api.h"
#include "machine/error.h"

using namespace jumar;

namespace {

template <typename T>
using List = std::vector<T>;

// Real types of the handles differ in their element type only; freeing needs to know which.
template <typename T>
void* keep(const T* values, uint64_t count) {
  return new List<T>(values, values + count);
}

template <typename T>
int32_t drop(const void* list) {
  delete static_cast<const List<T>*>(list);
  return ACL_SUCCESS;
}

template <typename T>
int32_t count_of(const char* function, const void* list, uint64_t* size) {
  if (list == nullptr || size == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: no list or output", function);
  *size = static_cast<const List<T>*>(list)->size();
  return ACL_SUCCESS;
}

template <typename T>
int32_t hand_out(const char* function, const void* tensor, T Tensor::*member, T* out) {
  if (tensor == nullptr || out == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: no tensor or output", function);
  *out = static_cast<const Tensor*>(tensor)->*member;
  return ACL_SUCCESS;
}

// The caller frees the numbers with `delete[]`, as with the vendor's library.
int32_t hand_out(const char* function, const void* tensor, List<int64_t> Tensor::*member, int64_t** out,
                 uint64_t* count) {
  if (tensor == nullptr || out == nullptr || count == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "%s: no tensor or output", function);
  const auto& numbers = static_cast<const Tensor*>(tensor)->*member;
  *out = new int64_t[numbers.size()];
  std::copy(numbers.begin(), numbers.end(), *out);
  *count = numbers.size();
  return ACL_SUCCESS;
}

}  // namespace

namespace jumar {

size_t element_size(int32_t type) {
  switch (type) {
    case 2: case 4: case 12: case 34: case 35: case 36: return 1;  // int8, uint8, bool, 8-bit floats
    case 1: case 6: case 7: case 27: return 2;                     // float16, int16, uint16, bfloat16
    case 0: case 3: case 8: return 4;                              // float, int32, uint32
    case 17: return 16;                                            // complex128
    default: return 8;
  }
}

}  // namespace jumar

void* aclCreateTensor(const int64_t* dims, uint64_t dims_count, int32_t type, const int64_t* strides, int64_t offset,
                      int32_t format, const int64_t* storage, uint64_t storage_count, void* data) {
  std::vector<int64_t> steps;
  if (strides != nullptr) steps.assign(strides, strides + dims_count);
  return new Tensor{type,  format, {dims, dims + dims_count}, std::move(steps), {storage, storage + storage_count},
                    offset, data, data == nullptr};
}

void* aclCreateScalar(void* value, int32_t type) {
  auto* scalar = new Scalar{type, {}};
  __builtin_memcpy(scalar->value, value, element_size(type));
  return scalar;
}

void* aclCreateIntArray(const int64_t* values, uint64_t count) { return keep(values, count); }
void* aclCreateFloatArray(const float* values, uint64_t count) { return keep(values, count); }
void* aclCreateBoolArray(const bool* values, uint64_t count) {
  return keep(reinterpret_cast<const uint8_t*>(values), count);
}
void* aclCreateTensorList(const void* const* values, uint64_t count) { return keep(values, count); }
void* aclCreateScalarList(const void* const* values, uint64_t count) { return keep(values, count); }

int32_t aclDestroyTensor(const void* tensor) {
  delete static_cast<const Tensor*>(tensor);
  return ACL_SUCCESS;
}

int32_t aclDestroyScalar(const void* scalar) {
  delete static_cast<const Scalar*>(scalar);
  return ACL_SUCCESS;
}

int32_t aclDestroyIntArray(const void* list) { return drop<int64_t>(list); }
int32_t aclDestroyFloatArray(const void* list) { return drop<float>(list); }
int32_t aclDestroyBoolArray(const void* list) { return drop<uint8_t>(list); }

// A list owns its members, as with the vendor's library.
int32_t aclDestroyTensorList(const void* list) {
  if (list == nullptr) return ACL_SUCCESS;
  for (const void* tensor : *static_cast<const List<const void*>*>(list)) aclDestroyTensor(tensor);
  return drop<const void*>(list);
}

int32_t aclDestroyScalarList(const void* list) {
  if (list == nullptr) return ACL_SUCCESS;
  for (const void* scalar : *static_cast<const List<const void*>*>(list)) aclDestroyScalar(scalar);
  return drop<const void*>(list);
}

int32_t aclInitTensor(void* tensor, const int64_t* dims, uint64_t dims_count, int32_t type, const int64_t* strides,
                      int64_t offset, int32_t format, const int64_t* storage, uint64_t storage_count, void* data) {
  if (tensor == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclInitTensor: no tensor");
  auto* fresh = static_cast<Tensor*>(
      aclCreateTensor(dims, dims_count, type, strides, offset, format, storage, storage_count, data));
  *static_cast<Tensor*>(tensor) = std::move(*fresh);
  delete fresh;
  return ACL_SUCCESS;
}

int32_t aclGetViewShape(const void* tensor, int64_t** dims, uint64_t* count) {
  return hand_out("aclGetViewShape", tensor, &Tensor::dims, dims, count);
}

int32_t aclGetStorageShape(const void* tensor, int64_t** dims, uint64_t* count) {
  return hand_out("aclGetStorageShape", tensor, &Tensor::storage, dims, count);
}

int32_t aclGetViewStrides(const void* tensor, int64_t** strides, uint64_t* count) {
  return hand_out("aclGetViewStrides", tensor, &Tensor::strides, strides, count);
}

int32_t aclGetViewOffset(const void* tensor, int64_t* offset) {
  return hand_out("aclGetViewOffset", tensor, &Tensor::offset, offset);
}

int32_t aclGetFormat(const void* tensor, int32_t* format) {
  return hand_out("aclGetFormat", tensor, &Tensor::format, format);
}

int32_t aclGetDataType(const void* tensor, int32_t* type) {
  return hand_out("aclGetDataType", tensor, &Tensor::type, type);
}

int32_t aclGetRawTensorAddr(const void* tensor, void** address) {
  return hand_out("aclGetRawTensorAddr", tensor, &Tensor::data, address);
}

int32_t aclSetRawTensorAddr(void* tensor, void* address) {
  if (tensor == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclSetRawTensorAddr: no tensor");
  static_cast<Tensor*>(tensor)->data = address;
  return ACL_SUCCESS;
}

int32_t aclGetIntArraySize(const void* list, uint64_t* size) { return count_of<int64_t>("aclGetIntArraySize", list, size); }
int32_t aclGetFloatArraySize(const void* list, uint64_t* size) {
  return count_of<float>("aclGetFloatArraySize", list, size);
}
int32_t aclGetBoolArraySize(const void* list, uint64_t* size) {
  return count_of<uint8_t>("aclGetBoolArraySize", list, size);
}
int32_t aclGetTensorListSize(const void* list, uint64_t* size) {
  return count_of<const void*>("aclGetTensorListSize", list, size);
}
int32_t aclGetScalarListSize(const void* list, uint64_t* size) {
  return count_of<const void*>("aclGetScalarListSize", list, size);
}
