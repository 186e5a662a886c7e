// Operator calls (aclnn) that move values: copies, joins, fills, padding.
#include "kernels/layout.h"

#include "aclnn/call.h"
#include "kernels/pad.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

// torch_npu's all-gather fills messages of any type up with zeros; zero bits are zero in all of them.
View bits_of(View x) {
  switch (jumar::element_size(x.type)) {
    case 1: x.type = kUint8; break;
    case 2: x.type = kUint16; break;
    case 4: x.type = kUint32; break;
    case 8: x.type = kUint64; break;
    default: break;
  }
  return x;
}

}  // namespace

OPERATOR(aclnnCast, copy(view(self), view(out)))
OPERATOR(aclnnInplaceCopy, copy(view(source), view(self)))
OPERATOR(aclnnExpand, copy(view(self), view(out)))
OPERATOR(aclnnPermute, copy(permuted(view(self), *order), view(out)))
OPERATOR(aclnnSlice, copy(sliced(view(self), dim, start, end, step), view(out)))
OPERATOR(aclnnInplaceZero, fill(view(self), 0))
OPERATOR(aclnnInplaceOne, fill(view(self), 1))
OPERATOR(aclnnInplaceFillScalar, fill(view(self), value(number, 0)))
OPERATOR(aclnnInplaceFillTensor, copy(view(number), view(self)))
OPERATOR(aclnnCat, concatenate(views(tensors), dim, view(out)))
OPERATOR(aclnnStack, stack(views(tensors), dim, view(out)))
OPERATOR(aclnnRepeat, repeat(view(self), *times, view(out)))
OPERATOR(aclnnOneHot, one_hot(view(self), classes, view(on), view(off), axis, view(out)))
OPERATOR(aclnnSplitWithSize, cut(view(self), dim, views(out)))
OPERATOR(aclnnSplitTensor, cut(view(self), dim, views(out)))
OPERATOR(aclnnFlip, flip(view(self), *dims, view(out)))
OPERATOR(aclnnRoll, roll(view(self), *shifts, dims != nullptr ? *dims : Dims(), view(out)))
OPERATOR(aclnnConstantPadNd, {
  const double filler = value(number, 0);
  View (*const as)(View) = filler == 0 ? bits_of : [](View x) { return x; };
  pad(Padding::kConstant, as(view(self)), by_axis(*sizes, self->dims.size()), filler, as(view(out)));
})
#define MIRROR(NAME, HOW)                                    \
  OPERATOR(aclnn##NAME,      \
           pad(Padding::HOW, view(self), by_axis(*sizes, self->dims.size()), 0, view(out)))
#define MIRROR_GRADIENT(NAME, HOW)                                 \
  OPERATOR(aclnn##NAME,   \
           pad_gradient(Padding::HOW, view(grad), by_axis(*sizes, self->dims.size()), view(out)))
MIRROR(ReflectionPad1d, kReflect)
MIRROR(ReflectionPad2d, kReflect)
MIRROR(ReflectionPad3d, kReflect)
MIRROR(ReplicationPad1d, kEdge)
MIRROR(ReplicationPad2d, kEdge)
MIRROR(ReplicationPad3d, kEdge)
MIRROR_GRADIENT(ReflectionPad1dBackward, kReflect)
MIRROR_GRADIENT(ReflectionPad2dBackward, kReflect)
MIRROR_GRADIENT(ReplicationPad1dBackward, kEdge)
MIRROR_GRADIENT(ReplicationPad2dBackward, kEdge)
OPERATOR(aclnnEye, diagonal_ones(view(out)))
OPERATOR(aclnnTril, triangle(view(self), diagonal, true, view(out)))
OPERATOR(aclnnTriu, triangle(view(self), diagonal, false, view(out)))
OPERATOR(aclnnRange, range(value(start, 0), value(step, 1), view(out)))
OPERATOR(aclnnLinspace, {
  const double first = value(start, 0);
  range(first, steps > 1 ? (value(end, 0) - first) / static_cast<double>(steps - 1) : 0, view(out));
})
OPERATOR(aclnnArange, range(value(start, 0), value(step, 1), view(out)))
