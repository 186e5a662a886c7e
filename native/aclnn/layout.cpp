// Operator calls (aclnn) that move values: copies, joins, lookups, fills.
#include "kernels/layout.h"

#include "aclnn/call.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

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
OPERATOR(aclnnGather, (In self, int64_t dim, In index, Out out), gather(view(self), dim, view(index), view(out)))
OPERATOR(aclnnScatterAdd, (In self, int64_t dim, In index, In source, Out out),
         scatter_add(view(self), dim, view(index), view(source), view(out)))
OPERATOR(aclnnIndexSelect, (In self, int64_t dim, In index, Out out), select(view(self), dim, view(index), view(out)))
OPERATOR(aclnnEmbedding, (In weight, In index, Out out), select(view(weight), 0, view(index), view(out)))
OPERATOR(aclnnEmbeddingDenseBackward, (In grad, In index, uint64_t rows, uint64_t ignored, bool by_frequency, Out out),
         if (by_frequency) throw Unsupported("scaling by frequency is not emulated");
         embedding_gradient(view(grad), view(index), static_cast<int64_t>(rows), static_cast<int64_t>(ignored), view(out)))
OPERATOR(aclnnOneHot, (In self, int classes, In on, In off, int64_t axis, Out out),
         one_hot(view(self), classes, view(on), view(off), axis, view(out)))
OPERATOR(aclnnTril, (In self, int64_t diagonal, Out out), triangle(view(self), diagonal, true, view(out)))
OPERATOR(aclnnTriu, (In self, int64_t diagonal, Out out), triangle(view(self), diagonal, false, view(out)))
OPERATOR(aclnnArange, (Number start, Number, Number step, Out out), range(value(start, 0), value(step, 1), view(out)))
