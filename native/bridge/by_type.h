// Calls of operators by type, as their rows in native/api/mindspore say: what Python sees is what it sees of aclnn.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "bridge/bridge.h"

namespace jumar::bridge::by_type {

const Row* find(const char* type);  // MindSpore's own kernels for the device's processor are `Cust` and a type

// The arguments in the order of the row. An input that is not there may be an attribute of the same name, as in the
// forms of operators whose name ends in D; what is neither is left out.
class Call {
 public:
  Call(const Row& row, const aclop::Arguments& arguments);
  const std::vector<Seen>& seen() const { return seen_; }

 private:
  void add(const Parameter& parameter, const Parameter* behind, const Parameter* end);
  void add_tensor(const char* name, Kind role, kernels::View& view);
  void add_list(const char* name, Kind list, Kind role, std::vector<kernels::View>& views, size_t first, size_t end);
  void add_attribute(const char* name, Kind kind);
  void add_text(const char* name, Kind kind, std::string text);

  const aclop::Arguments& arguments_;
  size_t inputs_ = 0, outputs_ = 0;  // that are passed so far
  std::vector<Seen> seen_;
  std::deque<std::string> texts_;
  std::deque<std::vector<int64_t>> integers_;
};

}  // namespace jumar::bridge::by_type
