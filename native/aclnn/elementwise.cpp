// Operator calls (aclnn) for arithmetic and functions, element by element.
#include "kernels/elementwise.h"

#include <cmath>
#include <limits>

#include "aclnn/call.h"
#include "kernels/layout.h"

using namespace jumar::aclnn;
using namespace jumar::kernels;

namespace {

Binary quotient(int how) { return how == 1 ? Binary::kTruncDiv : how == 2 ? Binary::kFloorDiv : Binary::kDiv; }

}  // namespace

#define UNARY(NAME, WHAT) \
  OPERATOR(aclnn##NAME, unary(Unary::WHAT, view(self), view(out)))
#define UNARY_IN_PLACE(NAME, WHAT) \
  OPERATOR(aclnnInplace##NAME, unary(Unary::WHAT, view(self), view(self)))
#define BINARY(NAME, WHAT) \
  OPERATOR(aclnn##NAME, binary(Binary::WHAT, view(self), view(other), view(out)))
#define BINARY_IN_PLACE(NAME, WHAT) \
  OPERATOR(aclnnInplace##NAME, binary(Binary::WHAT, view(self), view(other), view(self)))
#define WITH_NUMBER(NAME, WHAT) \
  OPERATOR(aclnn##NAME, binary(Binary::WHAT, view(self), value(other, 0), view(out)))
#define WITH_NUMBER_IN_PLACE(NAME, WHAT) \
  OPERATOR(aclnnInplace##NAME, binary(Binary::WHAT, view(self), value(other, 0), view(self)))

UNARY(Abs, kAbs)
UNARY(Acos, kAcos)
UNARY(Acosh, kAcosh)
UNARY(Asin, kAsin)
UNARY(Asinh, kAsinh)
UNARY(Atan, kAtan)
UNARY(Atanh, kAtanh)
UNARY(BitwiseNot, kBitNot)
UNARY(Ceil, kCeil)
UNARY(Cos, kCos)
UNARY(Cosh, kCosh)
UNARY(Erf, kErf)
UNARY(Erfc, kErfc)
UNARY(Exp, kExp)
UNARY(Exp2, kExp2)
UNARY(Expm1, kExpm1)
UNARY(Floor, kFloor)
UNARY(IsFinite, kIsFinite)
UNARY(IsInf, kIsInf)
UNARY(Log, kLog)
UNARY(Log10, kLog10)
UNARY(Log1p, kLog1p)
UNARY(Log2, kLog2)
UNARY(LogicalNot, kLogicalNot)
UNARY(Neg, kNeg)
UNARY(Reciprocal, kReciprocal)
UNARY(Relu, kRelu)
UNARY(Round, kRound)
UNARY(Rsqrt, kRsqrt)
UNARY(Sigmoid, kSigmoid)
UNARY(Sign, kSign)
UNARY(Silu, kSilu)
UNARY(Sin, kSin)
UNARY(Sinc, kSinc)
UNARY(Sinh, kSinh)
UNARY(Sqrt, kSqrt)
UNARY(Tan, kTan)
UNARY(Tanh, kTanh)
UNARY(Trunc, kTrunc)
UNARY_IN_PLACE(Exp, kExp)
UNARY_IN_PLACE(Floor, kFloor)
UNARY_IN_PLACE(Log, kLog)
UNARY_IN_PLACE(Relu, kRelu)
UNARY_IN_PLACE(Sigmoid, kSigmoid)
UNARY_IN_PLACE(Tanh, kTanh)

BINARY(Atan2, kAtan2)
BINARY(BitwiseAndTensor, kBitAnd)
BINARY(BitwiseOrTensor, kBitOr)
BINARY(BitwiseXorTensor, kBitXor)
BINARY(Div, kDiv)
BINARY(EqTensor, kEqual)
BINARY(FloorDivide, kFloorDiv)
BINARY(FmodTensor, kFmod)
BINARY(GeTensor, kGreaterEqual)
BINARY(GtTensor, kGreater)
BINARY(LeTensor, kLessEqual)
BINARY(LogicalAnd, kAnd)
BINARY(LogicalOr, kOr)
BINARY(LogicalXor, kXor)
BINARY(LtTensor, kLess)
BINARY(Maximum, kMaximum)
BINARY(Minimum, kMinimum)
BINARY(Mul, kMul)
BINARY(NeTensor, kNotEqual)
BINARY(PowTensorTensor, kPow)
BINARY(RemainderTensorTensor, kRemainder)
BINARY(XLogYTensor, kXLogY)
BINARY_IN_PLACE(Div, kDiv)
BINARY_IN_PLACE(FloorDivide, kFloorDiv)
BINARY_IN_PLACE(Mul, kMul)

WITH_NUMBER(BitwiseAndScalar, kBitAnd)
WITH_NUMBER(BitwiseOrScalar, kBitOr)
WITH_NUMBER(BitwiseXorScalar, kBitXor)
WITH_NUMBER(Divs, kDiv)
WITH_NUMBER(EqScalar, kEqual)
WITH_NUMBER(FloorDivides, kFloorDiv)
WITH_NUMBER(FmodScalar, kFmod)
WITH_NUMBER(GeScalar, kGreaterEqual)
WITH_NUMBER(GtScalar, kGreater)
WITH_NUMBER(LeScalar, kLessEqual)
WITH_NUMBER(LtScalar, kLess)
WITH_NUMBER(Muls, kMul)
WITH_NUMBER(NeScalar, kNotEqual)
WITH_NUMBER(PowTensorScalar, kPow)
WITH_NUMBER(RemainderTensorScalar, kRemainder)
WITH_NUMBER(XLogYScalarOther, kXLogY)
WITH_NUMBER_IN_PLACE(Divs, kDiv)
WITH_NUMBER_IN_PLACE(Muls, kMul)

OPERATOR(aclnnPowScalarTensor, binary(Binary::kPow, value(self, 0), view(other), view(out)))

OPERATOR(aclnnXLogYScalarSelf, binary(Binary::kXLogY, value(self, 0), view(other), view(out)))
// Quotients: as they are, cut, or rounded down.
OPERATOR(aclnnDivMod, binary(quotient(how), view(self), view(other), view(out)))
OPERATOR(aclnnDivMods, binary(quotient(how), view(self), value(other, 1), view(out)))

OPERATOR(aclnnAdd, scaled_add(view(self), view(other), value(alpha, 1), view(out)))
OPERATOR(aclnnSub, scaled_add(view(self), view(other), -value(alpha, 1), view(out)))
OPERATOR(aclnnInplaceAdd, scaled_add(view(self), view(other), value(alpha, 1), view(self)))
OPERATOR(aclnnInplaceSub, scaled_add(view(self), view(other), -value(alpha, 1), view(self)))
OPERATOR(aclnnAdds, binary(Binary::kAdd, view(self), value(other, 0) * value(alpha, 1), view(out)))
OPERATOR(aclnnSubs, binary(Binary::kSub, view(self), value(other, 0) * value(alpha, 1), view(out)))
OPERATOR(aclnnInplaceAdds, binary(Binary::kAdd, view(self), value(other, 0) * value(alpha, 1), view(self)))
OPERATOR(aclnnInplaceSubs, binary(Binary::kSub, view(self), value(other, 0) * value(alpha, 1), view(self)))

OPERATOR(aclnnThresholdBackward, threshold_backward(view(grad), view(self), value(threshold, 0), view(out)))
OPERATOR(aclnnSigmoidBackward, backward(Backward::kSigmoid, view(grad), view(result), view(out)))
OPERATOR(aclnnTanhBackward, backward(Backward::kTanh, view(grad), view(result), view(out)))
OPERATOR(aclnnSiluBackward, backward(Backward::kSilu, view(grad), view(self), view(out)))

OPERATOR(aclnnClamp,
         constexpr double all = std::numeric_limits<double>::infinity();
         clamp(view(self), value(low, -all), value(high, all), view(out)))
OPERATOR(aclnnClampMax, clamp(view(self), -std::numeric_limits<double>::infinity(), value(high, 0), view(out)))
OPERATOR(aclnnClampMin, clamp(view(self), value(low, 0), std::numeric_limits<double>::infinity(), view(out)))
OPERATOR(aclnnClampMinTensor, binary(Binary::kMaximum, view(self), view(low), view(out)))
OPERATOR(aclnnClampMaxTensor, binary(Binary::kMinimum, view(self), view(high), view(out)))
OPERATOR(aclnnClampTensor, {
  const View to = view(out);
  low != nullptr ? binary(Binary::kMaximum, view(self), view(low), to) : copy(view(self), to);
  if (high != nullptr) binary(Binary::kMinimum, to, view(high), to);
})
OPERATOR(aclnnSWhere, choose(view(condition), view(self), view(other), view(out)))
OPERATOR(aclnnSelectV2, choose(view(condition), view(self), view(other), view(out)))
OPERATOR(aclnnInplaceMaskedFillScalar, masked_fill(view(self), view(mask), value(number, 0)))
OPERATOR(aclnnInplaceMaskedFillTensor, masked_fill(view(self), view(mask), load<double>(view(number)).at(0)))
// MindSpore's own: called for one tensor after the other with the same output, which it clears before.
OPERATOR(aclnnAllFinite, if (!all_finite(view(self))) fill(view(overflow), 1))
