// The entries of one step as JSON, the numbers of their tensors, and where tensors came from. The same as log.py.

#pragma once

#include <ATen/Parallel.h>
#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/GradMode.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/function.h>

#include <cstring>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "lines.h"
#include "texts.h"

namespace jumar {

constexpr int kRow = 6 + 256;  // statistics and sketch: STATS and WIDTH in Python
constexpr int kBlock = 256;
constexpr int kNone = -1;     // a tensor without numbers
constexpr int kMeasure = -2;  // a tensor whose numbers are taken here

using Sketch = void (*)(const void*, int, std::uint64_t, unsigned, float*);
using Sizes = c10::SmallVector<std::int64_t, 5>;

struct Out {
  c10::ScalarType type;
  Sizes sizes;
  int row;
};

struct Entry {
  c10::SmallVector<Out, 1> outs;
  int module, line;
};

struct Place {
  int module = -1, line = -1;  // -1: unknown
};

// Of float32, float16, bfloat16, float64, int64, int32, int16, int8, uint8: native/sketch/sketch.cpp.
inline int code_of(c10::ScalarType type) {
  switch (type) {
    case at::kFloat: return 0;
    case at::kHalf: return 1;
    case at::kBFloat16: return 2;
    case at::kDouble: return 3;
    case at::kLong: return 4;
    case at::kInt: return 5;
    case at::kShort: return 6;
    case at::kChar: return 7;
    case at::kByte:
    case at::kBool: return 8;
    default: return -1;
  }
}

class Log {
 public:
  Log(Sketch sketch, std::size_t most, PyObject* file_of)
      : lines(texts, file_of), sketch_(sketch), most_(most), thread_(std::this_thread::get_id()) {}

  Texts texts;
  Lines lines;
  std::vector<int> modules;
  std::string json;
  std::vector<Entry> entries;
  int rows = 0;
  std::string types, devices;  // of all tensors that were measured

  bool is_full() const { return entries.size() >= most_; }

  void name(c10::TensorImpl* tensor, const char* kind, const char* name) {
    names_.try_emplace(tensor, Name{texts.id(kind), texts.id(name)});
  }

  int origin(const at::Tensor& tensor) const {
    if (!tensor.has_storage()) return -1;
    const auto found = origins_.find(tensor.storage().unsafeGetStorageImpl());
    return found == origins_.end() ? -1 : found->second.entry;
  }

  void put(const at::Tensor& tensor, int entry, int output) {
    if (!tensor.has_storage()) return;
    const c10::Storage& storage = tensor.storage();
    origins_.insert_or_assign(storage.unsafeGetStorageImpl(), Origin{storage.getWeakStorageImpl(), entry, output});
  }

  // A new entry for a tensor that no operator made.
  int source(const at::Tensor& given, const char* phase, int row) {
    at::Tensor tensor = given;
    auto named = names_.find(tensor.unsafeGetTensorImpl());
    if (named == names_.end() && tensor.is_view()) {
      const at::Tensor base(tensor._base());
      named = names_.find(base.unsafeGetTensorImpl());
      if (named != names_.end()) tensor = base;
    }
    const bool is_named = named != names_.end();
    const int module = modules.empty() ? 0 : modules.back();
    const std::string kind = is_named ? texts.plain(named->second.kind) : "input";
    const std::string name = is_named ? texts.plain(named->second.name) : title(tensor, module);
    Entry entry{{}, module, is_named ? 0 : lines.here()};
    entry.outs.push_back(kind == "weight" && row == kMeasure ? carry(tensor) : out(tensor, row));
    begin(kind.c_str(), phase);
    json += ",\"name\":";
    write(json, std::string_view(name));
    const int index = end(std::move(entry));
    put(tensor, index, 0);
    return index;
  }

  // A tensor that is no operator's output: a gradient or the state of an optimizer.
  void look(const char* kind, const char* name, const at::Tensor& tensor, const char* phase, int row) {
    const bool is_dense = tensor.has_storage() && tensor.layout() == at::kStrided;
    const auto found = is_dense ? origins_.find(tensor.storage().unsafeGetStorageImpl()) : origins_.end();
    const bool is_known = found != origins_.end();
    const Out* known = nullptr;
    if (is_known && kind[0] == 'g') {
      known = &entries[found->second.entry].outs[found->second.output];
      if (c10::IntArrayRef(known->sizes) != tensor.sizes() || known->row < 0) known = nullptr;
    }
    Entry entry{{}, 0, 0};
    entry.outs.push_back(known ? *known : out(tensor, row));
    if (kind[0] == 's') last_[tensor.unsafeGetTensorImpl()] = {version(tensor), entry.outs[0].row};
    begin(kind, phase);
    json += ",\"name\":";
    write(json, std::string_view(name));
    json += is_known ? ",\"in\":[" : ",\"in\":[]";
    if (is_known) {
      write(json, static_cast<std::int64_t>(found->second.entry));
      json += ']';
    }
    end(std::move(entry));
  }

  // Module and line; in the backward pass those of the forward operator that the autograd node belongs to.
  Place place() {
    const auto node = torch::autograd::get_current_node();
    if (node && modules.empty()) {
      const auto source = by_node_.find(node->sequence_nr());
      if (source == by_node_.end()) return {};
      return {entries[source->second].module, entries[source->second].line};
    }
    const std::uint64_t number = at::sequence_number::peek() - 1;
    if (number != last_node_ && (!node || std::this_thread::get_id() == thread_)) {
      last_node_ = number;
      by_node_[number] = static_cast<int>(entries.size());
    }
    return {modules.empty() ? 0 : modules.back(), lines.here()};
  }

  // What handles gradients after them, such as clipping, belongs to the backward pass.
  const char* phase() {
    if (torch::autograd::get_current_node()) {
      has_gradients_ = true;
      return "backward";
    }
    return has_gradients_ && !c10::GradMode::is_enabled() ? "backward" : "forward";
  }

  Out out(const at::Tensor& tensor, int row) {
    return {tensor.scalar_type(), Sizes(tensor.sizes()), row == kMeasure ? measure(tensor) : row};
  }

  int empty_row() {
    fresh();
    return rows - 1;
  }

  void begin(const char* kind, const char* phase) {
    json += entries.empty() ? "{\"kind\":\"" : ",\n{\"kind\":\"";
    json += kind;
    json += "\",\"phase\":\"";
    json += phase;
    json += '"';
  }

  int end(Entry&& entry) {
    json += ",\"outs\":[";
    for (std::size_t at = 0; at < entry.outs.size(); ++at) {
      json += at ? ",[\"" : "[\"";
      json += name_of(entry.outs[at].type);
      json += "\",";
      write(json, c10::IntArrayRef(entry.outs[at].sizes));
      json += ',';
      write(json, static_cast<std::int64_t>(entry.outs[at].row));
      json += ']';
    }
    json += ']';
    if (entry.module > 0) (json += ",\"mod\":") += texts.json(entry.module);
    if (entry.line > 0) (json += ",\"at\":") += texts.json(entry.line);
    json += '}';
    entries.push_back(std::move(entry));
    return static_cast<int>(entries.size()) - 1;
  }

  // All rows one after the other; what the step leaves for the next one is kept.
  void take(float* into) {
    for (int at = 0; at < rows; at += kBlock)
      std::memcpy(into + static_cast<std::size_t>(at) * kRow, blocks_[at / kBlock].get(),
                  sizeof(float) * kRow * std::min(kBlock, rows - at));
    carried_.clear();
    for (const auto& [tensor, last] : last_)
      if (last.row >= 0) carried_[tensor] = {last.version, {row(last.row), row(last.row) + kRow}};
    last_.clear();
    origins_.clear();
    by_node_.clear();
    last_node_ = ~0ull;
    json.clear();
    entries.clear();
    rows = 0;
    has_gradients_ = false;
  }

 private:
  struct Name {
    int kind, name;
  };
  struct Origin {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // keeps its address from being given to another one
    int entry, output;
  };
  struct Last {
    std::int64_t version;
    int row;
  };
  struct Carried {
    std::int64_t version;
    std::vector<float> row;
  };

  static std::int64_t version(const at::Tensor& tensor) {
    return tensor.is_inference() ? -1 : static_cast<std::int64_t>(tensor._version());
  }

  std::string title(const at::Tensor& tensor, int module) const {
    std::string text = (module ? texts.plain(module) : "input") + " " + name_of(tensor.scalar_type()) + "[";
    for (std::size_t at = 0; at < tensor.sizes().size(); ++at)
      text += (at ? ", " : "") + std::to_string(tensor.sizes()[at]);
    return text + "]";
  }

  // A weight that nobody wrote since the step before is not measured again.
  Out carry(const at::Tensor& tensor) {
    const auto known = carried_.find(tensor.unsafeGetTensorImpl());
    if (known == carried_.end() || known->second.version != version(tensor)) return out(tensor, kMeasure);
    std::memcpy(fresh(), known->second.row.data(), sizeof(float) * kRow);
    return {tensor.scalar_type(), Sizes(tensor.sizes()), rows - 1};
  }

  int measure(const at::Tensor& given) {
    const bool is_readable = given.device().is_cpu() || given.device().is_privateuseone();
    if (!is_readable || given.layout() != at::kStrided || given.is_quantized()) return kNone;
    at::Tensor tensor = given;
    int kind = code_of(tensor.scalar_type());
    if (kind < 0 || tensor.is_conj() || tensor.is_neg()) {
      tensor = tensor.detach();
      tensor = tensor.is_complex() ? at::view_as_real(tensor.resolve_conj()) : tensor.resolve_neg();
      tensor = tensor.to(at::kFloat);
      kind = 0;
    }
    if (!tensor.is_contiguous()) tensor = tensor.detach().contiguous();
    float* const into = fresh();
    const void* const data = tensor.numel() ? tensor.const_data_ptr() : nullptr;  // none in a tensor of known zeros
    if (data) sketch_(data, kind, tensor.numel(), at::get_num_threads(), into);
    meet(given);
    return rows - 1;
  }

  void meet(const at::Tensor& tensor) {
    const std::uint64_t type = 1ull << static_cast<int>(tensor.scalar_type());
    const unsigned device = tensor.device().is_cpu() ? 1 : 2;
    if (!(met_types_ & type)) types += name_of(tensor.scalar_type()) + " ";
    if (!(met_devices_ & device)) devices += c10::DeviceTypeName(tensor.device().type(), true) + " ";
    met_types_ |= type;
    met_devices_ |= device;
  }

  float* row(int number) { return blocks_[number / kBlock].get() + static_cast<std::size_t>(number % kBlock) * kRow; }

  float* fresh() {
    if (static_cast<std::size_t>(rows) == blocks_.size() * kBlock)
      blocks_.emplace_back(new float[static_cast<std::size_t>(kBlock) * kRow]);
    float* const made = row(rows++);
    std::memset(made, 0, sizeof(float) * kRow);
    return made;
  }

  Sketch sketch_;
  std::size_t most_;
  std::thread::id thread_;
  bool has_gradients_ = false;
  std::uint64_t met_types_ = 0;
  unsigned met_devices_ = 0;
  std::unordered_map<c10::TensorImpl*, Name> names_;
  std::unordered_map<c10::StorageImpl*, Origin> origins_;
  std::unordered_map<std::uint64_t, int> by_node_;
  std::uint64_t last_node_ = ~0ull;
  std::unordered_map<c10::TensorImpl*, Last> last_;
  std::unordered_map<c10::TensorImpl*, Carried> carried_;
  std::vector<std::unique_ptr<float[]>> blocks_;
};

}  // namespace jumar
