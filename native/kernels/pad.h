// Tensors made larger at their ends, and pieces moved along an axis.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

enum class Padding { kConstant, kReflect, kEdge, kCircular };

using Ends = std::vector<std::pair<int64_t, int64_t>>;  // before and after, for each axis; negative ones cut
// From the list that starts with the last axis: (before, after, before of the axis in front, …).
Ends by_axis(const Dims& sizes, size_t rank);

void pad(Padding how, const View& x, const Ends& ends, double value, const View& out);
void pad_gradient(Padding how, const View& grad, const Ends& ends, const View& out);
void flip(const View& x, const Dims& axes, const View& out);
void roll(const View& x, const Dims& shifts, const Dims& axes, const View& out);  // no axes: over all elements

}  // namespace jumar::kernels
