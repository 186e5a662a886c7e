// Bringing the ranks of a new communicator together.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "hccl/comm.h"

namespace jumar::hccl {

// What HcclGetRootInfo hands out, within the vendor's 4108 bytes.
struct RootInfo {
  uint32_t magic;
  int32_t pid;
  uint64_t started;
  uint64_t id;
  char boot[40];  // tells machines apart
  char host[64];
};

RootInfo make_root();  // throws Broken
std::shared_ptr<Comm> join_root(const RootInfo& root, uint32_t ranks, uint32_t rank, Settings settings);

// For ranks that share a piece of knowledge but no root info: rank 0 opens the meeting named after it.
std::shared_ptr<Comm> join_named(const std::string& key, uint32_t ranks, uint32_t rank, Settings settings);

// All ranks in this process.
std::vector<std::shared_ptr<Comm>> make_all(uint32_t ranks);

}  // namespace jumar::hccl
