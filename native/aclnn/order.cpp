// Operator calls (aclnn) for sorting, running sums, and results whose size is known only when they are there.
#include "kernels/order.h"

#include "aclnn/call.h"
#include "kernels/layout.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

// The client asks for the shape after the call.
template <class T>
void store_found(Out out, Dims dims, const std::vector<T>& values) {
  out->dims = std::move(dims);
  out->strides = packed_strides(out->dims);
  store(view(out), values);
}

// Coordinates of what is not zero: a row for each, or (`turned`) a row for each axis.
void nonzero(In self, Out out, bool turned) {
  const View x = view(self);
  const auto places = chosen(x, x.dims);
  const Dims steps = packed_strides(x.dims);
  const auto size = static_cast<int64_t>(places.size()), rank = static_cast<int64_t>(x.dims.size());
  std::vector<int64_t> found(static_cast<size_t>(size * rank));
  for (int64_t i = 0; i < size; ++i)
    for (int64_t axis = 0; axis < rank; ++axis) {
      const auto a = static_cast<size_t>(axis);
      found[static_cast<size_t>(turned ? axis * size + i : i * rank + axis)] =
          places[static_cast<size_t>(i)] / steps[a] % x.dims[a];
    }
  store_found(out, turned ? Dims{rank, size} : Dims{size, rank}, found);
}

void masked_select(In self, In mask, Out out) {
  const View x = view(self);
  const Dims dims = broadcast(x.dims, mask->dims);
  const auto places = chosen(view(mask), dims);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x, dims);
    std::vector<T> found;
    for (int64_t place : places) found.push_back(values[static_cast<size_t>(place)]);
    store_found(out, {static_cast<int64_t>(found.size())}, found);
  });
}

}  // namespace

OPERATOR(aclnnSort, sort(view(self), dim, descending, Maybe(values), Maybe(places)))
OPERATOR(aclnnArgsort, sort(view(self), dim, descending, nullptr, Maybe(places)))
OPERATOR(aclnnTopk, sort(view(self), dim, largest, Maybe(values), Maybe(places)))
OPERATOR(aclnnCumsum, running(Running::kSum, view(self), dim, false, false, view(out)))
OPERATOR(aclnnCumprod,
         running(Running::kProduct, view(self), static_cast<int64_t>(value(dim, 0)), false, false, view(out)))
OPERATOR(aclnnCummax, running_extreme(true, view(self), dim, view(values), view(places)))
OPERATOR(aclnnCummin, running_extreme(false, view(self), dim, view(values), view(places)))
OPERATOR(aclnnNonzero, nonzero(self, out, false))
OPERATOR(aclnnNonzeroV2, nonzero(self, out, true))
OPERATOR(aclnnMaskedSelect, masked_select(self, mask, out))
OPERATOR(aclnnMedian, {
  // The smaller one of the two in the middle.
  const View x = view(self);
  const View flat{x.type, {count(x.dims)}, {1}, x.data};
  if (x.strides != packed_strides(x.dims)) throw NotEmulated("the median of a view is not emulated");
  std::vector<double> sorted(static_cast<size_t>(count(x.dims)));
  const View all{kDouble, flat.dims, {1}, sorted.data()};
  sort(flat, 0, false, &all, nullptr);
  store(view(out), std::vector<double>{sorted.at((sorted.size() - 1) / 2)});
})
