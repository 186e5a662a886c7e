// Operators by type for images: resizing, pooling to a size, patches.
#include "aclop/run.h"
#include "kernels/layout.h"
#include "kernels/map.h"
#include "kernels/pooling.h"
#include "kernels/resize.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

Resize rule_of(const Arguments& a, Resize::How how) {
  return {how, a.number("align_corners", 0) != 0, a.number("half_pixel_centers", 0) != 0};
}

// A row of pixels as an image of one row.
View image(View x) {
  if (x.dims.size() != 3) return x;
  x.dims.insert(x.dims.begin() + 2, 1);
  x.strides = packed_strides(x.dims);
  return x;
}

template <Resize::How How>
void resize_of(const Arguments& a) {
  resize(image(a.in(0)), rule_of(a, How), image(a.out(0)));
}

template <Resize::How How>
void resize_gradient_of(const Arguments& a) {
  resize_gradient(image(a.in(0)), rule_of(a, How), image(a.out(0)));
}

}  // namespace

const std::vector<Entry> kVision = {
    {"CustAdaptiveAvgPool2D", [](const Arguments& a) { resize(a.in(0), {Resize::How::kAverage}, a.out(0)); }},
    {"CustAdaptiveAvgPool2DGrad", [](const Arguments& a) { resize_gradient(a.in(0), {Resize::How::kAverage}, a.out(0)); }},
    {"ResizeBilinearV2", resize_of<Resize::How::kLinear>},
    {"ResizeBilinearV2Grad", resize_gradient_of<Resize::How::kLinear>},
    {"ResizeNearestNeighborV2", resize_of<Resize::How::kNearest>},
    {"ResizeNearestNeighborV2Grad", resize_gradient_of<Resize::How::kNearest>},
};

}  // namespace jumar::aclop
