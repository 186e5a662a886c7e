// The kernel in front of every operator of the card: computes small known values, and for all others only shapes.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <set>
#include <string>

#include "values.h"

namespace jumar::dry {

// Asked of Python: `look` for the value of a tensor that has none, at the place of the program; `grew` for the place
// of a new peak; `shape` to give an operator of Jumar's own a shape function.
struct Callbacks {
  int (*look)(const char* operation, const char* type, int64_t elements, double* value) = nullptr;
  uint32_t (*place)() = nullptr;
  int (*shape)(const char* name) = nullptr;
  void (*computed)(const char* name) = nullptr;
};

Callbacks& callbacks();

enum class Way : uint8_t { kThrough, kCard, kHost };

// How the tensors among the arguments are.
struct Look {
  bool unknown = false;  // one that is read has no values
  bool small = true;
  bool plain = true;
  bool huge = false;     // beyond the line of the host
  bool on_card = false;
};

class Kernel final : public c10::OperatorKernel {
 public:
  Kernel(const c10::OperatorHandle& op, c10::DispatchKey key, Way way);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  Look look(const torch::jit::Stack& stack) const;
  void on_host(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  void on_card(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  void compute(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack, const Look& look);
  bool answer(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  const c10::OperatorHandle& target(const c10::OperatorHandle& op);
  void number_indices(const c10::OperatorHandle& op, const at::Tensor& input, int64_t dim, torch::jit::Stack* stack);

  const c10::SafeKernelFunction original_;
  const std::string name_;
  const Way way_;
  uint32_t number_;
  bool overwrites_ = false;  // what it changes in place is not read
  bool dynamic_ = false;     // the shape of the result depends on values
  int indices_ = -1;         // the result that holds positions
  int dim_ = -1;             // the argument
  std::vector<uint8_t> written_, out_;
  std::optional<c10::OperatorHandle> target_;
};

// The dispatcher's kernels of one namespace and key.
void wrap_space(const std::string& space);
void wrap_host();
void wrap_collectives();

// Marks the thread while something is computed: what a kernel calls inside is its own.
struct Inside {
  Inside();
  ~Inside();
  static bool is();
};

std::set<std::string>& reference_code();  // operators with a shape function of Jumar's own
void note_place();
std::string text_of(const at::Tensor& tensor);

}  // namespace jumar::dry
