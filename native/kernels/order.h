// Kernels for which the order of values counts: sorting, running sums and extremes, and choosing by a mask.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

// The `out` sizes say how many of the sorted values are wanted. Each output may be missing. Equal values keep their order.
void sort(const View& x, int64_t axis, bool descending, const View* values, const View* places);

enum class Running { kSum, kProduct };
void running(Running what, const View& x, int64_t axis, bool exclusive, bool reverse, const View& out);
void running_extreme(bool largest, const View& x, int64_t axis, const View& values, const View& places);

// What the mask chooses, in order; how many there are is known only then, so the caller gives it its place.
std::vector<int64_t> chosen(const View& mask, const Dims& dims);  // places in packed values of that shape
// The values that occur, sorted, and for each element which one it is.
void unique(const View& x, std::vector<double>* values, std::vector<int64_t>* places);

}  // namespace jumar::kernels
