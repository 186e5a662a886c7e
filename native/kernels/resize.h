// Images made larger or smaller: every result is a weighted sum of some values of its row and of its column.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

struct Resize {
  enum class How { kNearest, kLinear, kAverage } how;  // the average of the part that falls to each result
  bool align_corners = false, half_pixels = false;
  double scale_y = 0, scale_x = 0;  // results for each value; 0 for what the sizes say
};

void resize(const View& x, const Resize& rule, const View& out);
void resize_gradient(const View& grad, const Resize& rule, const View& out);

}  // namespace jumar::kernels
