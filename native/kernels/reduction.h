// Sums, means, extremes over some axes of a tensor.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

enum class Reduce { kAll, kAny, kMax, kMean, kMin, kProd, kSum };

// No axes means all of them. Whether the output keeps the reduced axes does not matter here.
void reduce(Reduce what, const View& x, const Dims& axes, const View& out);
// The place of the largest (or smallest) value along an axis, and the value if `values` is given.
void arg_reduce(bool largest, const View& x, int64_t axis, const View* values, const View& places);

// Variance, or its root, with the size less `correction`; and the mean, if asked for.
void spread(bool root, const View& x, const Dims& axes, int64_t correction, const View& out, const View* mean);
void power_norm(double power, const View& x, const Dims& axes, const View& out);
void log_sum_exp(const View& x, const Dims& axes, const View& out);

}  // namespace jumar::kernels
