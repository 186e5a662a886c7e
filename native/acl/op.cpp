// Descriptors, attributes and options of the older operator interface. What runs: `Identity`, torch_npu's cast between
// formats, and the operators of aclop/; every other one refuses by its type.
#include "acl/op.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "acl/queue.h"
#include "aclop/run.h"
#include "api.h"
#include "machine/error.h"
#include "machine/refusals.h"

using namespace jumar;

namespace {

std::mutex mutex;
std::map<int32_t, std::string> options;
std::map<int32_t, int64_t> parameters;

int32_t keep(void* attr, const char* name, Attribute value) {
  if (attr == nullptr || name == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclopSetAttr: no attributes or name");
  static_cast<Attributes*>(attr)->values[name] = std::move(value);
  return ACL_SUCCESS;
}

template <class T>
int32_t keep_list(void* attr, const char* name, int32_t count, const T* values) {
  return keep(attr, name, {0, "", std::vector<double>(values, values + (values != nullptr ? count : 0))});
}

int32_t refuse_operator(const char* function, const char* type) {
  const std::string name = type != nullptr ? type : "?";
  note(Refusal::kOperator, name);
  return fail_aloud(ACL_ERROR_OP_NOT_FOUND, name.c_str(),
                    "jumar: operator `" + name + "` (" + function +
                        ") is not emulated (state: refused); `jumar emulate coverage` lists what is");
}

// A private format here is a name and a padded size: the data stays plain, at the front of the buffer.
int32_t cast_format(int32_t inputs, const void* const* in, int32_t outputs, const void* const* out) {
  if (inputs != 1 || outputs != 1) return fail(ACL_ERROR_INVALID_PARAM, "Identity: one input and one output wanted");
  const auto* from = static_cast<const Buffer*>(in[0]);
  const auto* to = static_cast<const Buffer*>(out[0]);
  const size_t count = std::min(from->size, to->size);
  if (count != 0) std::memmove(to->data, from->data, count);
  return ACL_SUCCESS;
}

struct Call {
  const char* type;
  int32_t inputs;
  const void* const* input_descriptors;
  const void* const* in;
  int32_t outputs;
  const void* const* output_descriptors;
  const void* const* out;
  const void* attributes;
};

int32_t run_operator(const char* function, const Call& call, void* stream) {
  if (call.type == nullptr) return refuse_operator(function, call.type);
  if (int32_t code = finish_stream(function, stream)) return code;
  if (std::strcmp(call.type, "Identity") == 0) return cast_format(call.inputs, call.in, call.outputs, call.out);
  aclop::Arguments arguments;
  arguments.attributes = static_cast<const Attributes*>(call.attributes);
  for (int32_t i = 0; i < call.inputs; ++i)
    arguments.add_input(*static_cast<const Descriptor*>(call.input_descriptors[i]), *static_cast<const Buffer*>(call.in[i]));
  for (int32_t i = 0; i < call.outputs; ++i)
    arguments.add_output(*static_cast<const Descriptor*>(call.output_descriptors[i]),
                         *static_cast<const Buffer*>(call.out[i]));
  bool known = false;
  const int32_t code = aclop::run(call.type, arguments, &known);
  for (int32_t i = 0; i < call.outputs && known; ++i)
    const_cast<Descriptor*>(static_cast<const Descriptor*>(call.output_descriptors[i]))->dims =
        arguments.all_outputs()[static_cast<size_t>(i)].dims;
  return known ? code : refuse_operator(function, call.type);
}

}  // namespace

void* aclCreateDataBuffer(void* data, size_t size) { return new Buffer{data, size}; }

int32_t aclDestroyDataBuffer(const void* buffer) {
  delete static_cast<const Buffer*>(buffer);
  return ACL_SUCCESS;
}

void* aclCreateTensorDesc(int32_t type, int32_t count, const int64_t* dims, int32_t format) {
  return new Descriptor{type, format, 0, std::vector<int64_t>(dims, dims + (dims != nullptr ? count : 0)), "", {}};
}

void aclDestroyTensorDesc(const void* desc) { delete static_cast<const Descriptor*>(desc); }
void aclSetTensorDescName(void* desc, const char* name) { static_cast<Descriptor*>(desc)->name = name; }

int32_t aclSetTensorFormat(void* desc, int32_t format) {
  static_cast<Descriptor*>(desc)->format = format;
  return ACL_SUCCESS;
}

int32_t aclSetTensorPlaceMent(void* desc, int32_t placement) {
  static_cast<Descriptor*>(desc)->placement = placement;
  return ACL_SUCCESS;
}

int32_t aclSetTensorShape(void* desc, int32_t count, const int64_t* dims) {
  static_cast<Descriptor*>(desc)->dims.assign(dims, dims + count);
  return ACL_SUCCESS;
}

int32_t aclGetTensorDescDimV2(const void* desc, size_t index, int64_t* size) {
  const auto& dims = static_cast<const Descriptor*>(desc)->dims;
  if (index >= dims.size()) return fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: no dimension %zu", index);
  *size = dims[index];
  return ACL_SUCCESS;
}

int32_t aclGetTensorDescFormat(const void* desc) { return static_cast<const Descriptor*>(desc)->format; }
size_t aclGetTensorDescNumDims(const void* desc) { return static_cast<const Descriptor*>(desc)->dims.size(); }
int32_t aclGetTensorDescType(const void* desc) { return static_cast<const Descriptor*>(desc)->type; }

void* aclopCreateAttr() { return new Attributes; }
void aclopDestroyAttr(const void* attr) { delete static_cast<const Attributes*>(attr); }

int32_t aclopSetAttrBool(void* a, const char* n, uint8_t v) { return keep(a, n, {static_cast<double>(v), "", {}}); }
int32_t aclopSetAttrDataType(void* a, const char* n, int32_t v) { return keep(a, n, {static_cast<double>(v), "", {}}); }
int32_t aclopSetAttrFloat(void* a, const char* n, float v) { return keep(a, n, {v, "", {}}); }
int32_t aclopSetAttrInt(void* a, const char* n, int64_t v) { return keep(a, n, {static_cast<double>(v), "", {}}); }
int32_t aclopSetAttrString(void* a, const char* n, const char* v) { return keep(a, n, {0, v != nullptr ? v : "", {}}); }
int32_t aclopSetAttrListBool(void* a, const char* n, int32_t c, const uint8_t* v) { return keep_list(a, n, c, v); }
int32_t aclopSetAttrListFloat(void* a, const char* n, int32_t c, const float* v) { return keep_list(a, n, c, v); }
int32_t aclopSetAttrListInt(void* a, const char* n, int32_t c, const int64_t* v) { return keep_list(a, n, c, v); }
int32_t aclopSetAttrListListInt(void* a, const char* n, int32_t, const int32_t*, const int64_t* const*) {
  return keep(a, n, {});  // no operator that runs here has such an attribute
}

int32_t aclopCompileAndExecute(const char* type, int32_t inputs, const void* const* input_descriptors,
                               const void* const* in, int32_t outputs, const void* const* output_descriptors,
                               void* const* out, const void* attributes, int32_t, int32_t, const char*, void* stream) {
  return run_operator("aclopCompileAndExecute",
                      {type, inputs, input_descriptors, in, outputs, output_descriptors, out, attributes}, stream);
}

int32_t aclopCompileAndExecuteV2(const char* type, int32_t inputs, void** input_descriptors, void** in, int32_t outputs,
                                 void** output_descriptors, void** out, void* attributes, int32_t, int32_t, const char*,
                                 void* stream) {
  return run_operator("aclopCompileAndExecuteV2",
                      {type, inputs, input_descriptors, in, outputs, output_descriptors, out, attributes}, stream);
}

int32_t aclSetCompileopt(int32_t option, const char* value) {
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclSetCompileopt: no value");
  std::lock_guard<std::mutex> guard(mutex);
  options[option] = value;
  return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(int32_t option) {
  std::lock_guard<std::mutex> guard(mutex);
  return options[option].size() + 1;
}

int32_t aclGetCompileopt(int32_t option, char* value, size_t room) {
  std::lock_guard<std::mutex> guard(mutex);
  const std::string& kept = options[option];
  if (value == nullptr || room <= kept.size()) return fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: no room");
  kept.copy(value, kept.size());
  value[kept.size()] = '\0';
  return ACL_SUCCESS;
}

int32_t aclrtSetSysParamOpt(int32_t option, int64_t value) {
  std::lock_guard<std::mutex> guard(mutex);
  parameters[option] = value;
  return ACL_SUCCESS;
}

int32_t aclrtCtxSetSysParamOpt(int32_t option, int64_t value) { return aclrtSetSysParamOpt(option, value); }

int32_t aclrtGetSysParamOpt(int32_t option, int64_t* value) {
  std::lock_guard<std::mutex> guard(mutex);
  *value = parameters[option];
  return ACL_SUCCESS;
}
