// Lookups by index, and their opposite: values written or added where an index says.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

enum class Write { kReplace, kAdd, kMultiply };

// Along one axis, an index for each element.
void gather(const View& x, int64_t axis, const View& index, const View& out);
void scatter(Write how, const View& x, int64_t axis, const View& index, const View& source, const View& out);
// Along one axis, an index for whole slices.
void select(const View& x, int64_t axis, const View& index, const View& out);
void add_slices(const View& x, int64_t axis, const View& index, const View& source, double factor, const View& out);
// `by_frequency`: each row is divided by how often it was used.
void embedding_gradient(const View& grad, const View& index, int64_t rows, int64_t ignored, bool by_frequency,
                        const View& out);
void segment_sum(const View& x, const View& segment, const View& out);
// Rows of the index are coordinates of an element, or of a slice where they are short.
void gather_nd(const View& x, const View& index, const View& out);
void scatter_nd(Write how, const View& x, const View& index, const View& source, const View& out);
// One index for each of the first axes, as numpy does it; a missing one (null) stands for the whole axis.
void lookup(const View& x, const std::vector<const View*>& indices, const View& out);
void put(Write how, const View& x, const std::vector<const View*>& indices, const View& source);

}  // namespace jumar::kernels
