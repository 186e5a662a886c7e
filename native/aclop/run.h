// The operators of the older interface: called by type, with descriptors and attributes.
#pragma once
#include <string>
#include <vector>

#include "acl/op.h"
#include "kernels/view.h"

namespace jumar::aclop {

class Arguments {
 public:
  const Attributes* attributes = nullptr;

  void add_input(const Descriptor& descriptor, const Buffer& buffer);
  void add_output(const Descriptor& descriptor, const Buffer& buffer);

  // Throw where there is no such tensor.
  kernels::View in(size_t index) const;
  kernels::View out(size_t index) const;
  size_t inputs() const { return inputs_.size(); }
  std::vector<kernels::View>& all_inputs() const { return inputs_; }
  std::vector<kernels::View>& all_outputs() const { return outputs_; }  // an operator may make one smaller
  size_t outputs() const { return outputs_.size(); }
  bool has_in(size_t index) const;
  double number_in(size_t index) const;  // of an input with one element

  double number(const char* name, double missing) const;
  std::string text(const char* name, const char* missing) const;
  kernels::Dims list(const char* name) const;  // empty where it is missing
  const Attribute* find(const char* name) const;

 private:
  mutable std::vector<kernels::View> inputs_, outputs_;
};

struct Entry {
  const char* type;
  void (*run)(const Arguments&);
};

extern const std::vector<Entry> kActivations, kIndexing, kLosses, kNetwork, kNorms, kOptimizers, kPlain, kRandom, kShapes,
    kVision;

bool exists(const char* type);
// `known` says whether there is an operator of this type; the error of one that fails is that of the calling thread.
int32_t run(const char* type, const Arguments& arguments, bool* known);

}  // namespace jumar::aclop
