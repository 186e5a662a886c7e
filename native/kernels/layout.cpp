#include "kernels/layout.h"

#include <algorithm>

namespace jumar::kernels {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

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

View along_channels(View x, size_t rank) {
  for (size_t axis = 2; axis < rank; ++axis) {
    x.dims.push_back(1);
    x.strides.push_back(0);
  }
  return x;
}

View sliced(const View& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  if (step == 0) throw Unsupported("a slice with step 0");
  const size_t which = at(axis_of(axis, x.dims.size()));
  const int64_t size = x.dims[which], low = step < 0 ? -1 : 0;  // backwards, the end is before the first
  const auto inside = [=](int64_t place) { return std::clamp(place < 0 ? place + size : place, low, size + low); };
  start = inside(start);
  end = inside(end);
  const int64_t length = std::max<int64_t>(0, (end - start + step - (step < 0 ? -1 : 1)) / step);
  // Shifting the data by elements needs their size: steps are bytes of the storage.
  static const auto bytes = [](int32_t type) -> int64_t {
    switch (type) {
      case kComplex128: return 16;
      case kDouble: case kInt64: case kUint64: case kComplex64: return 8;
      case kFloat: case kInt32: case kUint32: return 4;
      case kFloat16: case kBfloat16: case kInt16: case kUint16: return 2;
      default: return 1;
    }
  };
  View out = x;
  if (length != 0) out.data = static_cast<char*>(x.data) + start * x.strides[which] * bytes(x.type);
  out.dims[which] = length;
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

void cut(const View& x, int64_t axis, const std::vector<View>& parts) {
  int64_t first = 0;
  for (const View& part : parts) {
    const int64_t size = split(part.dims, axis).along;
    copy(sliced(x, axis, first, first + size, 1), part);
    first += size;
  }
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

void diagonal_ones(const View& out) {
  const int64_t width = out.dims.back();
  std::vector<double> values(at(count(out.dims)));
  for (int64_t i = 0; i < std::min(out.dims.at(0), width); ++i) values[at(i * width + i)] = 1;
  store(out, values);
}

void range(double start, double step, const View& out) {
  std::vector<double> values(at(count(out.dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + step * static_cast<double>(i);
  store(out, values);
}

}  // namespace jumar::kernels
