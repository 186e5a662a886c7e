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

template <Resize::How How>
void resize_of(const Arguments& a) {
  resize(a.in(0), rule_of(a, How), a.out(0));
}

template <Resize::How How>
void resize_gradient_of(const Arguments& a) {
  resize_gradient(a.in(0), rule_of(a, How), a.out(0));
}

// A volume of depth one is an image.
View flat(View x) {
  if (x.dims.size() != 5 || x.dims[2] != 1) throw NotEmulated("pooling of a volume " + text(x.dims) + " is not emulated");
  x.dims.erase(x.dims.begin() + 2);
  x.strides.erase(x.strides.begin() + 2);
  return x;
}

int64_t behind(const Dims& list, size_t from_end) { return list.at(list.size() - from_end); }

Window volume_window(const Arguments& a) {
  Window w;
  const Dims kernel = a.list("ksize"), step = a.list("strides"), padding = a.list("pads");
  w.height = behind(kernel, 2), w.width = behind(kernel, 1);
  w.step_y = behind(step, 2), w.step_x = behind(step, 1);
  if (padding.size() == 3) {
    w.top = w.bottom = padding[1], w.left = w.right = padding[2];
  } else if (padding.size() == 6) {
    w.top = padding[2], w.bottom = padding[3], w.left = padding[4], w.right = padding[5];
  }
  if (a.number("ceil_mode", 0) != 0) w.bottom += w.step_y - 1, w.right += w.step_x - 1;
  return w;
}

void max_pool_with_places(const Arguments& a) {
  const View places = flat(a.out(1));
  max_pool(flat(a.in(0)), volume_window(a), flat(a.out(0)), &places);
}

// Inputs: x, gradient, places of the largest values (found again).
void max_pool_with_places_gradient(const Arguments& a) {
  max_pool_gradient(flat(a.in(1)), flat(a.in(0)), volume_window(a), flat(a.out(0)));
}

void average_pool_volume(const Arguments& a) {
  if (a.number("ceil_mode", 0) != 0 && a.number("count_include_pad", 1) != 0)
    throw NotEmulated("average pooling with ceil_mode is not emulated");
  average_pool(flat(a.in(0)), volume_window(a), a.number("count_include_pad", 1) != 0,
               static_cast<int64_t>(a.number("divisor_override", 0)), flat(a.out(0)));
}

}  // namespace

const std::vector<Entry> kVision = {
    {"AvgPool3D", average_pool_volume},
    {"CustAdaptiveAvgPool2D", [](const Arguments& a) { resize(a.in(0), {Resize::How::kAverage}, a.out(0)); }},
    {"CustAdaptiveAvgPool2DGrad", [](const Arguments& a) { resize_gradient(a.in(0), {Resize::How::kAverage}, a.out(0)); }},
    {"CustMaxPool3DGradWithArgmax", max_pool_with_places_gradient},
    {"CustMaxPool3DWithArgmax", max_pool_with_places},
    {"ResizeBilinearV2", resize_of<Resize::How::kLinear>},
    {"ResizeBilinearV2Grad", resize_gradient_of<Resize::How::kLinear>},
    {"ResizeNearestNeighborV2", resize_of<Resize::How::kNearest>},
    {"ResizeNearestNeighborV2Grad", resize_gradient_of<Resize::How::kNearest>},
};

}  // namespace jumar::aclop
