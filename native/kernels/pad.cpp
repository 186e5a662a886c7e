#include "kernels/pad.h"

#include <algorithm>

namespace jumar::kernels {
namespace {

// Where the element at `place` of the padded axis comes from; -1 for none.
int64_t origin(Padding how, int64_t place, int64_t size) {
  if (place >= 0 && place < size) return place;
  switch (how) {
    case Padding::kConstant: return -1;
    case Padding::kEdge: return place < 0 ? 0 : size - 1;
    case Padding::kCircular: return (place % size + size) % size;
    case Padding::kReflect: break;
  }
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t inside = (place % period + period) % period;
  return std::min(inside, period - inside);
}

// Calls `visit(place in packed `to`, place in packed `from`)`; `axis_origin(axis, place in to)` is -1 for none.
template <class F, class G>
void each_moved(const Dims& to, const Dims& from, F&& axis_origin, G&& visit) {
  const Dims steps = packed_strides(from);
  Dims here(to.size(), 0);
  for (int64_t place = 0, total = count(to); place < total; ++place) {
    int64_t source = 0;
    for (size_t axis = 0; axis < to.size() && source >= 0; ++axis) {
      const int64_t one = axis_origin(axis, here[axis]);
      source = one < 0 ? -1 : source + one * steps[axis];
    }
    visit(static_cast<size_t>(place), source);
    for (size_t axis = to.size(); axis-- > 0;) {
      if (++here[axis] < to[axis]) break;
      here[axis] = 0;
    }
  }
}

template <class F>
void move(const View& x, const View& out, double missing, F&& axis_origin) {
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result(static_cast<size_t>(count(out.dims)), static_cast<T>(missing));
    each_moved(out.dims, x.dims, axis_origin, [&](size_t to, int64_t from) {
      if (from >= 0) result[to] = values[static_cast<size_t>(from)];
    });
    store(out, result);
  });
}

}  // namespace

Ends by_axis(const Dims& sizes, size_t rank) {
  Ends ends(rank);
  if (sizes.size() > 2 * rank) throw Unsupported("padding " + text(sizes) + " is for more axes than there are");
  for (size_t i = 0; i + 1 < sizes.size(); i += 2) ends[rank - 1 - i / 2] = {sizes[i], sizes[i + 1]};
  return ends;
}

void pad(Padding how, const View& x, const Ends& ends, double value, const View& out) {
  move(x, out, value,
       [&](size_t axis, int64_t place) { return origin(how, place - ends.at(axis).first, x.dims[axis]); });
}

void pad_gradient(Padding how, const View& grad, const Ends& ends, const View& out) {
  const auto grads = load<double>(grad);
  std::vector<double> result(static_cast<size_t>(count(out.dims)));
  each_moved(grad.dims, out.dims,
             [&](size_t axis, int64_t place) { return origin(how, place - ends.at(axis).first, out.dims[axis]); },
             [&](size_t from, int64_t to) {
               if (to >= 0) result[static_cast<size_t>(to)] += grads[from];
             });
  store(out, result);
}

void flip(const View& x, const Dims& axes, const View& out) {
  std::vector<bool> turned(x.dims.size());
  for (int64_t axis : turned.empty() ? Dims{} : axes) turned[static_cast<size_t>(axis_of(axis, x.dims.size()))] = true;
  move(x, out, 0, [&](size_t axis, int64_t place) { return turned[axis] ? x.dims[axis] - 1 - place : place; });
}

void roll(const View& x, const Dims& shifts, const Dims& axes, const View& out) {
  if (axes.empty()) {
    if (x.strides != packed_strides(x.dims)) throw NotEmulated("rolling all elements of a view is not emulated");
    const View flat{x.type, {count(x.dims)}, {1}, x.data}, to{out.type, flat.dims, {1}, out.data};
    return roll(flat, shifts, {0}, to);
  }
  Dims by(x.dims.size(), 0);
  for (size_t i = 0; i < axes.size() && !by.empty(); ++i) by[static_cast<size_t>(axis_of(axes[i], by.size()))] += shifts.at(i);
  move(x, out, 0, [&](size_t axis, int64_t place) {
    const int64_t size = x.dims[axis];
    return ((place - by[axis]) % size + size) % size;
  });
}

}  // namespace jumar::kernels
