// Products of matrices, one or many.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

// A packed matrix; `turned` if it lies in memory with its columns as rows.
template <class T>
struct Factor {
  const T* data;
  bool turned = false;
};

// c[m, n] = a[m, k] · b[k, n], or with `add` c += a · b.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, Factor<T> a, Factor<T> b, T* c, bool add);

View transposed(View view);  // its last two axes swapped

// out = alpha · x · y + beta · added; `added` may be missing. Leading axes are broadcast.
void matmul(const View& x, const View& y, const View& out, const View* added = nullptr, double alpha = 1, double beta = 1);

}  // namespace jumar::kernels
