#include "kernels/matmul.h"

#include <algorithm>
#include <type_traits>

#include "bridge/bridge.h"

namespace jumar::kernels {

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
  if constexpr (std::is_floating_point_v<T>)
    if (bridge::multiply(m, n, k, a, b, c)) return;
  constexpr int64_t kRows = 64;  // of b: they stay in the cache while all rows of a pass by
  for (int64_t first = 0; first < k; first += kRows) {
    const int64_t last = std::min(k, first + kRows);
    for (int64_t i = 0; i < m; ++i) {
      T* __restrict row = c + i * n;
      for (int64_t l = first; l < last; ++l) {
        const T factor = a[i * k + l];
        const T* __restrict other = b + l * n;
        for (int64_t j = 0; j < n; ++j) row[j] += factor * other[j];
      }
    }
  }
}

View transposed(View view) {
  const size_t rank = view.dims.size();
  if (rank < 2) throw Unsupported("only a matrix can be transposed, not " + text(view.dims));
  std::swap(view.dims[rank - 1], view.dims[rank - 2]);
  std::swap(view.strides[rank - 1], view.strides[rank - 2]);
  return view;
}

namespace {

// A vector is a matrix with one row (on the left) or one column (on the right).
View as_matrix(View view, bool left) {
  if (view.dims.size() != 1) return view;
  const size_t at = left ? 0 : 1;
  view.dims.insert(view.dims.begin() + static_cast<int64_t>(at), 1);
  view.strides.insert(view.strides.begin() + static_cast<int64_t>(at), 0);
  return view;
}

}  // namespace

void matmul(const View& left, const View& right, const View& out, const View* added, double alpha, double beta) {
  const View x = as_matrix(left, true), y = as_matrix(right, false);
  const size_t rx = x.dims.size(), ry = y.dims.size();
  const int64_t m = x.dims[rx - 2], k = x.dims[rx - 1], n = y.dims[ry - 1];
  if (y.dims[ry - 2] != k) throw Unsupported("matrices " + text(x.dims) + " and " + text(y.dims) + " do not fit");
  const Dims many = broadcast({x.dims.begin(), x.dims.end() - 2}, {y.dims.begin(), y.dims.end() - 2});
  Dims dx = many, dy = many;
  dx.insert(dx.end(), {m, k});
  dy.insert(dy.end(), {k, n});
  compute({x.type, y.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto a = load<T>(x, dx), b = load<T>(y, dy);
    std::vector<T> c(static_cast<size_t>(count(many) * m * n));
    for (int64_t i = 0; i < count(many); ++i) multiply(m, n, k, &a[i * m * k], &b[i * k * n], &c[i * m * n]);
    if (alpha != 1)
      for (T& value : c) value = static_cast<T>(value * alpha);
    if (added != nullptr && beta != 0) {
      const auto more = load<T>(*added, out.dims);
      for (size_t i = 0; i < c.size(); ++i) c[i] += static_cast<T>(beta) * more[i];
    }
    store(out, c);
  });
}

template void multiply(int64_t, int64_t, int64_t, const float*, const float*, float*);
template void multiply(int64_t, int64_t, int64_t, const double*, const double*, double*);
template void multiply(int64_t, int64_t, int64_t, const int64_t*, const int64_t*, int64_t*);

}  // namespace jumar::kernels
