#include "hccl/types.h"

namespace jumar::hccl {
namespace {

struct Type {
  const char* name;
  size_t size;
};

constexpr Type kTypes[] = {{"int8", 1},    {"int16", 2},   {"int32", 4},    {"float16", 2},  {"float32", 4},
                           {"int64", 8},   {"uint64", 8},  {"uint8", 1},    {"uint16", 2},   {"uint32", 4},
                           {"float64", 8}, {"bfloat16", 2}, {"int128", 16}, {nullptr, 0},    {"hifloat8", 1},
                           {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"fp8_e8m0", 1}};
constexpr int32_t kTypeCount = sizeof kTypes / sizeof kTypes[0];
constexpr const char* kOps[] = {"sum", "prod", "max", "min"};
constexpr const char* kKinds[] = {"nothing",       "AllReduce",      "Broadcast", "Reduce",   "AllGather",   "AllGatherV",
                                  "ReduceScatter", "ReduceScatterV", "Scatter",   "AlltoAll", "AlltoAllV",
                                  "AlltoAllVC",    "Barrier"};

}  // namespace

size_t type_size(int32_t type) { return type >= 0 && type < kTypeCount ? kTypes[type].size : 0; }

const char* type_name(int32_t type) { return type_size(type) != 0 ? kTypes[type].name : "unknown"; }

const char* op_name(int32_t op) { return op >= kSum && op <= kMin ? kOps[op] : nullptr; }

const char* kind_name(Kind kind) { return kKinds[static_cast<uint32_t>(kind)]; }

bool can_reduce(int32_t type) { return type_size(type) != 0 && type < kInt128; }

}  // namespace jumar::hccl
