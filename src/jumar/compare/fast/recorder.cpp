// Notes operators in place of the recorder's __torch_dispatch__, without a way through Python: fast.py loads it.
//
// torch calls a dispatch mode through a table of functions of its interpreter. While a recorder is open, `dispatch` of
// that table is ours (table.h): it takes the calls that are meant for the recorder and that it can note, and hands on all others.

#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <memory>
#include <unordered_map>

#include "call.h"
#include "table.h"

namespace jumar {
namespace {

using Modes = c10::impl::TorchDispatchModeTLS;
using Stack = torch::jit::Stack;
using Learn = void (*)(const c10::FunctionSchema*, const char* name);  // answers by calling jumar_facts

at::Tensor tensor_at(c10::TensorImpl* tensor) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(tensor));
}

// Before 2.2, torch knows no modes of its own that stand apart.
template <class Stack>
void push(const auto& mode) {
  if constexpr (requires { Stack::push_non_infra_mode_onto_stack(mode); })
    Stack::push_non_infra_mode_onto_stack(mode);
  else
    Stack::push_onto_stack(mode);
}

// Takes the recorder off the stack of modes, so that what it calls is not recorded.
class Aside {
 public:
  Aside() : mode_(Modes::pop_stack()) {}
  ~Aside() { push<Modes>(mode_); }
  Aside(const Aside&) = delete;

 private:
  const decltype(Modes::pop_stack()) mode_;
};

class Recorder {
 public:
  Recorder(PyObject* mode, Learn learn, Reads reads, Sketch sketch, std::size_t most, PyObject* file_of)
      : log(sketch, most, file_of), mode(mode), memory(reads), learn_(learn) {}

  Log log;
  PyObject* const mode;
  Memory memory;
  bool is_on = true;
  std::unordered_map<const c10::FunctionSchema*, Facts> facts;

  // False where Python must do it.
  bool run(const c10::OperatorHandle& op, const Facts* known, Stack* stack) {
    if (!is_on || !known || known->is(Facts::kInPython)) return false;
    const c10::ArrayRef<c10::IValue> values = torch::jit::last(*stack, op.schema().arguments().size());
    for (const c10::IValue& value : values)
      if (!can_note(value, memory)) return false;
    Aside aside;
    if (known->is(Facts::kSilent) || log.is_full())
      op.callBoxed(stack);
    else
      note(op, *known, values, stack);
    return true;
  }

  // torch detaches without an operator unless a mode wants to see one. Needs the lock, as does facts_of.
  bool detach(c10::TensorImpl* tensor) {
    static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::detach", "");
    const c10::IValue value(tensor_at(tensor));
    const Facts* const known = is_on && can_note(value, memory) ? facts_of(op) : nullptr;
    if (!known) return false;
    if (log.is_full()) return true;
    Aside aside;
    Call call(log, *known, log.phase());
    call.note(op.schema(), value);
    after(*known, call, value.toTensor());
    return true;
  }

  const Facts* facts_of(const c10::OperatorHandle& op) {
    const auto found = facts.find(&op.schema());
    if (found != facts.end()) return &found->second;
    learn_(&op.schema(), (op.schema().name() + "." + op.schema().overload_name()).c_str());
    const auto made = facts.find(&op.schema());
    return made == facts.end() ? nullptr : &made->second;
  }

 private:
  void note(const c10::OperatorHandle& op, const Facts& facts, c10::ArrayRef<c10::IValue> values, Stack* stack) {
    Call call(log, facts, "forward");
    c10::SmallVector<c10::IValue, 2> changed;
    {
      Lock lock;
      call.phase = log.phase();
      call.note(op.schema(), values);
      for (std::size_t at = 0; at < values.size(); ++at)
        if (facts.arguments[at].is_changed) changed.push_back(values[at]);
    }
    op.callBoxed(stack);
    c10::SmallVector<at::Tensor, 2> outs;
    const auto add = [&](const at::Tensor& tensor) { outs.push_back(tensor); };
    for (const c10::IValue& value : torch::jit::last(*stack, op.schema().returns().size())) each_tensor(value, add);
    if (outs.empty())
      for (const c10::IValue& value : changed) each_tensor(value, add);
    Lock lock;
    after(facts, call, outs);
  }

  void after(const Facts& facts, const Call& call, c10::ArrayRef<at::Tensor> outs) {
    const bool is_same = facts.is(Facts::kCopy) && !call.tensors.empty() && !outs.empty() &&
                         outs[0].scalar_type() == call.tensors[0].scalar_type();
    const bool is_view = facts.is(Facts::kView);
    Entry entry;
    const int row = is_view || is_same || facts.is(Facts::kEmpty) ? kNone : kMeasure;
    for (const at::Tensor& out : outs) entry.outs.push_back(log.out(out, row));
    const Place place = log.place();
    entry.module = place.module;
    entry.line = place.line;
    log.begin(is_view || is_same ? "view" : "op", call.phase);
    log.json += facts.head;
    log.json += ",\"args\":{";
    log.json += call.args;
    log.json += '}';
    call.write_inputs(log.json);
    const int index = log.end(std::move(entry));
    if (is_view) return;
    for (std::size_t at = 0; at < (is_same ? 1 : outs.size()); ++at)
      log.put(outs[at], is_same ? call.inputs[0] : index, is_same ? 0 : static_cast<int>(at));
  }

  Learn learn_;
};

std::vector<std::unique_ptr<Recorder>>& recorders() {
  static auto* const all = new std::vector<std::unique_ptr<Recorder>>;
  return *all;
}

// The recorder whose mode is on top; needs the lock.
Recorder* on_top() {
  const std::int64_t count = Modes::stack_len();
  if (!count) return nullptr;
  const auto& top = Modes::get_stack_at(count - 1);
  const PyObject* const mode = top->ptr(&top->pyinterpreter());
  for (const auto& one : recorders())
    if (one->mode == mode) return one.get();
  return nullptr;
}

const Table::Torch* torch_table = nullptr;

void dispatch(const Table::Torch*, const c10::OperatorHandle& op, Stack* stack) {
  Recorder* recorder;
  const Facts* known = nullptr;
  {
    Lock lock;
    recorder = on_top();
    if (recorder) known = recorder->facts_of(op);
  }
  if (!recorder || !recorder->run(op, known, stack)) torch_table->dispatch(op, stack);
}

// Nothing given back: torch makes the copy itself.
c10::intrusive_ptr<c10::TensorImpl> detach(const Table::Torch*, const c10::TensorImpl* self) {
  Lock lock;
  Recorder* const recorder = on_top();
  if (recorder && recorder->detach(const_cast<c10::TensorImpl*>(self))) return {};
  return torch_table->detach(self);
}

// torch keeps these as integers.
Facts::Kind kind_of(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (const auto maybe = type->cast<c10::OptionalType>()) type = maybe->getElementType();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType: return Facts::kType;
    case c10::TypeKind::LayoutType: return Facts::kLayout;
    case c10::TypeKind::MemoryFormatType: return Facts::kMemory;
    default: return Facts::kPlain;
  }
}

}  // namespace
}  // namespace jumar

#define JUMAR_API extern "C" __attribute__((visibility("default")))

using jumar::Recorder;

JUMAR_API Recorder* jumar_open(PyObject* mode, jumar::Learn learn, jumar::Reads reads, jumar::Sketch sketch,
                               std::uint64_t most, PyObject* file_of) {
  jumar::recorders().push_back(std::make_unique<Recorder>(mode, learn, reads, sketch, most, file_of));
  return jumar::recorders().back().get();
}

// The recorder is the mode on top: from now on its calls come here.
JUMAR_API void jumar_attach() {
  c10::impl::PyInterpreter& interpreter = jumar::Modes::get_stack_at(jumar::Modes::stack_len() - 1)->pyinterpreter();
  if (!jumar::torch_table) jumar::torch_table = interpreter.vtable_;
  static const auto* const table = new jumar::Table(jumar::torch_table, jumar::dispatch, jumar::detach);
  interpreter.vtable_ = table->as_torch();
}

JUMAR_API void jumar_close(Recorder* recorder) {
  std::erase_if(jumar::recorders(), [&](const auto& one) { return one.get() == recorder; });
}

JUMAR_API void jumar_switch(Recorder* recorder, int is_on) { recorder->is_on = is_on; }

JUMAR_API void jumar_facts(Recorder* recorder, const c10::FunctionSchema* schema, int flags, const char* head) {
  jumar::Facts& facts = recorder->facts[schema];
  facts.flags = flags;
  facts.head = head;
  facts.keywords = 0;
  for (const c10::Argument& one : schema->arguments()) facts.keywords += !one.kwarg_only();
}

// One for each argument of the operator, in order; `fallback` is empty where a record does not have the default.
JUMAR_API void jumar_argument(Recorder* recorder, const c10::FunctionSchema* schema, const char* name,
                              const char* fallback, int is_changed, int is_written) {
  auto& arguments = recorder->facts[schema].arguments;
  const auto kind = jumar::kind_of(schema->arguments()[arguments.size()]);
  arguments.push_back({name, fallback, kind, is_changed != 0, is_written != 0});
}

JUMAR_API int jumar_text(Recorder* recorder, const char* text) { return recorder->log.texts.id(text); }

JUMAR_API void jumar_name(Recorder* recorder, c10::TensorImpl* tensor, const char* kind, const char* name) {
  recorder->log.name(tensor, kind, name);
}

JUMAR_API void jumar_enter(Recorder* recorder, int module) { recorder->log.modules.push_back(module); }

JUMAR_API void jumar_leave(Recorder* recorder) {
  if (!recorder->log.modules.empty()) recorder->log.modules.pop_back();
}

JUMAR_API std::uint64_t jumar_count(Recorder* recorder) { return recorder->log.entries.size(); }

JUMAR_API const char* jumar_phase(Recorder* recorder) { return recorder->log.phase(); }

JUMAR_API int jumar_origin(Recorder* recorder, c10::TensorImpl* tensor) {
  return recorder->log.origin(jumar::tensor_at(tensor));
}

JUMAR_API void jumar_put(Recorder* recorder, c10::TensorImpl* tensor, int entry, int output) {
  recorder->log.put(jumar::tensor_at(tensor), entry, output);
}

// `row` may be a row that Python fills later, jumar::kNone, or jumar::kMeasure.
JUMAR_API int jumar_source(Recorder* recorder, c10::TensorImpl* tensor, const char* phase, int row) {
  return recorder->log.source(jumar::tensor_at(tensor), phase, row);
}

JUMAR_API int jumar_row(Recorder* recorder, c10::TensorImpl* tensor) {
  return recorder->log.out(jumar::tensor_at(tensor), jumar::kMeasure).row;
}

JUMAR_API int jumar_empty_row(Recorder* recorder) { return recorder->log.empty_row(); }

JUMAR_API void jumar_look(Recorder* recorder, const char* kind, const char* name, c10::TensorImpl* tensor,
                          const char* phase, int row) {
  recorder->log.look(kind, name, jumar::tensor_at(tensor), phase, row);
}

// Whether the first output of an entry has the sizes of this tensor.
JUMAR_API int jumar_fits(Recorder* recorder, int entry, c10::TensorImpl* tensor) {
  const auto& outs = recorder->log.entries[entry].outs;
  return !outs.empty() && c10::IntArrayRef(outs[0].sizes) == tensor->sizes();
}

// An entry that Python made; `rest` are its fields beside kind, phase, outputs, module and line.
JUMAR_API int jumar_append(Recorder* recorder, const char* kind, const char* phase, const char* rest,
                           c10::TensorImpl* const* outs, const int* rows, std::uint64_t count, int is_placed,
                           const char* line) {
  jumar::Log& log = recorder->log;
  jumar::Entry entry{{}, 0, log.texts.id(line)};
  for (std::uint64_t at = 0; at < count; ++at) {
    entry.outs.push_back(log.out(jumar::tensor_at(outs[at]), rows[at]));
  }
  if (is_placed) {
    const jumar::Place place = log.place();
    entry.module = place.module;
    entry.line = place.line;
  }
  log.begin(kind, phase);
  log.json += rest;
  return log.end(std::move(entry));
}

// The entries, with their length in bytes.
JUMAR_API const char* jumar_json(Recorder* recorder, std::uint64_t* size) {
  *size = recorder->log.json.size();
  return recorder->log.json.data();
}

// Devices and data types of all tensors that were measured, between spaces.
JUMAR_API const char* jumar_devices(Recorder* recorder) { return recorder->log.devices.c_str(); }

JUMAR_API const char* jumar_types(Recorder* recorder) { return recorder->log.types.c_str(); }

JUMAR_API std::uint64_t jumar_rows(Recorder* recorder) { return recorder->log.rows; }

JUMAR_API void jumar_take(Recorder* recorder, float* rows) { recorder->log.take(rows); }
