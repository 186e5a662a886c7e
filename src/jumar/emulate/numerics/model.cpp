#include "model.h"

#include <ATen/Context.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "format.h"
#include "order.h"

namespace jumar::numerics {
namespace {

struct Settings {
  std::atomic<bool> active{false};
  std::atomic<Format> convolution{Format::kKept}, matmul{Format::kKept};
  std::atomic<bool> saturates{false}, overflowed{false};
} settings;

struct Row {
  std::string kind, name;
  std::vector<std::string> arguments;
};

std::vector<Row>& rows() {
  static auto* const all = new std::vector<Row>;
  return *all;
}

const std::map<std::string, Order> kOrders = {
    {"order:index_add", Order::kIndexAdd},     {"order:index_put", Order::kIndexPut},
    {"order:embedding", Order::kEmbedding},    {"order:scatter_add", Order::kScatterAdd},
    {"order:convolution", Order::kConvolution}};

bool matches(const std::string& pattern, const std::string& name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

int place_of(const c10::OperatorHandle& op, const std::string& argument) {
  const auto& all = op.schema().arguments();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name() == argument) return static_cast<int>(i);
  return -1;
}

void add(Facts& facts, const Row& row, const c10::OperatorHandle& op) {
  std::vector<int> places;
  for (const std::string& argument : row.arguments) places.push_back(place_of(op, argument));
  const bool known = std::find(places.begin(), places.end(), -1) == places.end();
  if (row.kind == "flush") facts.flushes = true;
  if (row.kind == "move") facts.moves = true;
  if (!known) return;  // an overload with other arguments
  if (row.kind == "convolution" || row.kind == "matmul") {
    facts.product = row.kind == "matmul" ? Product::kMatmul : Product::kConvolution;
    facts.operands = places;
    facts.scale = place_of(op, "beta");
    facts.bias = facts.scale < 0 ? -1 : place_of(op, "self");
  }
  if (row.kind == "flag") facts.flag = places.front();
  if (row.kind == "bias") facts.gradient = places.front();
  const auto order = kOrders.find(row.kind);
  if (order == kOrders.end()) return;
  facts.order = order->second;
  std::copy(places.begin(), places.end(), facts.ordered.begin());
}

bool has_tensor(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

bool is_float(const c10::IValue& value) {
  return has_tensor(value) && value.toTensor().scalar_type() == at::kFloat && value.toTensor().layout() == at::kStrided;
}

bool is_floating(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage() &&
         at::isFloatingType(tensor.scalar_type());
}

template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (is_floating(value.toTensor())) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector())
      if (is_floating(tensor)) visit(tensor);
  }
}

// All but the channels of what a convolution made.
std::vector<int64_t> summed(const at::Tensor& gradient) {
  std::vector<int64_t> dims{0};
  for (int64_t i = 2; i < gradient.dim(); ++i) dims.push_back(i);
  return dims;
}

}  // namespace

bool active() { return settings.active.load(std::memory_order_relaxed); }

Facts facts_of(const c10::OperatorHandle& op) {
  Facts facts;
  for (const Row& row : rows())
    if (matches(row.name, op.operator_name().name)) add(facts, row, op);
  return facts;
}

bool rounds_once(const Facts& facts, const c10::IValue* arguments) {
  if (!active() || facts.product == Product::kNone) return false;
  if (facts.bias < 0) return true;
  const at::Tensor& bias = arguments[facts.bias].toTensor();
  const bool row = bias.dim() == 1 || (bias.dim() == 2 && bias.size(0) == 1);
  return row && arguments[facts.scale].toScalar().toDouble() == 1 && arguments[facts.scale + 1].toScalar().toDouble() == 1;
}

Call::Call(const Facts& facts, const std::vector<uint8_t>& written, torch::jit::Stack& stack) : facts_(facts) {
  c10::IValue* const first = stack.data() + (stack.size() - written.size());
  if (facts.order != Order::kNone && !at::globalContext().deterministicAlgorithms()) back_ = reorder(facts, first);
  const Format format = facts.product == Product::kConvolution ? settings.convolution.load()
                        : facts.product == Product::kMatmul    ? settings.matmul.load()
                                                               : Format::kKept;
  if (format != Format::kKept && is_float(first[facts.operands[0]])) {
    if (facts.gradient >= 0) gradient_ = first[facts.gradient].toTensor();
    for (const int place : facts.operands)
      if (is_float(first[place])) first[place] = rounded(first[place].toTensor(), format, settings.saturates);
  }
  if (!facts.flushes && !settings.saturates) return;
  if (facts.flag >= 0) flag_ = first[facts.flag].toTensor();
  std::optional<at::ScalarType> type;
  for (size_t i = 0; i < written.size(); ++i) {
    if (facts.flushes && written[i] == 0 && first[i].isTensor() && is_floating(first[i].toTensor())) {
      first[i] = first[i].toTensor().clone();
      flush(first[i].toTensor());
    }
    for_each_tensor(first[i], [&](const at::Tensor& tensor) {
      if (written[i] != 0) written_.push_back(tensor);
      converts_ |= type.value_or(tensor.scalar_type()) != tensor.scalar_type();
      type = tensor.scalar_type();
    });
  }
}

void Call::finish(torch::jit::Stack& stack) {
  if (gradient_.defined() && has_tensor(stack.back()))
    stack.back().toTensor().copy_(gradient_.sum(summed(gradient_)));
  if (back_.defined() && has_tensor(stack[stack.size() - 3])) {
    const at::Tensor input = stack[stack.size() - 3].toTensor();
    input.copy_(input.index_select(0, back_));
  }
  if (flag_.defined() && settings.overflowed.exchange(false)) flag_.fill_(1);
  if (!facts_.flushes && (!settings.saturates || (facts_.moves && !converts_))) return;
  const auto change = [this](const at::Tensor& tensor) {
    if (facts_.flushes) flush(tensor);
    if (settings.saturates && saturate(tensor)) settings.overflowed = true;
  };
  for (const at::Tensor& tensor : written_) change(tensor);
  for (const c10::IValue& value : stack) for_each_tensor(value, change);
}

}  // namespace jumar::numerics

// Before the operators are taken over: one row per line, `kind name argument argument ...`.
extern "C" __attribute__((visibility("default"))) void jumar_numerics_begin(const char* text, uint64_t seed) {
  using namespace jumar::numerics;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Row row;
    words >> row.kind >> row.name;
    for (std::string word; words >> word;) row.arguments.push_back(word);
    rows().push_back(row);
  }
  set_seed(seed);
  settings.active = true;
}

// Whenever a program changes one of torch_npu's switches.
extern "C" __attribute__((visibility("default"))) void jumar_numerics_set(int convolution, int matmul, int saturates) {
  using namespace jumar::numerics;
  settings.convolution = static_cast<Format>(convolution);
  settings.matmul = static_cast<Format>(matmul);
  settings.saturates = saturates != 0;
}

// Whether a result has been saturated since the flag was cleared.
extern "C" __attribute__((visibility("default"))) int jumar_numerics_overflowed(int clear) {
  using namespace jumar::numerics;
  return clear != 0 ? settings.overflowed.exchange(false) : settings.overflowed.load();
}
