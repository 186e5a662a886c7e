// Which operators ran on the card, for `jumar run --ops`: an observer of the dispatcher counts them. Those that
// torch_npu takes to the CPU are noted in the record of refusals, too.
//
// An operator is counted where the device would start a kernel: it has an NPU kernel, or torch_npu's fallback takes
// it. Compositions are not counted, their parts are; what a kernel calls inside is not counted.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>

extern "C" {
const char* jumar_glue_report();
void jumar_note_fallback(const char* name);  // of the stand-ins
}

namespace jumar {
namespace {

constexpr char kFallback[] = "fallback";

using Site = int (*)(char* text, int room);

struct Row {
  std::string key;  // name, how, data types: separated by tabs
  std::string site;
  uint64_t count = 0, failed = 0;
};

struct Record {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Row>> rows;
  std::unordered_map<std::string, std::string> states;  // of aten operators, from the glue's own report
  at::CallbackHandle handle = 0;
  Site site = nullptr;
};

Record& record() {
  static auto* const value = new Record;
  return *value;
}

thread_local int inside = 0;

// "" for compositions: their parts are counted.
std::string how_of(const c10::OperatorName& name) {
  const auto op = c10::Dispatcher::singleton().findSchema(name);
  if (!op.has_value()) return "";
  const bool aten = name.name.rfind("aten::", 0) == 0;
  if (op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
    if (!aten) return "npu-only";
    const auto& states = record().states;
    const auto found = states.find(name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name));
    return found == states.end() || found->second == "own" ? "torch_npu" : "native";
  }
  for (auto key : {c10::DispatchKey::CompositeImplicitAutograd, c10::DispatchKey::CompositeExplicitAutograd,
                   c10::DispatchKey::CompositeExplicitAutogradNonFunctional})
    if (op->hasKernelForDispatchKey(key)) return "";
  return kFallback;
}

const std::string& how(const c10::OperatorName& name) {
  thread_local std::unordered_map<c10::OperatorName, std::string> known;
  const auto found = known.find(name);
  return found != known.end() ? found->second : known.emplace(name, how_of(name)).first->second;
}

// Adds the types of the tensors on the card; true when there is one, or a device argument that is a card.
bool look(const c10::IValue& value, std::string& types) {
  constexpr auto kNpu = c10::DeviceType::PrivateUse1;
  if (value.isDevice()) return value.toDevice().type() == kNpu;
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined() || tensor.device().type() != kNpu) return false;
    const char* type = c10::toString(tensor.scalar_type());
    if (types.find(type) == std::string::npos) types += types.empty() ? type : std::string(",") + type;
    return true;
  }
  bool found = false;
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) found |= look(tensor, types);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) found |= item.isTensor() && look(item, types);
  }
  return found;
}

struct Running final : at::ObserverContext {
  Row* row = nullptr;
  int exceptions = 0;
};

Row* row_of(std::string key) {
  Record& all = record();
  {
    std::lock_guard<std::mutex> guard(all.mutex);
    const auto found = all.rows.find(key);
    if (found != all.rows.end()) return found->second.get();
  }
  char site[1024] = "";
  ++inside;  // asking Python must not be counted
  if (all.site != nullptr) all.site(site, sizeof site);
  --inside;
  std::lock_guard<std::mutex> guard(all.mutex);
  auto& row = all.rows[key];
  if (row == nullptr) {
    row = std::make_unique<Row>();
    row->key = std::move(key);
    row->site = site;
  }
  return row.get();
}

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& call) {
  if (inside > 0) return nullptr;
  const auto name = call.operator_name();
  if (!name.has_value()) return nullptr;
  const std::string& kind = how(*name);
  if (kind.empty()) return nullptr;
  std::string types;
  bool on_card = false;
  for (const c10::IValue& value : call.inputs()) on_card |= look(value, types);
  if (!on_card) return nullptr;
  if (kind == kFallback) jumar_note_fallback(c10::toString(*name).c_str());
  auto running = std::make_unique<Running>();
  running->row = row_of(c10::toString(*name) + "\t" + kind + "\t" + types);
  running->exceptions = std::uncaught_exceptions();
  ++inside;
  return running;
}

void leave(const at::RecordFunction&, at::ObserverContext* context) {
  auto* running = static_cast<Running*>(context);
  if (running == nullptr) return;
  --inside;
  std::lock_guard<std::mutex> guard(record().mutex);
  ++running->row->count;
  if (std::uncaught_exceptions() > running->exceptions) ++running->row->failed;
}

}  // namespace
}  // namespace jumar

extern "C" __attribute__((visibility("default"))) void jumar_record_start(jumar::Site site) {
  auto& all = jumar::record();
  std::istringstream lines(jumar_glue_report());
  for (std::string state, name; lines >> state >> name;)
    if (state != "composed") all.states.emplace(name, state);
  all.site = site;
  all.handle = at::addGlobalCallback(at::RecordFunctionCallback(jumar::enter, jumar::leave)
                                         .needsInputs(true)
                                         .scopes({at::RecordScope::FUNCTION}));
}

// Ends the record: one line per operator, fields separated by tabs: name, how, types, count, failed, site.
extern "C" __attribute__((visibility("default"))) const char* jumar_record_stop() {
  auto& all = jumar::record();
  if (all.handle != 0) at::removeCallback(all.handle);
  all.handle = 0;
  all.site = nullptr;
  static auto* const text = new std::string;
  std::lock_guard<std::mutex> guard(all.mutex);
  text->clear();
  for (const auto& [key, row] : all.rows)
    *text += key + "\t" + std::to_string(row->count) + "\t" + std::to_string(row->failed) + "\t" + row->site + "\n";
  return text->c_str();
}
