#include "bridge/by_type.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "bridged.h"  // generated

namespace jumar::bridge::by_type {
namespace {

const Row* row_of(const char* type) {
  for (const Row& row : kRows)
    if (std::strcmp(row.type, type) == 0) return &row;
  return nullptr;
}

bool is_input(const Parameter& parameter) { return parameter.kind == kIn || parameter.kind == kBoth; }
bool is_output(const Parameter& parameter) { return parameter.kind == kOut; }

// How many tensors a list has room for, when each of the parameters behind it takes one.
size_t end_of_list(size_t all, size_t first, int64_t behind) {
  const size_t others = static_cast<size_t>(behind);
  return all > first + others ? all - others : first;
}

void quote(std::string& out, const std::string& text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  out += '"';
}

void number(std::string& out, double value) {
  if (!std::isfinite(value)) {  // as Python's reader of JSON takes them
    out += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  out += text;
}

// {"name": [number, "text", [list]]}: which of the three counts is up to the operator.
std::string as_json(const Attributes* attributes) {
  std::string out = "{";
  if (attributes != nullptr)
    for (const auto& [name, value] : attributes->values) {
      if (out.size() > 1) out += ",";
      quote(out, name);
      out += ":[";
      number(out, value.number);
      out += ",";
      quote(out, value.text);
      out += ",[";
      for (size_t i = 0; i < value.list.size(); ++i) {
        if (i != 0) out += ",";
        number(out, value.list[i]);
      }
      out += "]]";
    }
  return out + "}";
}

}  // namespace

const Row* find(const char* type) {
  constexpr char kCustom[] = "Cust";
  constexpr size_t kLength = sizeof(kCustom) - 1;
  const Row* row = row_of(type);
  if (row == nullptr && std::strncmp(type, kCustom, kLength) == 0) row = row_of(type + kLength);
  return row;
}

Call::Call(const Row& row, const aclop::Arguments& arguments) : arguments_(arguments) {
  const Parameter* end = row.parameters + row.count;
  for (const Parameter* parameter = row.parameters; parameter != end; ++parameter) add(*parameter, parameter + 1, end);
}

void Call::add(const Parameter& parameter, const Parameter* behind, const Parameter* end) {
  std::vector<kernels::View>&inputs = arguments_.all_inputs(), &outputs = arguments_.all_outputs();
  const char* name = parameter.name;
  if (is_input(parameter)) {
    if (inputs_ >= inputs.size()) return add_attribute(name, kValue);
    add_tensor(name, parameter.kind, inputs[inputs_++]);
  } else if (is_output(parameter)) {
    if (outputs_ < outputs.size()) add_tensor(name, kOut, outputs[outputs_++]);
  } else if (parameter.kind == kList) {
    const size_t last = end_of_list(inputs.size(), inputs_, std::count_if(behind, end, is_input));
    add_list(name, kList, kIn, inputs, inputs_, last);
    inputs_ = last;
  } else if (parameter.kind == kOutList) {
    const size_t last = end_of_list(outputs.size(), outputs_, std::count_if(behind, end, is_output));
    add_list(name, kOutList, kOut, outputs, outputs_, last);
    outputs_ = last;
  } else if (parameter.kind == kAttributes) {
    add_text(name, kAttributes, as_json(arguments_.attributes));
  } else {
    add_attribute(name, parameter.kind);
  }
}

void Call::add_tensor(const char* name, Kind role, kernels::View& view) {
  seen_.push_back({view.type < 0 ? kNothing : role, view.type, static_cast<int64_t>(view.dims.size()),
                   view.dims.data(), view.strides.data(), view.data, 0, nullptr, name});
}

void Call::add_list(const char* name, Kind list, Kind role, std::vector<kernels::View>& views, size_t first,
                    size_t end) {
  seen_.push_back({list, 0, static_cast<int64_t>(end - first), nullptr, nullptr, nullptr, 0, nullptr, name});
  for (size_t at = first; at < end; ++at) add_tensor(nullptr, role, views[at]);
}

void Call::add_attribute(const char* name, Kind kind) {
  const Attribute* attribute = arguments_.find(name);
  if (attribute == nullptr) return;
  if (kind == kValue) kind = !attribute->list.empty() ? kNumbers : !attribute->text.empty() ? kText : kValue;
  if (kind == kText) return add_text(name, kText, attribute->text);
  Seen seen{kind, kernels::kDouble, 0, nullptr, nullptr, nullptr, attribute->number, nullptr, name};
  if (kind == kNumbers) {
    seen.count = static_cast<int64_t>(attribute->list.size());
    seen.data = const_cast<double*>(attribute->list.data());
  } else if (kind == kInteger || kind == kIntegers) {
    integers_.emplace_back(attribute->list.begin(), attribute->list.end());
    if (kind == kInteger) integers_.back() = {static_cast<int64_t>(attribute->number)};
    seen.count = static_cast<int64_t>(integers_.back().size());
    seen.dims = integers_.back().data();
  }
  seen_.push_back(seen);
}

void Call::add_text(const char* name, Kind kind, std::string text) {
  texts_.push_back(std::move(text));
  seen_.push_back({kind, 0, 0, nullptr, nullptr, nullptr, 0, texts_.back().c_str(), name});
}

}  // namespace jumar::bridge::by_type
