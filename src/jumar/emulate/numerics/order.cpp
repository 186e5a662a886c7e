#include "order.h"

#include <ATen/core/List.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <random>

#include "../glue/compat.h"

namespace jumar::numerics {
namespace {

std::mutex drawing;
std::mt19937_64 generator;

at::Tensor permutation(int64_t count) {
  at::Tensor places = at::empty({count}, at::kLong);
  auto* const begin = places.mutable_data_ptr<int64_t>();
  std::iota(begin, begin + count, 0);
  const std::lock_guard<std::mutex> lock(drawing);
  std::shuffle(begin, begin + count, generator);
  return places;
}

void index_add(c10::IValue& dim, c10::IValue& index, c10::IValue& source) {
  if (source.toTensor().dim() == 0 || index.toTensor().dim() != 1) return;
  const at::Tensor places = permutation(index.toTensor().numel());
  index = index.toTensor().index_select(0, places);
  source = source.toTensor().index_select(dim.toInt(), places);
}

void scatter_add(c10::IValue& dim, c10::IValue& index, c10::IValue& source) {
  const at::Tensor at = index.toTensor();
  if (at.dim() == 0 || at.numel() == 0) return;
  const int64_t along = dim.toInt(), count = at.size(along);
  const at::Tensor places = permutation(count);
  index = at.index_select(along, places);
  source = source.toTensor().narrow(along, 0, count).index_select(along, places);
}

void embedding(c10::IValue& gradient, c10::IValue& indices) {
  const at::Tensor rows = gradient.toTensor();
  const at::Tensor at = indices.toTensor().reshape({-1}), places = permutation(at.numel());
  indices = at.index_select(0, places);
  gradient = rows.reshape({-1, rows.size(-1)}).index_select(0, places);
}

// Only indices of one shape from the first dimension on, with a value for each place: what `x[i, j] += v` makes.
void index_put(c10::IValue& indices, c10::IValue& values, const c10::IValue& accumulate) {
  if (!accumulate.toBool()) return;
  std::vector<at::Tensor> at;
  for (const c10::IValue& item : indices.toListRef()) {
    if (item.isNone() || !item.toTensor().defined()) return;
    at.push_back(item.toTensor());
    if (at.back().scalar_type() == at::kBool || at.back().sizes() != at.front().sizes()) return;
  }
  const at::Tensor all = values.toTensor();
  if (at.empty() || all.dim() < at.front().dim()) return;
  if (all.sizes().slice(0, at.front().dim()) != at.front().sizes()) return;
  const at::Tensor places = permutation(at.front().numel());
  c10::List<MaybeTensor> list;
  for (const at::Tensor& one : at) list.push_back(one.reshape({-1}).index_select(0, places));
  indices = std::move(list);
  std::vector<int64_t> shape{at.front().numel()};
  for (int64_t i = at.front().dim(); i < all.dim(); ++i) shape.push_back(all.size(i));
  values = all.reshape(shape).index_select(0, places);
}

at::Tensor convolution(c10::IValue& gradient, c10::IValue& input) {
  const int64_t count = input.toTensor().size(0);
  if (gradient.toTensor().size(0) != count) return {};
  const at::Tensor places = permutation(count);
  gradient = gradient.toTensor().index_select(0, places);
  input = input.toTensor().index_select(0, places);
  return places.argsort();
}

}  // namespace

void set_seed(uint64_t seed) { generator.seed(seed); }

at::Tensor reorder(const Facts& facts, c10::IValue* arguments) {
  const auto at = [&](int which) -> c10::IValue& { return arguments[facts.ordered[which]]; };
  switch (facts.order) {
    case Order::kIndexAdd:
      index_add(at(0), at(1), at(2));
      break;
    case Order::kScatterAdd:
      scatter_add(at(0), at(1), at(2));
      break;
    case Order::kIndexPut:
      index_put(at(0), at(1), at(2));
      break;
    case Order::kEmbedding:
      embedding(at(0), at(1));
      break;
    case Order::kConvolution:
      return convolution(at(0), at(1));
    case Order::kNone:
      break;
  }
  return {};
}

}  // namespace jumar::numerics
