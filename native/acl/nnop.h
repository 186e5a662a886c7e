// What the handles of operator arguments (aclTensor, aclScalar, aclIntArray) point to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jumar {

struct Tensor {
  int32_t type, format;
  std::vector<int64_t> dims, strides, storage;
  int64_t offset;
  void* data;
  bool late = false;  // it came without an address, as in a graph: that is set when it runs
};

struct Scalar {
  int32_t type;
  uint8_t value[16];
};

size_t element_size(int32_t type);  // of an aclDataType

}  // namespace jumar
