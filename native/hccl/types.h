// Facts of the HCCL interface: data types, reductions, and the names they have in messages.
#pragma once
#include <cstddef>
#include <cstdint>

namespace jumar::hccl {

enum class Kind : uint32_t {
  kNone,
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kAllGatherV,
  kReduceScatter,
  kReduceScatterV,
  kScatter,
  kAlltoAll,
  kAlltoAllV,
  kAlltoAllVC,
  kBarrier,
};

constexpr int32_t kSum = 0, kProd = 1, kMax = 2, kMin = 3;
constexpr int32_t kInt8 = 0, kInt16 = 1, kInt32 = 2, kFp16 = 3, kFp32 = 4, kInt64 = 5, kUint64 = 6, kUint8 = 7,
                  kUint16 = 8, kUint32 = 9, kFp64 = 10, kBfp16 = 11, kInt128 = 12, kHif8 = 14, kFp8E4M3 = 15,
                  kFp8E5M2 = 16, kFp8E8M0 = 17;

size_t type_size(int32_t type);  // 0: not a data type
const char* type_name(int32_t type);
const char* op_name(int32_t op);  // nullptr: not a reduction
const char* kind_name(Kind kind);
bool can_reduce(int32_t type);

}  // namespace jumar::hccl
