#include "kernels/order.h"

#include <algorithm>
#include <numeric>

namespace jumar::kernels {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

// A missing number (NaN) counts as the largest.
template <class T>
bool before(T x, T y, bool descending) {
  if (x != x || y != y) return descending ? x != x && y == y : x == x && y != y;
  return descending ? x > y : x < y;
}

}  // namespace

void sort(const View& x, int64_t axis, bool descending, const View* values, const View* places) {
  const Split s = split(x.dims, axis);
  const int64_t wanted = split((values != nullptr ? values : places)->dims, axis).along;
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    const auto all = load<T>(x);
    std::vector<T> sorted(at(s.before * wanted * s.behind));
    std::vector<int64_t> from(sorted.size());
    each_row(s, all.data(), [&](const T* row, int64_t first) {
      std::vector<int64_t> order(at(s.along));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        return before(row[i * s.behind], row[j * s.behind], descending);
      });
      const int64_t target = first / (s.along * s.behind) * wanted * s.behind + first % s.behind;
      for (int64_t k = 0; k < wanted; ++k) {
        sorted[at(target + k * s.behind)] = row[order[at(k)] * s.behind];
        from[at(target + k * s.behind)] = order[at(k)];
      }
    });
    if (values != nullptr) store(*values, sorted);
    if (places != nullptr) store(*places, from);
  });
}

void running(Running what, const View& x, int64_t axis, bool exclusive, bool reverse, const View& out) {
  const Split s = split(x.dims, axis);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    auto values = load<T>(x);
    each_row(s, values.data(), [&](T* row, int64_t) {
      Wide so_far = what == Running::kSum ? 0 : 1;
      for (int64_t k = 0; k < s.along; ++k) {
        T& one = row[(reverse ? s.along - 1 - k : k) * s.behind];
        const Wide next = what == Running::kSum ? so_far + one : so_far * one;
        one = static_cast<T>(exclusive ? so_far : next);
        so_far = next;
      }
    });
    store(out, values);
  });
}

void running_extreme(bool largest, const View& x, int64_t axis, const View& values, const View& places) {
  const Split s = split(x.dims, axis);
  compute({x.type}, [&](auto sample) {
    using T = decltype(sample);
    auto all = load<T>(x);
    std::vector<int64_t> where(all.size());
    each_row(s, all.data(), [&](T* row, int64_t first) {
      int64_t best = 0;
      for (int64_t k = 0; k < s.along; ++k) {
        const T value = row[k * s.behind], so_far = row[best * s.behind];
        if (k > 0 && (value != value || (largest ? value >= so_far : value <= so_far))) best = k;
        where[at(first + k * s.behind)] = best;
      }
      for (int64_t k = s.along; k-- > 0;) row[k * s.behind] = row[where[at(first + k * s.behind)] * s.behind];
    });
    store(values, all);
    store(places, where);
  });
}

std::vector<int64_t> chosen(const View& mask, const Dims& dims) {
  const auto wanted = load<double>(mask, dims);
  std::vector<int64_t> found;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != 0) found.push_back(static_cast<int64_t>(i));
  return found;
}

void unique(const View& x, std::vector<double>* values, std::vector<int64_t>* places) {
  const auto all = load<double>(x);
  *values = all;
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
  for (double one : all) places->push_back(std::lower_bound(values->begin(), values->end(), one) - values->begin());
}

}  // namespace jumar::kernels
