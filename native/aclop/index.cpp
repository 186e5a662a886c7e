// Operators by type for lookups by index, sorting and running sums.
#include "kernels/index.h"

#include "acl/nnop.h"
#include "aclop/run.h"
#include "kernels/layout.h"
#include "kernels/order.h"
#include "kernels/reduction.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

int64_t axis_in(const Arguments& a, size_t input, const char* attribute, int64_t missing) {
  return static_cast<int64_t>(a.has_in(input) ? a.number_in(input) : a.number(attribute, static_cast<double>(missing)));
}

// The part of a packed tensor that belongs to one of `rows` rows over its first `axes` axes.
View part_of(const View& whole, size_t axes, int64_t rows, int64_t row) {
  View part = whole;
  part.dims.erase(part.dims.begin(), part.dims.begin() + static_cast<std::ptrdiff_t>(axes));
  part.strides = packed_strides(part.dims);
  const auto bytes = static_cast<int64_t>(element_size(whole.type));
  part.data = static_cast<char*>(whole.data) + count(whole.dims) / rows * row * bytes;
  return part;
}

// A card reads beyond the end without an error; what it finds there depends on what lies there.
void check_range(const View& index, int64_t size) {
  for (int64_t place : load<int64_t>(index))
    if (place < -size || place >= size)
      throw NotEmulated("what a card reads at index " + std::to_string(place) + " of " + std::to_string(size) +
                        " is not emulated");
}

void gather_slices(const Arguments& a) {
  const View x = a.in(0), index = a.in(1), out = a.out(0);
  auto axis = axis_in(a, 2, "axis", 0), batch = static_cast<int64_t>(a.number("batch_dims", 0));
  if (batch < 0) batch += static_cast<int64_t>(index.dims.size());
  if (axis < 0) axis += static_cast<int64_t>(x.dims.size());
  check_range(index, x.dims.empty() ? 1 : x.dims.at(static_cast<size_t>(axis)));
  if (batch == 0) return select(x, axis, index, out);
  const auto axes = static_cast<size_t>(batch);
  int64_t rows = 1;
  for (size_t i = 0; i < axes; ++i) rows *= x.dims.at(i);
  for (int64_t row = 0; row < rows; ++row)
    select(part_of(x, axes, rows, row), axis - batch, part_of(index, axes, rows, row), part_of(out, axes, rows, row));
}

template <Running What>
void running_of(const Arguments& a) {
  running(What, a.in(0), axis_in(a, 1, "axis", 0), a.number("exclusive", 0) != 0, a.number("reverse", 0) != 0, a.out(0));
}

void top_k(const Arguments& a) {
  const View values = a.out(0), places = a.out(1);
  sort(a.in(0), static_cast<int64_t>(a.number("dim", -1)), a.number("largest", 1) != 0, &values, &places);
}

void sort_of(const Arguments& a) {
  const View values = a.out(0), places = a.out(1);
  sort(a.in(0), static_cast<int64_t>(a.number("axis", -1)), a.number("descending", 0) != 0, &values, &places);
}

template <bool Largest>
void arg_of(const Arguments& a) {
  arg_reduce(Largest, a.in(0), axis_in(a, 1, "dimension", -1), nullptr, a.out(0));
}

template <bool Largest>
void arg_with_value(const Arguments& a) {
  const View value = a.out(1);
  arg_reduce(Largest, a.in(0), static_cast<int64_t>(a.number("dimension", 0)), &value, a.out(0));
}

void scatter_into_zeros(const Arguments& a) {
  fill(a.out(0), 0);
  scatter_nd(Write::kAdd, a.out(0), a.in(0), a.in(1), a.out(0));
}

template <Write How>
void scatter_rows(const Arguments& a) {
  scatter_nd(How, a.in(0), a.in(1), a.in(2), a.out(0));
}

void scatter_elements(const Arguments& a) {
  const std::string how = a.text("reduction", "none");
  if (how != "none" && how != "add" && how != "mul") throw NotEmulated("reduction " + how + " is not emulated");
  scatter(how == "add" ? Write::kAdd : how == "mul" ? Write::kMultiply : Write::kReplace, a.in(0),
          static_cast<int64_t>(a.number("axis", 0)), a.in(1), a.in(2), a.out(0));
}

void gather_elements(const Arguments& a) {
  gather(a.in(0), static_cast<int64_t>(a.number("dim", 0)), a.in(1), a.out(0));
}

void index_add(const Arguments& a) {
  add_slices(a.in(0), static_cast<int64_t>(a.number("axis", 0)), a.in(1), a.in(2), 1, a.out(0));
}

}  // namespace

const std::vector<Entry> kIndexing = {
    {"ArgMaxV2", arg_of<true>},
    {"ArgMaxWithValue", arg_with_value<true>},
    {"ArgMin", arg_of<false>},
    {"ArgMinWithValue", arg_with_value<false>},
    {"Cumprod", running_of<Running::kProduct>},
    {"Cumsum", running_of<Running::kSum>},
    {"GatherElements", gather_elements},
    {"GatherNd", [](const Arguments& a) { gather_nd(a.in(0), a.in(1), a.out(0)); }},
    {"GatherV2", gather_slices},
    {"InplaceIndexAdd", index_add},
    {"ScatterElements", scatter_elements},
    {"ScatterNd", scatter_into_zeros},
    {"Sort", sort_of},
    {"TensorScatterAdd", scatter_rows<Write::kAdd>},
    {"TensorScatterUpdate", scatter_rows<Write::kReplace>},
    {"TopK", top_k},
    {"TopKV2", top_k},
    {"UnsortedSegmentSum", [](const Arguments& a) { segment_sum(a.in(0), a.in(1), a.out(0)); }},
};

}  // namespace jumar::aclop
