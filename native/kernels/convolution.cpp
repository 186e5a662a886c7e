#include "kernels/convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/matmul.h"
#include "kernels/rows.h"
#include "kernels/workers.h"

namespace jumar::kernels {
namespace {

struct Shape {
  int64_t images, channels, height, width;    // of the input
  int64_t filters, out_height, out_width;     // of the output
  int64_t groups, in_group, filters_in_group;  // channels and filters of one group
  int64_t places() const { return out_height * out_width; }
  int64_t depth(const Window& w) const { return in_group * w.height * w.width; }
  int64_t of_image(int64_t n, int64_t g) const { return (n * channels + g * in_group) * height * width; }
  int64_t of_result(int64_t n, int64_t g) const { return (n * filters + g * filters_in_group) * places(); }
};

Shape shape_of(const Dims& x, const Dims& weight, const Dims& out, int64_t groups) {
  if (x.size() != 4 || weight.size() != 4 || out.size() != 4)
    throw NotEmulated("convolution of " + text(x) + " with " + text(weight) + ": only images (N, C, H, W) are emulated");
  if (groups < 1 || x[1] != weight[1] * groups || out[1] != weight[0] || weight[0] % groups != 0)
    throw Unsupported("convolution of " + text(x) + " with " + text(weight) + ": channels and groups do not fit");
  return {x[0], x[1], x[2], x[3], weight[0], out[2], out[3], groups, weight[1], weight[0] / groups};
}

// A kernel of one place: the image is its own matrix of columns.
bool trivial(const Shape& s, const Window& w) {
  return w.height == 1 && w.width == 1 && w.step_y == 1 && w.step_x == 1 && w.top == 0 && w.left == 0 &&
         s.out_height == s.height && s.out_width == s.width;
}

// The first output column whose tap `kx` is inside of the image, and the one behind the last.
struct Inside {
  int64_t first, last;
};
Inside inside(const Shape& s, const Window& w, int64_t kx) {
  const int64_t shift = kx * w.gap_x - w.left;
  const int64_t first = shift >= 0 ? 0 : (-shift + w.step_x - 1) / w.step_x;
  const int64_t last = s.width - shift <= 0 ? 0 : (s.width - shift + w.step_x - 1) / w.step_x;
  return {std::min(first, s.out_width), std::clamp(last, std::min(first, s.out_width), s.out_width)};
}

// Calls `visit(row of columns, row of the image or nullptr, columns inside, where the first of them is in that row)`.
template <class T, class S, class F>
void each_row_of(const Shape& s, const Window& w, int64_t c, S* image, T* columns, F&& visit) {
  for (int64_t ky = 0; ky < w.height; ++ky)
    for (int64_t kx = 0; kx < w.width; ++kx) {
      T* row = columns + ((c * w.height + ky) * w.width + kx) * s.places();
      const Inside in = inside(s, w, kx);
      const int64_t start = in.first * w.step_x - w.left + kx * w.gap_x;
      for (int64_t oy = 0; oy < s.out_height; ++oy, row += s.out_width) {
        const int64_t y = oy * w.step_y - w.top + ky * w.gap_y;
        const bool within = y >= 0 && y < s.height && in.first < in.last;
        visit(row, within ? image + (c * s.height + y) * s.width + start : nullptr, in);
      }
    }
}

int64_t channels_at_once(const Shape& s, const Window& w) {
  return std::max<int64_t>(1, kLongRow / std::max<int64_t>(1, w.height * w.width * s.places()));
}

// Every patch of one group of an image as a column: [in_group · height · width of the kernel, places].
template <class T>
void to_columns(const Shape& s, const Window& w, const T* image, T* columns) {
  share(s.in_group, channels_at_once(s, w), [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c)
      each_row_of(s, w, c, image, columns, [&](T* row, const T* from, Inside in) {
        if (from == nullptr) return std::fill(row, row + s.out_width, T(0)), void();
        std::fill(row, row + in.first, T(0));
        std::fill(row + in.last, row + s.out_width, T(0));
        const int64_t many = in.last - in.first;
        if (w.step_x == 1) std::memcpy(row + in.first, from, static_cast<size_t>(many) * sizeof(T));
        else
          for (int64_t i = 0; i < many; ++i) row[in.first + i] = from[i * w.step_x];
      });
  });
}

// The way back: every element of a column is added to the place that it was taken from.
template <class T>
void from_columns(const Shape& s, const Window& w, const T* columns, T* image) {
  share(s.in_group, channels_at_once(s, w), [&](int64_t first, int64_t last) {
    std::fill(image + first * s.height * s.width, image + last * s.height * s.width, T(0));
    for (int64_t c = first; c < last; ++c)
      each_row_of(s, w, c, image, columns, [&](const T* row, T* to, Inside in) {
        for (int64_t i = 0; to != nullptr && i < in.last - in.first; ++i) to[i * w.step_x] += row[in.first + i];
      });
  });
}

}  // namespace

void convolution(const View& x, const View& weight, const View* bias, const Window& w, int64_t groups, const View& out) {
  const Shape s = shape_of(x.dims, weight.dims, out.dims, groups);
  const int64_t places = s.places(), depth = s.depth(w);
  compute_float({x.type, weight.type}, [&](auto sample) {
    using T = decltype(sample);
    const Read<T> images(x), filters(weight);
    Written<T> result(out);
    std::vector<T> columns(trivial(s, w) ? 0 : static_cast<size_t>(depth * places));
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t g = 0; g < groups; ++g) {
        const T* image = images.data() + s.of_image(n, g);
        if (!columns.empty()) to_columns(s, w, image, columns.data());
        multiply<T>(s.filters_in_group, places, depth, {filters.data() + g * s.filters_in_group * depth},
                    {columns.empty() ? image : columns.data()}, result.data() + s.of_result(n, g), false);
      }
    if (bias != nullptr) {
      const Read<T> added(*bias);
      share(s.images * s.filters, std::max<int64_t>(1, kLongRow / std::max<int64_t>(1, places)), [&](int64_t first, int64_t last) {
        for (int64_t plane = first; plane < last; ++plane)
          for (int64_t i = 0; i < places; ++i) result.data()[plane * places + i] += added[plane % s.filters];
      });
    }
    result.finish();
  });
}

void convolution_input_gradient(const View& grad, const View& weight, const Window& w, int64_t groups,
                                const View& out) {
  const Shape s = shape_of(out.dims, weight.dims, grad.dims, groups);
  const int64_t places = s.places(), depth = s.depth(w);
  compute_float({grad.type, weight.type}, [&](auto sample) {
    using T = decltype(sample);
    const Read<T> grads(grad), filters(weight);
    Written<T> result(out);
    std::vector<T> columns(trivial(s, w) ? 0 : static_cast<size_t>(depth * places));
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t g = 0; g < groups; ++g) {
        T* image = result.data() + s.of_image(n, g);
        multiply<T>(depth, places, s.filters_in_group, {filters.data() + g * s.filters_in_group * depth, true},
                    {grads.data() + s.of_result(n, g)}, columns.empty() ? image : columns.data(), false);
        if (!columns.empty()) from_columns(s, w, columns.data(), image);
      }
    result.finish();
  });
}

void convolution_weight_gradient(const View& grad, const View& x, const Window& w, int64_t groups, const View& out) {
  const Shape s = shape_of(x.dims, out.dims, grad.dims, groups);
  const int64_t places = s.places(), depth = s.depth(w);
  compute_float({grad.type, x.type}, [&](auto sample) {
    using T = decltype(sample);
    const Read<T> grads(grad), images(x);
    std::vector<T> result(static_cast<size_t>(count(out.dims)));
    std::vector<T> columns(trivial(s, w) ? 0 : static_cast<size_t>(depth * places));
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t g = 0; g < groups; ++g) {
        const T* image = images.data() + s.of_image(n, g);
        if (!columns.empty()) to_columns(s, w, image, columns.data());
        multiply<T>(s.filters_in_group, depth, places, {grads.data() + s.of_result(n, g)},
                    {columns.empty() ? image : columns.data(), true}, result.data() + g * s.filters_in_group * depth, true);
      }
    store(out, result);
  });
}

}  // namespace jumar::kernels
