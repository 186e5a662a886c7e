// What the handles of the older operator interface (aclop) point to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace jumar {

struct Buffer {
  void* data;
  size_t size;
};

struct Descriptor {
  int32_t type;
  int32_t format;
  int32_t placement;
  std::vector<int64_t> dims;
  std::string name;
  std::vector<uint8_t> constant;  // the value of an input that is known before the operator runs
};

// One attribute: which of the members counts is up to the operator that asks.
struct Attribute {
  double number = 0;
  std::string text;
  std::vector<double> list;
};

struct Attributes {
  std::map<std::string, Attribute> values;
  mutable uint64_t draws = 0;  // how often an operator that was given these has drawn random numbers
};

}  // namespace jumar
