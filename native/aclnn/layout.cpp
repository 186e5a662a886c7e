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

OPERATOR(aclnnCast, (In self, int32_t, Out out), copy(view(self), view(out)))
OPERATOR(aclnnInplaceCopy, (Out self, In source), copy(view(source), view(self)))
OPERATOR(aclnnExpand, (In self, Ints, Out out), copy(view(self), view(out)))
OPERATOR(aclnnPermute, (In self, Ints order, Out out), copy(permuted(view(self), *order), view(out)))
OPERATOR(aclnnSlice, (In self, int64_t dim, int64_t start, int64_t end, int64_t step, Out out),
         copy(sliced(view(self), dim, start, end, step), view(out)))
OPERATOR(aclnnInplaceZero, (Out self), fill(view(self), 0))
OPERATOR(aclnnInplaceOne, (Out self), fill(view(self), 1))
OPERATOR(aclnnInplaceFillScalar, (Out self, Number number), fill(view(self), value(number, 0)))
OPERATOR(aclnnInplaceFillTensor, (Out self, In number), copy(view(number), view(self)))
OPERATOR(aclnnCat, (Tensors tensors, int64_t dim, Out out), concatenate(views(tensors), dim, view(out)))
OPERATOR(aclnnStack, (Tensors tensors, int64_t dim, Out out), stack(views(tensors), dim, view(out)))
OPERATOR(aclnnRepeat, (In self, Ints times, Out out), repeat(view(self), *times, view(out)))
OPERATOR(aclnnOneHot, (In self, int classes, In on, In off, int64_t axis, Out out),
         one_hot(view(self), classes, view(on), view(off), axis, view(out)))
OPERATOR(aclnnSplitWithSize, (In self, Ints sizes, int64_t dim, Tensors out), cut(view(self), dim, views(out)))
OPERATOR(aclnnSplitTensor, (In self, uint64_t, int64_t dim, Tensors out), cut(view(self), dim, views(out)))
OPERATOR(aclnnFlip, (In self, Ints dims, Out out), flip(view(self), *dims, view(out)))
OPERATOR(aclnnRoll, (In self, Ints shifts, Ints dims, Out out),
         roll(view(self), *shifts, dims != nullptr ? *dims : Dims(), view(out)))
OPERATOR(aclnnConstantPadNd, (In self, Ints sizes, Number number, Out out), {
  const double filler = value(number, 0);
  View (*const as)(View) = filler == 0 ? bits_of : [](View x) { return x; };
  pad(Padding::kConstant, as(view(self)), by_axis(*sizes, self->dims.size()), filler, as(view(out)));
})
#define MIRROR(NAME, HOW)                                    \
  OPERATOR(aclnn##NAME, (In self, Ints sizes, Out out),      \
           pad(Padding::HOW, view(self), by_axis(*sizes, self->dims.size()), 0, view(out)))
#define MIRROR_GRADIENT(NAME, HOW)                                 \
  OPERATOR(aclnn##NAME, (In grad, In self, Ints sizes, Out out),   \
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
OPERATOR(aclnnEye, (int64_t, int64_t, Out out), diagonal_ones(view(out)))
OPERATOR(aclnnTril, (In self, int64_t diagonal, Out out), triangle(view(self), diagonal, true, view(out)))
OPERATOR(aclnnTriu, (In self, int64_t diagonal, Out out), triangle(view(self), diagonal, false, view(out)))
OPERATOR(aclnnRange, (Number start, Number, Number step, Out out), range(value(start, 0), value(step, 1), view(out)))
OPERATOR(aclnnLinspace, (Number start, Number end, int64_t steps, Out out), {
  const double first = value(start, 0);
  range(first, steps > 1 ? (value(end, 0) - first) / static_cast<double>(steps - 1) : 0, view(out));
})
OPERATOR(aclnnArange, (Number start, Number, Number step, Out out), range(value(start, 0), value(step, 1), view(out)))
