#include "softmax.h"

#include <ATen/core/Tensor.h>

namespace jumar {

// The last argument is `half_to_float` forwards and the type of the forward's input backwards.
void Softmax::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  c10::IValue& last = stack->back();
  if (last.isBool()) {
    if (last.toBool()) {
      c10::IValue& input = torch::jit::peek(*stack, 0, 3);
      input = input.toTensor().to(at::kFloat);
      last = false;
    }
    kernel_(op, keys, stack);
    return;
  }
  const at::ScalarType wanted = last.toScalarType();
  const at::ScalarType given = torch::jit::peek(*stack, 0, 4).toTensor().scalar_type();
  if (wanted != given) last = given;
  kernel_(op, keys, stack);
  if (wanted != given) stack->back() = stack->back().toTensor().to(wanted);
}

}  // namespace jumar
