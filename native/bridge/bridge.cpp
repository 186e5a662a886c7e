#include "bridge/bridge.h"

#include <atomic>
#include <cstring>

#include "aclnn/call.h"
#include "api.h"
#include "bridge/by_type.h"
#include "bridged.h"  // generated
#include "machine/codes.h"

namespace jumar::bridge {
namespace {

// Returns 0, 1 for what is not emulated, or 2 for what a device would reject too; says why in `room` bytes of `why`.
using Compute = int32_t (*)(const char* name, int64_t count, const Seen* arguments, char* why, int64_t room);
// Fortran's sgemm and dgemm, as every BLAS has them.
template <class T>
using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*,
                      const T*, const int*, const T*, T*, const int*);

std::atomic<Compute> compute{nullptr};
std::atomic<Gemm<float>> single{nullptr};
std::atomic<Gemm<double>> wide{nullptr};

Seen see(const Kept& kept) {
  Seen seen{};
  seen.kind = kept.kind;
  seen.type = kept.type;
  seen.number = kept.number;
  seen.text = kept.text.c_str();
  seen.count = static_cast<int64_t>(kept.tensors.empty() ? kept.integers.size() : kept.tensors.size());
  seen.dims = const_cast<int64_t*>(kept.integers.data());
  if (!kept.bytes.empty()) seen.data = const_cast<uint8_t*>(kept.bytes.data());
  return seen;
}

// The dimensions are those of the tensor itself, so that an operator can say how large its result is.
Seen see(Kind role, const Tensor* tensor, std::vector<std::vector<int64_t>>& strides) {
  if (tensor == nullptr) return {role, 0, 0, nullptr, nullptr, nullptr, 0, nullptr};
  const kernels::View view = aclnn::view(tensor);
  strides.push_back(view.strides);
  return {role, view.type, static_cast<int64_t>(view.dims.size()), const_cast<int64_t*>(tensor->dims.data()),
          strides.back().data(), view.data, 0, nullptr};
}

void ask(const char* name, const std::vector<Seen>& arguments) {
  const Compute run = compute;
  if (run == nullptr) throw kernels::NotEmulated("needs the Python process of MindSpore, which has ended or is another");
  char why[1024] = "";
  const int32_t code = run(name, static_cast<int64_t>(arguments.size()), arguments.data(), why, sizeof(why));
  if (code == 1) throw kernels::NotEmulated(why);
  if (code != 0) throw kernels::Unsupported(why);
}

// Whether two plain tensors share some bytes, but not all of them: one of the addresses is wrong.
bool mixed_up(const Tensor* one, const Tensor* other) {
  if (one == nullptr || other == nullptr || one->data == nullptr || other->data == nullptr) return false;
  struct Range {
    uintptr_t first, last;
  };
  const auto range = [](const Tensor* tensor) -> Range {
    const auto first = reinterpret_cast<uintptr_t>(aclnn::view(tensor).data);
    const auto bytes = static_cast<size_t>(kernels::count(tensor->dims)) * element_size(tensor->type);
    return {first, first + bytes};
  };
  const auto is_plain = [](const Tensor* tensor) {
    return tensor->strides.empty() || tensor->strides == kernels::packed_strides(tensor->dims);
  };
  const Range a = range(one), b = range(other);
  const bool same = a.first == b.first && a.last == b.last;
  return is_plain(one) && is_plain(other) && !same && a.first < b.last && b.first < a.last;
}

// MindSpore 2.10.0 hands over addresses of other inputs for lists of keys when a graph calls these operators: those of
// FusedInferAttentionScore are always one place off. Calls outside of graphs have their addresses from the start.
void check_lists(const char* name, const std::vector<Kept>& arguments) {
  const bool fused = std::strcmp(name, "aclnnFusedInferAttentionScoreV2") == 0;
  if (!fused && std::strcmp(name, "aclnnIncreFlashAttentionV4") != 0) return;
  bool wrong = false;
  for (const Tensor* keys : arguments.at(1).tensors)
    wrong |= (fused && keys != nullptr && keys->late) || mixed_up(arguments.at(0).tensor, keys);
  if (wrong)
    throw kernels::NotEmulated("called by a graph of MindSpore, which passes the query for the keys, it is not emulated");
}

constexpr double kWorthwhile = 4096;  // multiplications; below, the call costs more than it saves

template <class T>
bool by_blas(Gemm<T> gemm, int64_t m, int64_t n, int64_t k, const T* a, bool a_turned, const T* b, bool b_turned, T* c,
             bool add) {
  constexpr int64_t kMost = 1 << 30;
  if (gemm == nullptr || static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < kWorthwhile ||
      m > kMost || n > kMost || k > kMost)
    return false;
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), depth = static_cast<int>(k);
  const T one = 1, kept = add ? T(1) : T(0);
  // Columns first, so it is the transposed product: cᵀ = bᵀ · aᵀ.
  gemm(b_turned ? "T" : "N", a_turned ? "T" : "N", &columns, &rows, &depth, &one, b, b_turned ? &depth : &columns, a,
       a_turned ? &rows : &depth, &kept, c, &columns);
  return true;
}

}  // namespace

bool connected() { return compute.load() != nullptr; }

Kept keep(const Tensor* tensor) {
  Kept kept;
  kept.kind = kIn;
  kept.tensor = tensor;
  return kept;
}

Kept out(const Tensor* tensor) {
  Kept kept = keep(tensor);
  kept.kind = kOut;
  return kept;
}

Kept both(const Tensor* tensor) {
  Kept kept = keep(tensor);
  kept.kind = kBoth;
  return kept;
}

Kept out(const std::vector<const Tensor*>* tensors) {
  Kept kept = keep(tensors);
  if (tensors != nullptr) kept.kind = kOutList;
  return kept;
}

Kept keep(const Scalar* scalar) {
  if (scalar == nullptr) return {};
  if (scalar->type == kernels::kComplex64 || scalar->type == kernels::kComplex128) {
    Kept kept;
    kept.kind = kIn;
    kept.type = scalar->type;
    kept.bytes.assign(std::begin(scalar->value), std::end(scalar->value));
    return kept;
  }
  Kept kept = keep(aclnn::value(scalar, 0));
  kept.type = scalar->type;
  return kept;
}

Kept keep(const std::vector<int64_t>* integers) {
  Kept kept;
  if (integers == nullptr) return kept;
  kept.kind = kIntegers;
  kept.integers = *integers;
  return kept;
}

Kept keep(const std::vector<uint8_t>* flags) {
  Kept kept;
  if (flags == nullptr) return kept;
  kept.kind = kIntegers;
  kept.integers.assign(flags->begin(), flags->end());
  return kept;
}

Kept keep(const std::vector<const Tensor*>* tensors) {
  Kept kept;
  if (tensors == nullptr) return kept;
  kept.kind = kList;
  kept.tensors = *tensors;
  return kept;
}

Kept keep(const char* text) {
  Kept kept;
  if (text == nullptr) return kept;
  kept.kind = kText;
  kept.text = text;
  return kept;
}

Kept keep(double number) {
  Kept kept;
  kept.kind = kNumber;
  kept.number = number;
  kept.type = kernels::kDouble;
  return kept;
}

Kept keep(int64_t number) {
  Kept kept;
  kept.kind = kInteger;
  kept.integers = {number};
  return kept;
}

void call(const char* name, const std::vector<Kept>& arguments) {
  check_lists(name, arguments);
  std::vector<Seen> seen;
  std::vector<std::vector<int64_t>> strides;
  size_t tensors = 0;
  for (const Kept& kept : arguments) tensors += 1 + kept.tensors.size();
  strides.reserve(tensors);
  for (const Kept& kept : arguments) {
    const bool alone = kept.bytes.empty() && (kept.kind == kIn || kept.kind == kOut || kept.kind == kBoth);
    seen.push_back(alone ? see(kept.kind, kept.tensor, strides) : see(kept));
    seen.back().name = kept.name;
    for (const Tensor* tensor : kept.tensors) seen.push_back(see(kept.kind == kOutList ? kOut : kIn, tensor, strides));
  }
  ask(name, seen);
}

bool knows(const char* type) { return connected() && by_type::find(type) != nullptr; }

void call(const char* type, const aclop::Arguments& arguments) {
  const Row* row = by_type::find(type);
  if (row == nullptr) throw kernels::NotEmulated("has no row of parameters");
  const by_type::Call call(*row, arguments);
  ask(type, call.seen());
}

void check_complex(const char* name) {
  if (!connected() || !takes_complex(name)) throw;
}

bool multiply(int64_t m, int64_t n, int64_t k, const float* a, bool a_turned, const float* b, bool b_turned, float* c,
              bool add) {
  return by_blas<float>(single, m, n, k, a, a_turned, b, b_turned, c, add);
}

bool multiply(int64_t m, int64_t n, int64_t k, const double* a, bool a_turned, const double* b, bool b_turned, double* c,
              bool add) {
  return by_blas<double>(wide, m, n, k, a, a_turned, b, b_turned, c, add);
}

}  // namespace jumar::bridge

using namespace jumar::bridge;

// Called by the Python process when it imports MindSpore, and with nothing when it ends.
extern "C" __attribute__((visibility("default"))) void jumarConnectPython(void* python, void* sgemm, void* dgemm) {
  compute = reinterpret_cast<Compute>(python);
  single = reinterpret_cast<Gemm<float>>(sgemm);
  wide = reinterpret_cast<Gemm<double>>(dgemm);
}
