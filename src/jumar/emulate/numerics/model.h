// What a chip computes otherwise than the CPU: the rows of data/numerics.toml, off unless a program asks for them.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <array>
#include <cstdint>
#include <vector>

namespace jumar::numerics {

enum class Product : uint8_t { kNone, kConvolution, kMatmul };
enum class Format : uint8_t { kKept, kHf32, kFloat16 };  // of the operands of float32 products
enum class Order : uint8_t { kNone, kIndexAdd, kIndexPut, kEmbedding, kScatterAdd, kConvolution };

// About one operator; worked out when it is taken over.
struct Facts {
  Product product = Product::kNone;
  std::vector<int> operands;               // places of the arguments that are multiplied
  int bias = -1, scale = -1;               // of a product that adds: what is added, and the first of its factors
  int gradient = -1;                       // of a convolution: what its last result, the gradient of the bias, sums up
  Order order = Order::kNone;
  std::array<int, 3> ordered{-1, -1, -1};  // places of the arguments that say what is added where
  int flag = -1;                           // an argument that becomes 1 where the overflow flag is set
  bool flushes = false;                    // subnormal numbers count as 0
  bool moves = false;                      // makes no numbers: inf and nan stay
};

Facts facts_of(const c10::OperatorHandle& op);

// True where results in half precision are those of a float32 product, rounded once.
bool rounds_once(const Facts& facts, const c10::IValue* arguments);

// One call on CPU tensors: the arguments on the way in, the results on the way out.
class Call {
 public:
  Call(const Facts& facts, const std::vector<uint8_t>& written, torch::jit::Stack& stack);
  void finish(torch::jit::Stack& stack);

 private:
  const Facts& facts_;
  std::vector<at::Tensor> written_;
  at::Tensor gradient_, back_;  // of a convolution: the gradient before it was rounded; the way back from another order
  at::Tensor flag_;
  bool converts_ = false;  // between data types
};

bool active();

}  // namespace jumar::numerics
