// Operator calls (aclnn) for lookups by index and for writing where an index says.
#include "kernels/index.h"

#include <algorithm>
#include <deque>

#include "aclnn/call.h"
#include "kernels/order.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

constexpr int64_t kReduceAdd = 1, kReduceMultiply = 2;

Write write_of(int64_t how) {
  return how == kReduceAdd ? Write::kAdd : how == kReduceMultiply ? Write::kMultiply : Write::kReplace;
}

View single(Number number) {
  return {number->type, {}, {}, const_cast<uint8_t*>(number->value)};
}

// For the whole axis stands nothing, an empty tensor, or MindSpore's tensor of nine dimensions of size 0. Where values
// are written, an empty tensor with memory chooses nothing, such as a mask without a true value; a lookup by one has no
// result and is not asked for.
bool is_given(In index, bool writing) {
  if (index == nullptr) return false;
  if (index->dims == Dims{0}) return writing && view(index).data != nullptr;
  return index->dims != Dims(9, 0);
}

// One for each axis. A mask stands for the axes that it has, by the places of its true values.
struct Indices {
  explicit Indices(Tensors tensors, bool writing = false) {
    for (In one : *tensors) {
      const bool given = is_given(one, writing);
      if (given && one->type == kBool) {
        add_mask(view(one));
        continue;
      }
      all.push_back(given ? view(one) : View{});
      chosen.push_back(given ? &all.back() : nullptr);
    }
  }

  void add_mask(const View& mask) {
    const std::vector<int64_t> places = jumar::kernels::chosen(mask, mask.dims);
    if (mask.dims.empty()) nothing = nothing || places.empty();  // one value for the whole tensor
    int64_t inner = count(mask.dims);
    for (int64_t size : mask.dims) {
      inner /= std::max<int64_t>(size, 1);
      std::vector<int64_t>& along = made.emplace_back();
      for (int64_t place : places) along.push_back(place / inner % size);
      all.push_back({kInt64, {static_cast<int64_t>(along.size())}, {1}, along.data()});
      chosen.push_back(&all.back());
    }
  }

  std::deque<View> all;
  std::deque<std::vector<int64_t>> made;
  std::vector<const View*> chosen;
  bool nothing = false;
};

// As the vendor's library checks it; numbers of their own are shapes, too.
View fitting(const View& x, int64_t axis, const View& index, const View& source) {
  if (count(index.dims) == 0) return source;
  const size_t axes = x.dims.size();
  if (index.dims.size() != axes || source.dims.size() != axes)
    throw jumar::kernels::Unsupported("self, index and src must have the same number of dimensions");
  for (size_t i = 0; i < axes; ++i) {
    const bool along = static_cast<int64_t>(i) == (axis < 0 ? axis + static_cast<int64_t>(axes) : axis);
    if (index.dims[i] > source.dims[i] || (!along && index.dims[i] > x.dims[i]))
      throw jumar::kernels::Unsupported("the index must not be larger than src, nor than self beside the axis");
  }
  return source;
}

}  // namespace

OPERATOR(aclnnGather, gather(view(self), dim, view(index), view(out)))
OPERATOR(aclnnGatherNd, gather_nd(view(self), view(index), view(out)))
OPERATOR(aclnnScatter, scatter(write_of(how), view(self), dim, view(index),
                               fitting(view(self), dim, view(index), view(source)), view(out)))
OPERATOR(aclnnScatterValue, scatter(write_of(how), view(self), dim, view(index), single(number), view(out)))
OPERATOR(aclnnInplaceScatter, scatter(write_of(how), view(self), dim, view(index),
                                      fitting(view(self), dim, view(index), view(source)), view(self)))
OPERATOR(aclnnInplaceScatterValue, scatter(write_of(how), view(self), dim, view(index), single(number), view(self)))
OPERATOR(aclnnScatterAdd, scatter(Write::kAdd, view(self), dim, view(index),
                                  fitting(view(self), dim, view(index), view(source)), view(out)))
OPERATOR(aclnnTfScatterAdd, scatter_nd(Write::kAdd, view(self), view(index), view(source), view(self)))
OPERATOR(aclnnScatterNdUpdate, scatter_nd(Write::kReplace, view(self), view(index), view(source), view(self)))
OPERATOR(aclnnIndexSelect, select(view(self), dim, view(index), view(out)))
OPERATOR(aclnnIndexAdd, add_slices(view(self), dim, view(index), view(source), value(factor, 1), view(out)))
OPERATOR(aclnnIndex, {
  if (count(out->dims) != 0) lookup(view(self), Indices(indices).chosen, view(out));
})
OPERATOR(aclnnIndexPutImpl, {
  const Indices places(indices, true);
  if (!places.nothing) put(add ? Write::kAdd : Write::kReplace, view(self), places.chosen, view(source));
})
OPERATOR(aclnnEmbedding, select(view(weight), 0, view(index), view(out)))
OPERATOR(aclnnEmbeddingDenseBackward,
         embedding_gradient(view(grad), view(index), static_cast<int64_t>(rows), static_cast<int64_t>(ignored), by_frequency,
                            view(out)))
