// Kernels that move values and do not compute: copies, joins, fills.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

void copy(const View& x, const View& out);           // casts, broadcasts
void copy_flat(const View& x, const View& out);      // another shape, the same elements in order
View permuted(const View& x, const Dims& order);
View along_channels(View x, size_t rank);  // one number for each of the second axis
View sliced(const View& x, int64_t axis, int64_t start, int64_t end, int64_t step);
void fill(const View& out, double value);
void concatenate(const std::vector<View>& parts, int64_t axis, const View& out);
void cut(const View& x, int64_t axis, const std::vector<View>& parts);  // into pieces as large as the outputs
void stack(const std::vector<View>& parts, int64_t axis, const View& out);
void repeat(const View& x, const Dims& times, const View& out);
void one_hot(const View& index, int64_t classes, const View& on, const View& off, int64_t axis, const View& out);
void triangle(const View& x, int64_t diagonal, bool lower, const View& out);
void diagonal_ones(const View& out);
void range(double start, double step, const View& out);

}  // namespace jumar::kernels
