#include "kernels/index.h"

#include <algorithm>

namespace jumar::kernels {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

int64_t checked(int64_t index, int64_t size) {
  if (index < -size || index >= size)
    throw Unsupported("index " + std::to_string(index) + " is out of range for " + std::to_string(size));
  return index < 0 ? index + size : index;
}

// Where each element of `index` points to in packed values of shape `dims`: its own place, but for one axis.
// A single number is a row of one.
std::vector<int64_t> places_along(const Dims& given, int64_t axis, const View& index) {
  const Dims dims = given.empty() ? Dims{1} : given, rows = index.dims.empty() ? Dims{1} : index.dims;
  if (rows.size() != dims.size()) throw Unsupported("an index " + text(index.dims) + " does not fit " + text(given));
  const size_t which = at(axis_of(axis, dims.size()));
  const Dims steps = packed_strides(dims);
  auto places = load<int64_t>(index);
  Dims here(dims.size(), 0);
  for (int64_t& place : places) {
    int64_t offset = checked(place, dims[which]) * steps[which];
    for (size_t i = 0; i < dims.size(); ++i)
      if (i != which) offset += here[i] * steps[i];
    place = offset;
    for (size_t i = dims.size(); i-- > 0;) {
      if (++here[i] < rows[i]) break;
      here[i] = 0;
    }
  }
  return places;
}

// The first element of the slice that each row of `index` names, and the size of such a slice.
std::vector<int64_t> places_of_rows(const Dims& dims, const View& index, int64_t* slice) {
  const int64_t depth = index.dims.empty() ? 1 : index.dims.back();
  if (depth > static_cast<int64_t>(dims.size())) throw Unsupported("index " + text(index.dims) + " is too deep");
  const Dims steps = packed_strides(dims);
  *slice = 1;
  for (size_t i = at(depth); i < dims.size(); ++i) *slice *= dims[i];
  const auto all = load<int64_t>(index);
  std::vector<int64_t> places(depth == 0 ? 1 : all.size() / at(depth));
  for (size_t row = 0; row < places.size(); ++row)
    for (size_t i = 0; i < at(depth); ++i) places[row] += checked(all[row * at(depth) + i], dims[i]) * steps[i];
  return places;
}

template <class T>
void write(Write how, T& to, T value) {
  switch (how) {
    case Write::kReplace: to = value; break;
    case Write::kAdd: to += value; break;
    case Write::kMultiply: to *= value; break;
  }
}

// An axis of the result of a lookup: one of x, or one of the indices' common shape.
struct Axis {
  int64_t size, step;  // step in x, for an axis of x
  size_t common;       // which axis of the common shape, otherwise
  bool own;
};

struct Lookup {
  Dims dims;                    // of the result
  std::vector<int64_t> places;  // in packed x
};

Lookup looked_up(const Dims& x, const std::vector<const View*>& indices) {
  if (indices.size() > x.size()) throw Unsupported("more indices than axes of " + text(x));
  const Dims steps = packed_strides(x);
  Dims common;
  std::vector<size_t> given;
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] != nullptr) {
      common = broadcast(common, indices[i]->dims);
      given.push_back(i);
    }
  std::vector<int64_t> offsets(at(count(common)));
  for (size_t i : given) {
    const auto values = load<int64_t>(*indices[i], common);
    for (size_t k = 0; k < offsets.size(); ++k) offsets[k] += checked(values[k], x[i]) * steps[i];
  }
  // Indices side by side leave their result where they stand, others in front.
  const bool together = !given.empty() && given.back() - given.front() + 1 == given.size();
  std::vector<Axis> axes;
  const auto add_common = [&] {
    for (size_t i = 0; i < common.size(); ++i) axes.push_back({common[i], 0, i, false});
  };
  if (!together) add_common();
  for (size_t i = 0; i < x.size(); ++i) {
    if (together && i == given.front()) add_common();
    if (i >= indices.size() || indices[i] == nullptr) axes.push_back({x[i], steps[i], 0, true});
  }
  Lookup found;
  for (const Axis& axis : axes) found.dims.push_back(axis.size);
  const Dims common_steps = packed_strides(common);
  Dims here(axes.size(), 0);
  for (int64_t left = count(found.dims); left > 0; --left) {
    int64_t place = 0, row = 0;
    for (size_t i = 0; i < axes.size(); ++i)
      (axes[i].own ? place : row) += here[i] * (axes[i].own ? axes[i].step : common_steps[axes[i].common]);
    found.places.push_back(place + offsets[at(row)]);
    for (size_t i = axes.size(); i-- > 0;) {
      if (++here[i] < axes[i].size) break;
      here[i] = 0;
    }
  }
  return found;
}

}  // namespace

void gather(const View& x, int64_t axis, const View& index, const View& out) {
  const auto places = places_along(x.dims, axis, index);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result(places.size());
    for (size_t i = 0; i < places.size(); ++i) result[i] = values[at(places[i])];
    store(out, result);
  });
}

void scatter(Write how, const View& x, int64_t axis, const View& index, const View& source, const View& out) {
  const auto places = places_along(x.dims, axis, index);
  compute({x.type, source.type}, [&](auto sample) {
    using T = decltype(sample);
    auto result = load<T>(x);
    View part = source;  // may be larger than the index
    if (part.dims.size() == index.dims.size()) part.dims = index.dims;
    const auto values = load<T>(part, index.dims);
    for (size_t i = 0; i < places.size(); ++i) write(how, result[at(places[i])], values[i]);
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

void embedding_gradient(const View& grad, const View& index, int64_t rows, int64_t ignored, bool by_frequency,
                        const View& out) {
  const auto places = load<int64_t>(index);
  std::vector<int64_t> times(at(rows), by_frequency ? 0 : 1);
  for (int64_t place : places)
    if (by_frequency && place != ignored) ++times[at(checked(place, rows))];
  const int64_t width = count(out.dims) / std::max<int64_t>(rows, 1);
  compute_float({grad.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto grads = load<T>(grad);
    std::vector<T> result(at(rows * width));
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == ignored) continue;
      const int64_t place = checked(places[i], rows);
      T* row = &result[at(place * width)];
      const T share = static_cast<T>(times[at(place)]);
      for (int64_t j = 0; j < width; ++j) row[j] += grads[i * at(width) + at(j)] / share;
    }
    store(out, result);
  });
}

void add_slices(const View& x, int64_t axis, const View& index, const View& source, double factor, const View& out) {
  const Split s = split(x.dims, axis);
  const auto places = load<int64_t>(index);
  compute({x.type, source.type}, [&](auto sample) {
    using T = decltype(sample);
    auto result = load<T>(x);
    const auto values = load<T>(source);
    for (int64_t i = 0; i < s.before; ++i)
      for (size_t k = 0; k < places.size(); ++k)
        for (int64_t j = 0; j < s.behind; ++j)
          result[at((i * s.along + checked(places[k], s.along)) * s.behind + j)] +=
              static_cast<T>(factor) * values.at((at(i) * places.size() + k) * at(s.behind) + at(j));
    store(out, result);
  });
}

void segment_sum(const View& x, const View& segment, const View& out) {
  const auto places = load<int64_t>(segment);
  const int64_t rows = out.dims.empty() ? 1 : out.dims[0];
  const size_t width = places.empty() ? 0 : at(count(x.dims)) / places.size();
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result(at(count(out.dims)));
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0 || places[i] >= rows) continue;  // dropped, as the vendor says
      for (size_t j = 0; j < width; ++j) result[at(places[i]) * width + j] += values[i * width + j];
    }
    store(out, result);
  });
}

void gather_nd(const View& x, const View& index, const View& out) {
  int64_t slice = 1;
  const auto places = places_of_rows(x.dims, index, &slice);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result;
    for (int64_t place : places) result.insert(result.end(), values.begin() + place, values.begin() + place + slice);
    store(out, result);
  });
}

void scatter_nd(Write how, const View& x, const View& index, const View& source, const View& out) {
  int64_t slice = 1;
  const auto places = places_of_rows(x.dims, index, &slice);
  compute({x.type, source.type}, [&](auto sample) {
    using T = decltype(sample);
    auto result = load<T>(x);
    const auto values = load<T>(source);
    for (size_t i = 0; i < places.size(); ++i)
      for (int64_t j = 0; j < slice; ++j)
        write(how, result[at(places[i] + j)], values.at(i * at(slice) + at(j)));
    store(out, result);
  });
}

void lookup(const View& x, const std::vector<const View*>& indices, const View& out) {
  const Lookup found = looked_up(x.dims, indices);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result;
    result.reserve(found.places.size());
    for (int64_t place : found.places) result.push_back(values[at(place)]);
    store(out, result);
  });
}

void put(Write how, const View& x, const std::vector<const View*>& indices, const View& source) {
  const Lookup found = looked_up(x.dims, indices);
  compute({x.type, source.type}, [&](auto sample) {
    using T = decltype(sample);
    auto result = load<T>(x);
    const auto values = load<T>(source, found.dims);
    for (size_t i = 0; i < values.size(); ++i) write(how, result[at(found.places[i])], values[i]);
    store(x, result);
  });
}

}  // namespace jumar::kernels
