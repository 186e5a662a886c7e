#include "aclop/run.h"

#include <cstring>

#include "bridge/bridge.h"
#include "machine/arithmetic.h"
#include "machine/error.h"

namespace jumar::aclop {
namespace {

constexpr int32_t kUndefined = -1;  // the type in the place of an input that is not given

kernels::View view_of(const Descriptor& descriptor, const Buffer& buffer) {
  void* data = descriptor.constant.empty() ? buffer.data : const_cast<uint8_t*>(descriptor.constant.data());
  return {descriptor.type, descriptor.dims, kernels::packed_strides(descriptor.dims), data};
}

const kernels::View& entry(const std::vector<kernels::View>& all, size_t index, const char* what) {
  if (index >= all.size() || all[index].type == kUndefined)
    throw kernels::Unsupported(std::string(what) + " " + std::to_string(index) + " is missing");
  return all[index];
}

const Entry* find_entry(const char* type) {
  for (const auto* family : {&kActivations, &kIndexing, &kLosses, &kNetwork, &kNorms, &kOptimizers, &kPlain,
                             &kRandom, &kShapes, &kVision})
    for (const Entry& one : *family)
      if (std::strcmp(one.type, type) == 0) return &one;
  return nullptr;
}

void compute(const Entry* found, const char* type, const Arguments& arguments) {
  if (found == nullptr) return bridge::call(type, arguments);
  try {
    found->run(arguments);
  } catch (const kernels::ComplexNumbers&) {
    bridge::check_complex(type);
    bridge::call(type, arguments);
  }
}

}  // namespace

void Arguments::add_input(const Descriptor& descriptor, const Buffer& buffer) {
  inputs_.push_back(view_of(descriptor, buffer));
}
void Arguments::add_output(const Descriptor& descriptor, const Buffer& buffer) {
  outputs_.push_back(view_of(descriptor, buffer));
}

kernels::View Arguments::in(size_t index) const { return entry(inputs_, index, "input"); }
kernels::View Arguments::out(size_t index) const { return entry(outputs_, index, "output"); }
bool Arguments::has_in(size_t index) const { return index < inputs_.size() && inputs_[index].type != kUndefined; }
double Arguments::number_in(size_t index) const { return kernels::load<double>(in(index)).at(0); }

const Attribute* Arguments::find(const char* name) const {
  if (attributes == nullptr) return nullptr;
  const auto found = attributes->values.find(name);
  return found != attributes->values.end() ? &found->second : nullptr;
}

double Arguments::number(const char* name, double missing) const {
  const Attribute* found = find(name);
  return found != nullptr ? found->number : missing;
}

std::string Arguments::text(const char* name, const char* missing) const {
  const Attribute* found = find(name);
  return found != nullptr ? found->text : missing;
}

kernels::Dims Arguments::list(const char* name) const {
  const Attribute* found = find(name);
  return found != nullptr ? kernels::Dims(found->list.begin(), found->list.end()) : kernels::Dims();
}

int32_t run(const char* type, const Arguments& arguments, bool* known) {
  const Entry* found = find_entry(type);
  *known = found != nullptr || bridge::knows(type);
  if (!*known) return ACL_SUCCESS;
  try {
    const PlainArithmetic plain;
    compute(found, type, arguments);
    return ACL_SUCCESS;
  } catch (const std::exception& problem) {
    kernels::note_limit(type, problem);
    return fail_aloud(ACL_ERROR_INVALID_PARAM, type, std::string("jumar: operator `") + type + "`: " + problem.what());
  }
}

bool exists(const char* type) { return find_entry(type) != nullptr || bridge::knows(type); }

}  // namespace jumar::aclop
