// Products of matrices, one or many.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

// c[m, n] += a[m, k] · b[k, n], all packed.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c);

View transposed(View view);  // its last two axes swapped

// out = alpha · x · y + beta · added; `added` may be missing. Leading axes are broadcast.
void matmul(const View& x, const View& y, const View& out, const View* added = nullptr, double alpha = 1, double beta = 1);

}  // namespace jumar::kernels
