// One call of an operator: its arguments as JSON and the tensors among them, noted before it may change them.

#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "log.h"

namespace jumar {

// Constant facts about an operator; facts.py decides them.
struct Facts {
  enum Flag { kSilent = 1, kView = 2, kCopy = 4, kEmpty = 8, kInPython = 16 };
  enum Kind : char { kPlain, kType, kLayout, kMemory };
  struct Argument {
    std::string name;      // as JSON, with the colon
    std::string fallback;  // the default as JSON; empty where a record does not have it
    Kind kind;
    bool is_changed, is_written;
  };
  int flags = 0;
  std::string head;  // the operator as JSON
  std::vector<Argument> arguments;
  std::size_t keywords = 0;  // where those begin that are given by name only

  bool is(Flag flag) const { return flags & flag; }
};

// Every tensor of a value, in order.
template <typename Visit>
void each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    if (value.unsafeToTensorImpl() != c10::UndefinedTensorImpl::singleton()) visit(value.toTensor());
  } else if (value.isTensorList() || value.isList()) {
    for (const c10::IValue& one : value.toListRef()) each_tensor(one, visit);
  } else if (value.isTuple()) {
    for (const c10::IValue& one : value.toTupleRef().elements()) each_tensor(one, visit);
  }
}

// Whose memory can be read here: that of the host, and of an NPU if it is an emulated one, which Python knows.
using Reads = int (*)();

class Memory {
 public:
  explicit Memory(Reads reads) : ask_(reads) {}

  bool reads(c10::Device device) {
    if (device.is_cpu() || !device.is_privateuseone()) return device.is_cpu();
    if (npu_ < 0) npu_ = ask_();
    return npu_ == 1;
  }

 private:
  Reads ask_;
  int npu_ = -1;
};

// What is rare is left to Python: complex numbers, symbols, sparse tensors, subclasses, other devices.
inline bool can_note(const c10::IValue& value, Memory& memory) {
  if (value.isTensor()) {
    const c10::TensorImpl* const tensor = value.unsafeToTensorImpl();
    if (tensor == c10::UndefinedTensorImpl::singleton()) return true;
    if (tensor->is_wrapped_number()) return !c10::isComplexType(c10::typeMetaToScalarType(tensor->dtype()));
    return tensor->layout() == at::kStrided && tensor->has_storage() &&
           !tensor->key_set().has(c10::DispatchKey::Python) && memory.reads(tensor->device());
  }
  if (value.isDevice()) return memory.reads(value.toDevice());
  if (value.isNone() || value.isInt() || value.isDouble() || value.isBool() || value.isString() || value.isGenerator())
    return true;
  if (!value.isList()) return false;
  for (const c10::IValue& one : value.toListRef())
    if (!can_note(one, memory)) return false;
  return true;
}

class Call {
 public:
  Call(Log& log, const Facts& facts, const char* phase) : phase(phase), log_(log), facts_(facts) {}

  const char* phase;
  std::string args;
  c10::SmallVector<at::Tensor, 4> tensors;
  c10::SmallVector<int, 4> inputs;

  void note(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values) {
    for (std::size_t at = 0; at < values.size(); ++at)
      if (facts_.arguments[at].is_written)
        each_tensor(values[at], [&](const at::Tensor& tensor) {
          if (log_.origin(tensor) < 0) log_.source(tensor, phase, kNone);
        });
    const std::size_t positional = last_given(schema, values);
    std::vector<std::string> told(values.size());
    for (std::size_t at = 0; at < values.size(); ++at)
      if (at < positional || (at >= facts_.keywords && !is_default(schema, values, at)))
        value(values[at], facts_.arguments[at].kind, told[at]);
    arrange(told);
  }

  // Shapes of inputs that are views of what their source made.
  void write_inputs(std::string& json) const {
    json += ",\"in\":[";
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      if (at) json += ',';
      write(json, static_cast<std::int64_t>(inputs[at]));
    }
    json += ']';
    if (!has_shapes_) return;
    json += ",\"shapes\":[";
    for (std::size_t at = 0; at < shapes_.size(); ++at) {
      if (at) json += ',';
      if (shapes_[at].second) write(json, c10::IntArrayRef(shapes_[at].first));
      else json += "null";
    }
    json += ']';
  }

 private:
  static bool is_default(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values, std::size_t at) {
    const auto& fallback = schema.arguments()[at].default_value();
    return fallback.has_value() && *fallback == values[at];
  }

  // As torch hands them to Python: defaults at the end are left out.
  std::size_t last_given(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values) const {
    std::size_t count = facts_.keywords;
    while (count && is_default(schema, values, count - 1)) --count;
    return count;
  }

  // First those with a default, then the others, as in Python.
  void arrange(const std::vector<std::string>& told) {
    for (const bool first : {true, false})
      for (std::size_t at = 0; at < told.size(); ++at) {
        const Facts::Argument& argument = facts_.arguments[at];
        if (argument.fallback.empty() == first || (!first && told[at].empty())) continue;
        if (!args.empty()) args += ',';
        args += argument.name;
        args += told[at].empty() ? argument.fallback : told[at];
      }
  }

  void value(const c10::IValue& given, Facts::Kind kind, std::string& out) {
    if (given.isTensor()) return tensor(given, out);
    if (given.isBool()) {
      out += given.toBool() ? "true" : "false";
    } else if (given.isInt()) {
      number(given.toInt(), kind, out);
    } else if (given.isDouble()) {
      write(out, given.toDouble());
    } else if (given.isString()) {
      const auto text = given.toStringView();  // of a class of torch's own before 2.6
      write(out, std::string_view(text.data(), text.size()));
    } else if (given.isDevice()) {
      write(out, std::string_view(given.toDevice().str()));
    } else if (given.isGenerator()) {
      out += "\"<generator>\"";
    } else if (given.isList()) {
      out += '[';
      bool is_first = true;
      for (const c10::IValue& one : given.toListRef()) {
        if (!is_first) out += ',';
        is_first = false;
        value(one, kind, out);
      }
      out += ']';
    } else {
      out += "null";
    }
  }

  static c10::IValue number_in(const at::Tensor& tensor) {
    const void* const data = tensor.const_data_ptr();
    switch (tensor.scalar_type()) {
      case at::kBool: return *static_cast<const bool*>(data);
      case at::kLong: return *static_cast<const std::int64_t*>(data);
      case at::kDouble: return *static_cast<const double*>(data);
      default: return tensor.item();
    }
  }

  // In the order of c10::Layout and c10::MemoryFormat.
  static constexpr const char* kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "_mkldnn",
                                             "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
  static constexpr const char* kFormats[] = {"contiguous_format", "preserve_format", "channels_last",
                                             "channels_last_3d"};

  template <std::size_t count>
  static const char* named(std::int64_t given, const char* const (&names)[count]) {
    return given >= 0 && given < static_cast<std::int64_t>(count) ? names[given] : "unknown";
  }

  static void number(std::int64_t given, Facts::Kind kind, std::string& out) {
    constexpr std::int64_t kInfinite = std::int64_t{1} << 62;
    if (kind == Facts::kType) {
      ((out += "\"torch.") += name_of(static_cast<c10::ScalarType>(given))) += '"';
    } else if (kind == Facts::kLayout) {
      ((out += "\"torch.") += named(given, kLayouts)) += '"';
    } else if (kind == Facts::kMemory) {
      ((out += "\"torch.") += named(given, kFormats)) += '"';
    } else if (given > -kInfinite && given < kInfinite) {
      write(out, given);
    } else {
      write(out, std::string_view(std::to_string(given)));
    }
  }

  void tensor(const c10::IValue& given, std::string& out) {
    if (given.unsafeToTensorImpl() == c10::UndefinedTensorImpl::singleton()) {
      out += "null";
      return;
    }
    const at::Tensor& tensor = given.toTensor();
    // A number that torch made a tensor of is a number for Python.
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return value(number_in(tensor), Facts::kPlain, out);
    int source = log_.origin(tensor);
    if (source < 0) source = log_.source(tensor, phase, kMeasure);
    const auto& known = log_.entries[source].outs;
    const bool is_view = known.empty() || c10::IntArrayRef(known[0].sizes) != tensor.sizes();
    has_shapes_ |= is_view;
    shapes_.emplace_back(is_view ? Sizes(tensor.sizes()) : Sizes(), is_view);
    out += "\"$";
    write(out, static_cast<std::int64_t>(inputs.size()));
    out += '"';
    tensors.push_back(tensor);
    inputs.push_back(source);
  }

  Log& log_;
  const Facts& facts_;
  c10::SmallVector<std::pair<Sizes, bool>, 4> shapes_;
  bool has_shapes_ = false;
};

}  // namespace jumar
