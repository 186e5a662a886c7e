#include "kernels/resize.h"

#include <algorithm>
#include <cmath>

namespace jumar::kernels {
namespace {

struct Tap {
  int64_t from;
  double weight;
};
using Taps = std::vector<std::vector<Tap>>;  // for each place of the result

// Where a place of the result lies on the axis of the image.
double position(const Resize& rule, double wanted, int64_t place, int64_t size, int64_t results) {
  if (rule.align_corners) return results > 1 ? static_cast<double>(place * (size - 1)) / static_cast<double>(results - 1) : 0;
  const double scale = wanted > 0 ? 1 / wanted : static_cast<double>(size) / static_cast<double>(results);
  return rule.half_pixels ? (static_cast<double>(place) + 0.5) * scale : static_cast<double>(place) * scale;
}

std::vector<Tap> average(int64_t place, int64_t size, int64_t results) {
  const int64_t first = place * size / results, end = ((place + 1) * size + results - 1) / results;
  std::vector<Tap> found;
  for (int64_t i = first; i < end; ++i) found.push_back({i, 1 / static_cast<double>(end - first)});
  return found;
}

std::vector<Tap> nearest(const Resize& rule, double scale, int64_t place, int64_t size, int64_t results) {
  const double here = position(rule, scale, place, size, results);
  const double whole = rule.align_corners ? std::round(here) : std::floor(here);
  return {{std::clamp<int64_t>(static_cast<int64_t>(whole), 0, size - 1), 1}};
}

std::vector<Tap> linear(const Resize& rule, double scale, int64_t place, int64_t size, int64_t results) {
  const bool shifted = rule.half_pixels && !rule.align_corners;
  const double here = std::max(position(rule, scale, place, size, results) - (shifted ? 0.5 : 0), 0.0);
  const int64_t low = std::min(static_cast<int64_t>(here), size - 1), high = std::min(low + 1, size - 1);
  const double share = std::min(here - static_cast<double>(low), 1.0);
  return {{low, 1 - share}, {high, share}};
}

Taps taps_of(const Resize& rule, double scale, int64_t size, int64_t results) {
  Taps all;
  for (int64_t place = 0; place < results; ++place)
    all.push_back(rule.how == Resize::How::kAverage   ? average(place, size, results)
                  : rule.how == Resize::How::kNearest ? nearest(rule, scale, place, size, results)
                                                      : linear(rule, scale, place, size, results));
  return all;
}

// Calls `visit(place in packed images, place in packed results, weight)`.
template <class F>
void each_share(const Resize& rule, const Dims& image, const Dims& result, F&& visit) {
  const size_t rank = image.size();
  if (rank < 3 || result.size() != rank) throw NotEmulated("resizing " + text(image) + " to " + text(result) + " is not emulated");
  const int64_t height = image[rank - 2], width = image[rank - 1], rows = result[rank - 2], columns = result[rank - 1];
  const Taps down = taps_of(rule, rule.scale_y, height, rows), across = taps_of(rule, rule.scale_x, width, columns);
  const int64_t planes = count(image) / std::max<int64_t>(height * width, 1);
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x)
        for (const Tap& v : down[static_cast<size_t>(y)])
          for (const Tap& h : across[static_cast<size_t>(x)])
            visit(static_cast<size_t>((plane * height + v.from) * width + h.from),
                  static_cast<size_t>((plane * rows + y) * columns + x), v.weight * h.weight);
}

}  // namespace

void resize(const View& x, const Resize& rule, const View& out) {
  const auto values = load<double>(x);
  std::vector<double> result(static_cast<size_t>(count(out.dims)));
  each_share(rule, x.dims, out.dims, [&](size_t from, size_t to, double weight) { result[to] += weight * values[from]; });
  store(out, result);
}

void resize_gradient(const View& grad, const Resize& rule, const View& out) {
  const auto grads = load<double>(grad);
  std::vector<double> result(static_cast<size_t>(count(out.dims)));
  each_share(rule, out.dims, grad.dims, [&](size_t to, size_t from, double weight) { result[to] += weight * grads[from]; });
  store(out, result);
}

}  // namespace jumar::kernels
