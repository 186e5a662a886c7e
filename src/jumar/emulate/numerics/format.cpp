#include "format.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <atomic>

namespace jumar::numerics {
namespace {

constexpr int64_t kGrain = 1 << 15;

// All numbers in memory, in any order; a tensor with gaps is gone through by way of a copy.
template <class Bits, class Change>
void for_all(const at::Tensor& tensor, Change change) {
  if (!tensor.is_non_overlapping_and_dense()) {
    const at::Tensor copy = tensor.contiguous();
    for_all<Bits>(copy, change);
    tensor.copy_(copy);
    return;
  }
  auto* const data = static_cast<Bits*>(tensor.mutable_data_ptr());
  at::parallel_for(0, tensor.numel(), kGrain, [&](int64_t begin, int64_t end) { change(data + begin, data + end); });
}

// 11 bits of mantissa, to nearest, ties away from zero.
__attribute__((optimize("O3"))) void to_hf32(const uint32_t* from, uint32_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = from[i], near = (bits + 0x800u) & 0xfffff000u;
    to[i] = (bits & 0x7f800000u) == 0x7f800000u ? bits : near;
  }
}

at::Tensor hf32(const at::Tensor& tensor) {
  const at::Tensor from = tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
  at::Tensor to = at::empty_like(from);
  const auto* const in = static_cast<const uint32_t*>(from.const_data_ptr());
  auto* const out = static_cast<uint32_t*>(to.mutable_data_ptr());
  at::parallel_for(0, from.numel(), kGrain,
                   [&](int64_t begin, int64_t end) { to_hf32(in + begin, out + begin, end - begin); });
  return to;
}


// First whether there is anything to change at all: there seldom is.
template <class Bits>
__attribute__((optimize("O3"))) bool saturate_range(Bits* begin, Bits* end, Bits sign, Bits exponent) {
  Bits found = 0;
  for (const Bits* bits = begin; bits != end; ++bits)
    found |= static_cast<Bits>((*bits & exponent) == exponent);
  if (found == 0) return false;
  for (Bits* bits = begin; bits != end; ++bits) {
    if ((*bits & exponent) != exponent) continue;
    const auto size = static_cast<Bits>(*bits & static_cast<Bits>(~sign));
    *bits = size == exponent ? static_cast<Bits>((*bits & sign) | static_cast<Bits>(exponent - 1)) : Bits(0);
  }
  return true;
}

template <class Bits>
__attribute__((optimize("O3"))) void flush_range(Bits* begin, Bits* end, Bits sign, Bits exponent) {
  for (Bits* bits = begin; bits != end; ++bits)
    *bits = (*bits & exponent) == 0 ? static_cast<Bits>(*bits & sign) : *bits;
}

template <class Visit>
void by_type(const at::Tensor& tensor, Visit visit) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return visit(uint32_t(0x80000000u), uint32_t(0x7f800000u));
    case at::kHalf:
      return visit(uint16_t(0x8000u), uint16_t(0x7c00u));
    case at::kBFloat16:
      return visit(uint16_t(0x8000u), uint16_t(0x7f80u));
    default:
      return;
  }
}

}  // namespace

at::Tensor rounded(const at::Tensor& tensor, Format format, bool saturates) {
  if (format == Format::kHf32) return hf32(tensor);
  const at::Tensor half = tensor.to(at::kHalf);
  if (saturates) saturate(half);
  return half.to(at::kFloat);
}

bool saturate(const at::Tensor& tensor) {
  std::atomic<bool> any{false};
  by_type(tensor, [&](auto sign, auto exponent) {
    using Bits = decltype(sign);
    for_all<Bits>(tensor, [&](Bits* begin, Bits* end) {
      if (saturate_range<Bits>(begin, end, sign, exponent)) any = true;
    });
  });
  return any;
}

void flush(const at::Tensor& tensor) {
  by_type(tensor, [&](auto sign, auto exponent) {
    using Bits = decltype(sign);
    for_all<Bits>(tensor, [&](Bits* begin, Bits* end) { flush_range<Bits>(begin, end, sign, exponent); });
  });
}

}  // namespace jumar::numerics
