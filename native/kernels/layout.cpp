#include "kernels/layout.h"

#include <algorithm>

namespace jumar::kernels {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

int64_t checked(int64_t index, int64_t size) {
  if (index < -size || index >= size)
    throw Unsupported("index " + std::to_string(index) + " is out of range for " + std::to_string(size));
  return index < 0 ? index + size : index;
}

}  // namespace

void copy(const View& x, const View& out) {
  compute({x.type}, [&](auto sample) { store(out, load<decltype(sample)>(x, out.dims)); });
}

void copy_flat(const View& x, const View& out) {
  compute({x.type}, [&](auto sample) { store(out, load<decltype(sample)>(x)); });
}

View permuted(const View& x, const Dims& order) {
  View out{x.type, {}, {}, x.data};
  for (int64_t axis : order) {
    out.dims.push_back(x.dims[at(axis_of(axis, x.dims.size()))]);
    out.strides.push_back(x.strides[at(axis_of(axis, x.dims.size()))]);
  }
  return out;
}

View sliced(const View& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  if (step < 1) throw Unsupported("a slice with step " + std::to_string(step) + " is not emulated");
  const size_t which = at(axis_of(axis, x.dims.size()));
  const int64_t size = x.dims[which];
  const auto inside = [size](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + size : place, 0, size); };
  start = inside(start);
  end = std::max(start, inside(end));
  // Shifting the data by elements needs their size: steps are bytes of the storage.
  static const auto bytes = [](int32_t type) -> int64_t {
    switch (type) {
      case kDouble: case kInt64: case kUint64: return 8;
      case kFloat: case kInt32: case kUint32: return 4;
      case kFloat16: case kBfloat16: case kInt16: case kUint16: return 2;
      default: return 1;
    }
  };
  View out = x;
  out.data = static_cast<char*>(x.data) + start * x.strides[which] * bytes(x.type);
  out.dims[which] = (end - start + step - 1) / step;
  out.strides[which] *= step;
  return out;
}

void fill(const View& out, double value) {
  compute({out.type}, [&](auto sample) {
    using T = decltype(sample);
    store(out, std::vector<T>(at(count(out.dims)), static_cast<T>(value)));
  });
}

void concatenate(const std::vector<View>& parts, int64_t axis, const View& out) {
  const Split whole = split(out.dims, axis);
  compute({out.type}, [&](auto sample) {
    using T = decltype(sample);
    std::vector<T> result(at(count(out.dims)));
    int64_t first = 0;
    for (const View& part : parts) {
      if (part.dims.size() == 1 && part.dims[0] == 0) continue;
      const Split own = split(part.dims, axis);
      const auto values = load<T>(part);
      for (int64_t i = 0; i < own.before; ++i)
        std::copy_n(values.begin() + i * own.along * own.behind, own.along * own.behind,
                    result.begin() + (i * whole.along + first) * whole.behind);
      first += own.along;
    }
    store(out, result);
  });
}

void stack(const std::vector<View>& parts, int64_t axis, const View& out) {
  const auto place = axis_of(axis, out.dims.size());
  std::vector<View> raised = parts;
  for (View& part : raised) {
    part.dims.insert(part.dims.begin() + place, 1);
    part.strides.insert(part.strides.begin() + place, 0);
  }
  concatenate(raised, place, out);
}

void repeat(const View& x, const Dims& times, const View& out) {
  Dims dims = x.dims;
  dims.insert(dims.begin(), times.size() - std::min(times.size(), dims.size()), 1);
  if (dims.size() != times.size()) throw Unsupported("repeat " + text(times) + " does not fit " + text(x.dims));
  // Each axis becomes (times, size): broadcasting the first of the two repeats the second.
  Dims wide;
  View view{x.type, {}, {}, x.data};
  const size_t shift = dims.size() - x.dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    wide.insert(wide.end(), {times[i], dims[i]});
    view.dims.insert(view.dims.end(), {1, dims[i]});
    view.strides.insert(view.strides.end(), {0, i >= shift ? x.strides[i - shift] : 0});
  }
  compute({x.type}, [&](auto sample) { store(out, load<decltype(sample)>(view, wide)); });
}

void gather(const View& x, int64_t axis, const View& index, const View& out) {
  const Split from = split(x.dims, axis), to = split(index.dims, axis);
  if (from.behind != to.behind || from.before < to.before)
    throw Unsupported("gather from " + text(x.dims) + " with " + text(index.dims) + " is not emulated");
  const auto places = load<int64_t>(index);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result(places.size());
    for (int64_t i = 0; i < static_cast<int64_t>(places.size()); ++i) {
      const int64_t behind = i % to.behind, before = i / (to.behind * to.along);
      result[at(i)] = values[at((before * from.along + checked(places[at(i)], from.along)) * from.behind + behind)];
    }
    store(out, result);
  });
}

void scatter_add(const View& x, int64_t axis, const View& index, const View& added, const View& out) {
  const Split to = split(x.dims, axis), from = split(index.dims, axis);
  if (from.behind != to.behind || to.before < from.before)
    throw Unsupported("scatter into " + text(x.dims) + " with " + text(index.dims) + " is not emulated");
  const auto places = load<int64_t>(index);
  compute({x.type, added.type}, [&](auto sample) {
    using T = decltype(sample);
    auto result = load<T>(x);
    const auto values = load<T>(added, index.dims);
    for (int64_t i = 0; i < static_cast<int64_t>(places.size()); ++i) {
      const int64_t behind = i % from.behind, before = i / (from.behind * from.along);
      result[at((before * to.along + checked(places[at(i)], to.along)) * to.behind + behind)] += values[at(i)];
    }
    store(out, result);
  });
}

void select(const View& x, int64_t axis, const View& index, const View& out) {
  const Split from = split(x.dims, axis);
  const auto places = load<int64_t>(index);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result;
    result.reserve(at(count(out.dims)));
    for (int64_t i = 0; i < from.before; ++i)
      for (int64_t place : places) {
        const auto first = values.begin() + (i * from.along + checked(place, from.along)) * from.behind;
        result.insert(result.end(), first, first + from.behind);
      }
    store(out, result);
  });
}

void embedding_gradient(const View& grad, const View& index, int64_t rows, int64_t ignored, const View& out) {
  const auto places = load<int64_t>(index);
  const int64_t width = count(out.dims) / std::max<int64_t>(rows, 1);
  compute_float({grad.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto grads = load<T>(grad);
    std::vector<T> result(at(rows * width));
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == ignored) continue;
      T* row = &result[at(checked(places[i], rows) * width)];
      for (int64_t j = 0; j < width; ++j) row[j] += grads[i * at(width) + at(j)];
    }
    store(out, result);
  });
}

void one_hot(const View& index, int64_t classes, const View& on, const View& off, int64_t axis, const View& out) {
  const Split s = split(out.dims, axis);
  const auto places = load<int64_t>(index);
  const double yes = load<double>(on).at(0), no = load<double>(off).at(0);
  std::vector<double> result(at(count(out.dims)), no);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= classes) continue;  // a row without its one, as on a device
    const int64_t before = static_cast<int64_t>(i) / s.behind, behind = static_cast<int64_t>(i) % s.behind;
    result[at((before * classes + places[i]) * s.behind + behind)] = yes;
  }
  store(out, result);
}

void triangle(const View& x, int64_t diagonal, bool lower, const View& out) {
  const int64_t rows = x.dims.at(x.dims.size() - 2), width = x.dims.back();
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    auto values = load<T>(x);
    for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
      const int64_t row = i / width % rows, column = i % width;
      if (lower ? column - row > diagonal : column - row < diagonal) values[at(i)] = T(0);
    }
    store(out, values);
  });
}

void range(double start, double step, const View& out) {
  std::vector<double> values(at(count(out.dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + step * static_cast<double>(i);
  store(out, values);
}

}  // namespace jumar::kernels
