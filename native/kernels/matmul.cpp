#include "kernels/matmul.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "bridge/bridge.h"
#include "kernels/rows.h"

namespace jumar::kernels {

namespace {

template <class T>
std::vector<T> flipped(const T* matrix, int64_t rows, int64_t width) {
  std::vector<T> out(static_cast<size_t>(rows * width));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j) out[static_cast<size_t>(j * rows + i)] = matrix[i * width + j];
  return out;
}

// Where no BLAS is at hand.
template <class T>
void multiply_plainly(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
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

}  // namespace

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, Factor<T> a, Factor<T> b, T* c, bool add) {
  if constexpr (std::is_floating_point_v<T>)
    if (bridge::multiply(m, n, k, a.data, a.turned, b.data, b.turned, c, add)) return;
  if (!add) std::fill(c, c + m * n, T(0));
  const auto left = a.turned ? flipped(a.data, k, m) : std::vector<T>();
  const auto right = b.turned ? flipped(b.data, n, k) : std::vector<T>();
  multiply_plainly(m, n, k, a.turned ? left.data() : a.data, b.turned ? right.data() : b.data, c);
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

// The matrices of a side: as they lie in memory, also if they lie there transposed.
template <class T>
class Side {
 public:
  Side(const View& view, const Dims& as) : turned_(!lies_plain<T>(view, as) && lies_turned(view, as)) {
    row_.emplace(turned_ ? transposed(view) : view, turned_ ? transposed(view).dims : as);
  }
  Factor<T> at(int64_t offset) const { return {row_->data() + offset, turned_}; }

 private:
  static bool lies_turned(const View& view, const Dims& as) {
    return view.dims == as && lies_plain<T>(transposed(view), transposed(view).dims);
  }
  bool turned_;
  std::optional<Read<T>> row_;
};

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
    const Side<T> a(x, dx), b(y, dy);
    std::vector<T> c(static_cast<size_t>(count(many) * m * n));
    for (int64_t i = 0; i < count(many); ++i)
      multiply(m, n, k, a.at(i * m * k), b.at(i * k * n), c.data() + i * m * n, false);
    if (alpha != 1)
      for (T& value : c) value = static_cast<T>(value * alpha);
    if (added != nullptr && beta != 0) {
      const auto more = load<T>(*added, out.dims);
      for (size_t i = 0; i < c.size(); ++i) c[i] += static_cast<T>(beta) * more[i];
    }
    store(out, c);
  });
}

template void multiply(int64_t, int64_t, int64_t, Factor<float>, Factor<float>, float*, bool);
template void multiply(int64_t, int64_t, int64_t, Factor<double>, Factor<double>, double*, bool);
template void multiply(int64_t, int64_t, int64_t, Factor<int64_t>, Factor<int64_t>, int64_t*, bool);

}  // namespace jumar::kernels
