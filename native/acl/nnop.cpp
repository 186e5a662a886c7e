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

int32_t aclGetViewShape(const void* tensor, int64_t** dims, uint64_t* count) {
  const auto& sizes = static_cast<const Tensor*>(tensor)->dims;
  *dims = new int64_t[sizes.size()];
  std::copy(sizes.begin(), sizes.end(), *dims);
  *count = sizes.size();
  return ACL_SUCCESS;
}
