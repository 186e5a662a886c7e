#include "kernels/pooling.h"

#include <algorithm>
#include <limits>

namespace jumar::kernels {
namespace {

struct Frame {
  int64_t planes, height, width, out_height, out_width;
};

Frame frame_of(const Dims& image, const Dims& pooled) {
  const size_t rank = image.size();
  if ((rank != 3 && rank != 4) || pooled.size() != rank)
    throw NotEmulated("pooling of " + text(image) + " to " + text(pooled) + ": only images (N, C, H, W) are emulated");
  int64_t planes = 1;
  for (size_t axis = 0; axis + 2 < rank; ++axis) planes *= image[axis];
  return {planes, image[rank - 2], image[rank - 1], pooled[rank - 2], pooled[rank - 1]};
}

// Calls `visit(plane, place in the pooled plane, first row, end row, first column, end column, size with padding)`.
template <class F>
void each_window(const Frame& f, const Window& w, F&& visit) {
  for (int64_t plane = 0; plane < f.planes; ++plane)
    for (int64_t oy = 0; oy < f.out_height; ++oy)
      for (int64_t ox = 0; ox < f.out_width; ++ox) {
        const int64_t y = oy * w.step_y - w.top, x = ox * w.step_x - w.left;
        const int64_t end_y = std::min(y + w.height, f.height + w.bottom), end_x = std::min(x + w.width, f.width + w.right);
        visit(plane, oy * f.out_width + ox, std::max<int64_t>(y, 0), std::min(end_y, f.height), std::max<int64_t>(x, 0),
              std::min(end_x, f.width), (end_y - y) * (end_x - x));
      }
}

void check_gaps(const Window& w) {
  if (w.gap_y != 1 || w.gap_x != 1) throw NotEmulated("pooling with dilation is not emulated");
}

// Where the largest value of each window is, the first one of equals; a missing number is the largest.
template <class T>
std::vector<int64_t> largest(const std::vector<T>& values, const Frame& f, const Window& w) {
  std::vector<int64_t> found(static_cast<size_t>(f.planes * f.out_height * f.out_width), -1);
  each_window(f, w, [&](int64_t plane, int64_t place, int64_t y0, int64_t y1, int64_t x0, int64_t x1, int64_t) {
    const T* image = &values[static_cast<size_t>(plane * f.height * f.width)];
    int64_t best = -1;
    for (int64_t y = y0; y < y1; ++y)
      for (int64_t x = x0; x < x1; ++x) {
        const int64_t at = y * f.width + x;
        if (best < 0 || image[at] > image[best] || image[at] != image[at]) best = at;
      }
    found[static_cast<size_t>(plane * f.out_height * f.out_width + place)] = best;
  });
  return found;
}

int64_t divisor(int64_t y0, int64_t y1, int64_t x0, int64_t x1, int64_t padded, bool count_padding, int64_t fixed) {
  if (fixed != 0) return fixed;
  return count_padding ? padded : (y1 - y0) * (x1 - x0);
}

}  // namespace

void max_pool(const View& x, const Window& w, const View& out, const View* indices) {
  check_gaps(w);
  const Frame f = frame_of(x.dims, out.dims);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    const auto best = largest(values, f, w);
    std::vector<T> result(best.size(), std::numeric_limits<T>::lowest());
    const int64_t pooled = f.out_height * f.out_width;
    for (size_t i = 0; i < best.size(); ++i)
      if (best[i] >= 0) result[i] = values[static_cast<size_t>(static_cast<int64_t>(i) / pooled * f.height * f.width + best[i])];
    store(out, result);
    if (indices != nullptr) store(*indices, best);
  });
}

void max_pool_gradient(const View& grad, const View& x, const Window& w, const View& out) {
  check_gaps(w);
  const Frame f = frame_of(x.dims, grad.dims);
  compute_float({grad.type, x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto grads = load<T>(grad);
    const auto best = largest(load<T>(x), f, w);
    std::vector<T> result(static_cast<size_t>(count(out.dims)));
    const int64_t pooled = f.out_height * f.out_width;
    for (size_t i = 0; i < best.size(); ++i)
      if (best[i] >= 0) result[static_cast<size_t>(static_cast<int64_t>(i) / pooled * f.height * f.width + best[i])] += grads[i];
    store(out, result);
  });
}

void average_pool(const View& x, const Window& w, bool count_padding, int64_t fixed, const View& out) {
  const Frame f = frame_of(x.dims, out.dims);
  compute_float({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto values = load<T>(x);
    std::vector<T> result(static_cast<size_t>(count(out.dims)));
    each_window(f, w, [&](int64_t plane, int64_t place, int64_t y0, int64_t y1, int64_t x0, int64_t x1, int64_t padded) {
      T sum = 0;
      for (int64_t y = y0; y < y1; ++y)
        for (int64_t column = x0; column < x1; ++column)
          sum += values[static_cast<size_t>((plane * f.height + y) * f.width + column)];
      result[static_cast<size_t>(plane * f.out_height * f.out_width + place)] =
          sum / static_cast<T>(divisor(y0, y1, x0, x1, padded, count_padding, fixed));
    });
    store(out, result);
  });
}

void average_pool_gradient(const View& grad, const Window& w, bool count_padding, int64_t fixed, const View& out) {
  const Frame f = frame_of(out.dims, grad.dims);
  compute_float({grad.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto grads = load<T>(grad);
    std::vector<T> result(static_cast<size_t>(count(out.dims)));
    each_window(f, w, [&](int64_t plane, int64_t place, int64_t y0, int64_t y1, int64_t x0, int64_t x1, int64_t padded) {
      const T share = grads[static_cast<size_t>(plane * f.out_height * f.out_width + place)] /
                      static_cast<T>(divisor(y0, y1, x0, x1, padded, count_padding, fixed));
      for (int64_t y = y0; y < y1; ++y)
        for (int64_t column = x0; column < x1; ++column)
          result[static_cast<size_t>((plane * f.height + y) * f.width + column)] += share;
    });
    store(out, result);
  });
}

}  // namespace jumar::kernels
