// The emulated machine: which chip, how many cards, how much memory; read from the environment once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jumar {

struct Chip {
  const char* name;
  const char* short_name;
  int memory_mib, ai_core, cube_core, vector_core, ai_cpu, l2_mib, ub_kib, cube_mhz, arch, bf16, inf_nan;
};

struct Profile {
  Chip chip;
  int cards;
  size_t memory;  // bytes per card
  bool dry;       // no arithmetic, no peers: large copies are left out and collectives return at once
  std::string cann;
  std::string problem;  // why the environment cannot be used; empty when it can
};

const Profile& profile();

// The card behind each logical device, from the first time that a device is used on.
const std::vector<int>& visible();

// How many there are; a program may still change the variable before it uses a device.
size_t visible_count();

}  // namespace jumar
