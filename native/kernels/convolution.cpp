#include "kernels/convolution.h"

#include "kernels/matmul.h"

namespace jumar::kernels {
namespace {

struct Shape {
  int64_t images, channels, height, width;    // of the input
  int64_t filters, out_height, out_width;     // of the output
  int64_t groups, in_group, filters_in_group;  // channels and filters of one group
};

Shape shape_of(const Dims& x, const Dims& weight, const Dims& out, int64_t groups) {
  if (x.size() != 4 || weight.size() != 4 || out.size() != 4)
    throw NotEmulated("convolution of " + text(x) + " with " + text(weight) + ": only images (N, C, H, W) are emulated");
  if (groups < 1 || x[1] != weight[1] * groups || out[1] != weight[0] || weight[0] % groups != 0)
    throw Unsupported("convolution of " + text(x) + " with " + text(weight) + ": channels and groups do not fit");
  return {x[0], x[1], x[2], x[3], weight[0], out[2], out[3], groups, weight[1], weight[0] / groups};
}

// Calls `visit(row of the column matrix, place in the output, place in the image or -1)`.
template <class F>
void each_tap(const Shape& s, const Window& w, F&& visit) {
  for (int64_t c = 0; c < s.in_group; ++c)
    for (int64_t ky = 0; ky < w.height; ++ky)
      for (int64_t kx = 0; kx < w.width; ++kx) {
        const int64_t row = (c * w.height + ky) * w.width + kx;
        for (int64_t oy = 0; oy < s.out_height; ++oy) {
          const int64_t y = oy * w.step_y - w.top + ky * w.gap_y;
          for (int64_t ox = 0; ox < s.out_width; ++ox) {
            const int64_t x = ox * w.step_x - w.left + kx * w.gap_x;
            const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
            visit(row, oy * s.out_width + ox, inside ? (c * s.height + y) * s.width + x : -1);
          }
        }
      }
}

// Every patch of one group of an image as a column: [in_group · height · width of the kernel, places].
template <class T>
std::vector<T> columns(const Shape& s, const Window& w, const T* image) {
  const int64_t places = s.out_height * s.out_width;
  std::vector<T> out(static_cast<size_t>(s.in_group * w.height * w.width * places));
  each_tap(s, w, [&](int64_t row, int64_t place, int64_t from) {
    if (from >= 0) out[static_cast<size_t>(row * places + place)] = image[from];
  });
  return out;
}

template <class T>
std::vector<T> flipped(const T* matrix, int64_t rows, int64_t width) {
  std::vector<T> out(static_cast<size_t>(rows * width));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j) out[static_cast<size_t>(j * rows + i)] = matrix[i * width + j];
  return out;
}

}  // namespace

void convolution(const View& x, const View& weight, const View* bias, const Window& w, int64_t groups, const View& out) {
  const Shape s = shape_of(x.dims, weight.dims, out.dims, groups);
  const int64_t places = s.out_height * s.out_width, depth = s.in_group * w.height * w.width;
  compute_float({x.type, weight.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto images = load<T>(x), filters = load<T>(weight);
    std::vector<T> result(static_cast<size_t>(count(out.dims)));
    if (bias != nullptr) {
      const auto added = load<T>(*bias);
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = added[i / static_cast<size_t>(places) % static_cast<size_t>(s.filters)];
    }
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t g = 0; g < groups; ++g) {
        const auto patches = columns(s, w, &images[(n * s.channels + g * s.in_group) * s.height * s.width]);
        multiply(s.filters_in_group, places, depth, &filters[g * s.filters_in_group * depth], patches.data(),
                 &result[(n * s.filters + g * s.filters_in_group) * places]);
      }
    store(out, result);
  });
}

void convolution_input_gradient(const View& grad, const View& weight, const Window& w, int64_t groups,
                                const View& out) {
  const Shape s = shape_of(out.dims, weight.dims, grad.dims, groups);
  const int64_t places = s.out_height * s.out_width, depth = s.in_group * w.height * w.width;
  compute_float({grad.type, weight.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto grads = load<T>(grad), filters = load<T>(weight);
    std::vector<T> result(static_cast<size_t>(count(out.dims)));
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t g = 0; g < groups; ++g) {
        const auto turned = flipped(&filters[g * s.filters_in_group * depth], s.filters_in_group, depth);
        std::vector<T> patches(static_cast<size_t>(depth * places));
        multiply(depth, places, s.filters_in_group, turned.data(),
                 &grads[(n * s.filters + g * s.filters_in_group) * places], patches.data());
        T* image = &result[(n * s.channels + g * s.in_group) * s.height * s.width];
        each_tap(s, w, [&](int64_t row, int64_t place, int64_t to) {
          if (to >= 0) image[to] += patches[static_cast<size_t>(row * places + place)];
        });
      }
    store(out, result);
  });
}

void convolution_weight_gradient(const View& grad, const View& x, const Window& w, int64_t groups, const View& out) {
  const Shape s = shape_of(x.dims, out.dims, grad.dims, groups);
  const int64_t places = s.out_height * s.out_width, depth = s.in_group * w.height * w.width;
  compute_float({grad.type, x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto grads = load<T>(grad), images = load<T>(x);
    std::vector<T> result(static_cast<size_t>(count(out.dims)));
    for (int64_t n = 0; n < s.images; ++n)
      for (int64_t g = 0; g < groups; ++g) {
        const auto patches = columns(s, w, &images[(n * s.channels + g * s.in_group) * s.height * s.width]);
        const auto turned = flipped(patches.data(), depth, places);
        multiply(s.filters_in_group, depth, places, &grads[(n * s.filters + g * s.filters_in_group) * places],
                 turned.data(), &result[g * s.filters_in_group * depth]);
      }
    store(out, result);
  });
}

}  // namespace jumar::kernels
