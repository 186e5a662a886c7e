// Operators by type that move values: joins, pieces, padding, fills.
#include "aclop/run.h"
#include "kernels/layout.h"
#include "kernels/pad.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

// Pairs in the order of the axes: (before, after) one by one, or all `before` first.
Ends ends_of(const Dims& sizes, size_t rank, bool pairs) {
  if (sizes.size() != 2 * rank) throw Unsupported("padding " + text(sizes) + " does not fit");
  Ends ends;
  for (size_t axis = 0; axis < rank; ++axis)
    ends.push_back(pairs ? std::pair(sizes[2 * axis], sizes[2 * axis + 1]) : std::pair(sizes[axis], sizes[rank + axis]));
  return ends;
}

Padding padding_of(const Arguments& a) {
  const std::string how = a.text("mode", "constant");
  if (how == "constant") return Padding::kConstant;
  if (how == "reflect" || how == "REFLECT") return Padding::kReflect;
  if (how == "edge") return Padding::kEdge;
  if (how == "circular") return Padding::kCircular;
  throw NotEmulated("padding mode " + how + " is not emulated");
}

void pad_of(const Arguments& a) {
  const View x = a.in(0);
  const Ends ends = ends_of(load<int64_t>(a.in(1)), x.dims.size(), a.number("paddings_contiguous", 1) != 0);
  pad(padding_of(a), x, ends, a.has_in(2) ? a.number_in(2) : 0, a.out(0));
}

void pad_gradient_of(const Arguments& a) {
  const Ends ends = ends_of(load<int64_t>(a.in(1)), a.in(0).dims.size(), a.number("paddings_contiguous", 1) != 0);
  pad_gradient(padding_of(a), a.in(0), ends, a.out(0));
}

std::vector<View> all_inputs(const Arguments& a) {
  std::vector<View> all;
  for (size_t i = 0; i < a.inputs(); ++i) all.push_back(a.in(i));
  return all;
}

void pack(const Arguments& a) { stack(all_inputs(a), static_cast<int64_t>(a.number("axis", 0)), a.out(0)); }

void unpack(const Arguments& a) {
  const View x = a.in(0);
  const auto axis = static_cast<int64_t>(a.number("axis", 0));
  for (size_t i = 0; i < a.outputs(); ++i)
    copy_flat(sliced(x, axis, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1, 1), a.out(i));
}

// Begin, end and step of each axis; bits of the masks mean: from its start, to its end, taken away, put in.
View strided(View x, const Arguments& a) {
  const auto begin = load<int64_t>(a.in(1)), end = load<int64_t>(a.in(2));
  const auto step = a.has_in(3) ? load<int64_t>(a.in(3)) : Dims(begin.size(), 1);
  const auto mask = [&](const char* name, size_t axis) { return (static_cast<int64_t>(a.number(name, 0)) >> axis & 1) != 0; };
  for (const char* name : {"ellipsis_mask", "new_axis_mask"})
    if (a.number(name, 0) != 0) throw NotEmulated(std::string(name) + " is not emulated");
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    const int64_t size = x.dims.at(axis);
    const bool single = mask("shrink_axis_mask", axis), back = step[axis] < 0 && !single;
    const int64_t from = mask("begin_mask", axis) ? (back ? size - 1 : 0) : begin[axis];
    const int64_t to = single ? (from == -1 ? size : from + 1) : mask("end_mask", axis) ? (back ? -size - 1 : size) : end[axis];
    x = sliced(x, static_cast<int64_t>(axis), from, to, single ? 1 : step[axis]);
  }
  return x;
}

// Inputs: the whole memory, sizes, strides, and the element to begin at. Older torch_npu makes tensors contiguous so.
void as_strided(const Arguments& a) {
  const View x = a.in(0);
  const auto dims = load<int64_t>(a.in(1)), strides = load<int64_t>(a.in(2));
  const auto begin = a.has_in(3) ? static_cast<int64_t>(a.number_in(3)) : 0;
  if (dims.size() != strides.size()) throw Unsupported("strides " + text(strides) + " do not fit sizes " + text(dims));
  if (count(dims) == 0) return;
  int64_t first = begin, last = begin;
  for (size_t axis = 0; axis < dims.size(); ++axis) (strides[axis] < 0 ? first : last) += (dims[axis] - 1) * strides[axis];
  const int64_t size = count(x.dims);
  if (first < 0 || last >= size)
    throw Unsupported("sizes " + text(dims) + " with strides " + text(strides) + " reach outside of " + std::to_string(size) +
                      " elements");
  View piece = sliced({x.type, {size}, {1}, x.data}, 0, begin, size, 1);
  piece.dims = dims;
  piece.strides = strides;
  copy_flat(piece, a.out(0));
}

// Inputs: shape of the whole, begin, end, step, gradient of the piece.
void strided_gradient(const Arguments& a) {
  const View whole = a.out(0);
  fill(whole, 0);
  const View piece = strided(whole, a);
  View grad = a.in(4);
  grad.dims = piece.dims;  // the axes taken away have one element
  grad.strides = packed_strides(piece.dims);
  copy(grad, piece);
}

void range_of(const Arguments& a) { range(a.number_in(0), a.number_in(2), a.out(0)); }

void even_steps(const Arguments& a) {
  const double start = a.number_in(0), steps = a.number_in(2);
  range(start, steps > 1 ? (a.number_in(1) - start) / (steps - 1) : 0, a.out(0));
}

template <bool Lower>
void triangle_of(const Arguments& a) {
  triangle(a.in(0), static_cast<int64_t>(a.number("diagonal", 0)), Lower, a.out(0));
}

void diagonal(const Arguments& a) {
  const View x = a.in(0), out = a.out(0);
  const int64_t size = count(x.dims);
  fill(out, 0);
  copy({x.type, {size}, {1}, x.data}, {out.type, {size}, {size + 1}, out.data});
}

void concatenate_of(const Arguments& a) {
  concatenate(all_inputs(a), static_cast<int64_t>(a.number("concat_dim", 0)), a.out(0));
}

std::vector<View> all_outputs(const Arguments& a) {
  std::vector<View> all;
  for (size_t i = 0; i < a.outputs(); ++i) all.push_back(a.out(i));
  return all;
}

void split_by_attribute(const Arguments& a) {
  cut(a.in(0), static_cast<int64_t>(a.number("split_dim", 0)), all_outputs(a));
}

// Inputs: axis, x.
void split_of(const Arguments& a) { cut(a.in(1), static_cast<int64_t>(a.number_in(0)), all_outputs(a)); }

// Inputs: x, sizes, axis; the outputs have the sizes.
void split_by_sizes(const Arguments& a) { cut(a.in(0), static_cast<int64_t>(a.number_in(2)), all_outputs(a)); }

}  // namespace

const std::vector<Entry> kShapes = {
    {"AsStrided", as_strided},
    {"ConcatD", concatenate_of},
    {"Diag", diagonal},
    {"Fill", [](const Arguments& a) { copy(a.in(1), a.out(0)); }},
    {"LinSpace", even_steps},
    {"Pack", pack},
    {"Pad", pad_of},
    {"PadV3", pad_of},
    {"PadV3Grad", pad_gradient_of},
    {"Range", range_of},
    {"Split", split_of},
    {"SplitD", split_by_attribute},
    {"SplitV", split_by_sizes},
    {"StridedSlice", [](const Arguments& a) { copy_flat(strided(a.in(0), a), a.out(0)); }},
    {"StridedSliceGrad", strided_gradient},
    {"Tril", triangle_of<true>},
    {"Triu", triangle_of<false>},
    {"Unpack", unpack},
};

}  // namespace jumar::aclop
