// Arithmetic, comparisons and functions, element by element, with broadcasting.
#pragma once
#include "kernels/view.h"

namespace jumar::kernels {

enum class Unary { kAbs, kAcos, kAcosh, kAsin, kAsinh, kAtan, kAtanh, kBitNot, kCeil, kCos, kCosh, kErf, kErfc, kExp, kExp2,
                   kExpm1, kFloor, kIsFinite, kIsInf, kIsNan, kLog, kLog10, kLog1p, kLog2, kLogicalNot, kNeg, kReciprocal,
                   kRelu, kRound, kRsqrt, kSigmoid, kSign, kSilu, kSin, kSinc, kSinh, kSqrt, kSquare, kTan, kTanh, kTrunc };

enum class Binary { kAdd, kAnd, kAtan2, kBitAnd, kBitOr, kBitXor, kDiv, kDivNoNan, kEqual, kFloorDiv, kFmod, kGreater,
                    kGreaterEqual, kLess, kLessEqual, kMaximum, kMinimum, kMul, kNotEqual, kOr, kPow, kRemainder,
                    kSquaredDifference, kSub, kTruncDiv, kXLogY, kXor };

// Gradients from the one that comes in (`grad`) and the value the function was given or gave.
enum class Backward { kRelu, kSigmoid, kSilu, kSqrt, kTanh };

void unary(Unary what, const View& x, const View& out);
void binary(Binary what, const View& x, const View& y, const View& out);
void binary(Binary what, const View& x, double y, const View& out);
void binary(Binary what, double x, const View& y, const View& out);
void scaled_add(const View& x, const View& y, double scale, const View& out);  // x + scale · y
void backward(Backward what, const View& grad, const View& value, const View& out);
void threshold_backward(const View& grad, const View& x, double threshold, const View& out);
void clamp(const View& x, double low, double high, const View& out);
void choose(const View& condition, const View& x, const View& y, const View& out);
void masked_fill(const View& self, const View& mask, double value);
void sum_of(const std::vector<View>& all, const View& out);
bool all_finite(const View& x);

}  // namespace jumar::kernels
