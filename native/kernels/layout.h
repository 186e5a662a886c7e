// Kernels that move values and do not compute: copies, joins, lookups.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

void copy(const View& x, const View& out);           // casts, broadcasts
void copy_flat(const View& x, const View& out);      // another shape, the same elements in order
View permuted(const View& x, const Dims& order);
View sliced(const View& x, int64_t axis, int64_t start, int64_t end, int64_t step);
void fill(const View& out, double value);
void concatenate(const std::vector<View>& parts, int64_t axis, const View& out);
void stack(const std::vector<View>& parts, int64_t axis, const View& out);
void repeat(const View& x, const Dims& times, const View& out);
void gather(const View& x, int64_t axis, const View& index, const View& out);
void scatter_add(const View& x, int64_t axis, const View& index, const View& added, const View& out);
void select(const View& x, int64_t axis, const View& index, const View& out);  // whole slices
void embedding_gradient(const View& grad, const View& index, int64_t rows, int64_t ignored, const View& out);
void one_hot(const View& index, int64_t classes, const View& on, const View& off, int64_t axis, const View& out);
void triangle(const View& x, int64_t diagonal, bool lower, const View& out);
void range(double start, double step, const View& out);

}  // namespace jumar::kernels
