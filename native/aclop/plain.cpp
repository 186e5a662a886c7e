// Operators by type for plain arithmetic and for moving values.
#include "aclop/run.h"
#include "kernels/elementwise.h"
#include "kernels/layout.h"
#include "kernels/map.h"
#include "kernels/reduction.h"
#include "kernels/softmax.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

template <Binary What>
void binary_of(const Arguments& a) {
  binary(What, a.in(0), a.in(1), a.out(0));
}

template <Unary What>
void unary_of(const Arguments& a) {
  unary(What, a.in(0), a.out(0));
}

// Axes are an input, or an attribute in the older form of the same operator.
template <Reduce What>
void reduce_of(const Arguments& a) {
  reduce(What, a.in(0), a.has_in(1) ? load<int64_t>(a.in(1)) : a.list("axes"), a.out(0));
}

// The first input is changed in place; the output is the same memory.
template <Binary What>
void assign_of(const Arguments& a) {
  const View target = a.in(0);
  binary(What, target, a.in(1), target);
  if (a.out(0).data != target.data) copy(target, a.out(0));
}

void assign(const Arguments& a) {
  View value = a.in(1);
  if (count(value.dims) == count(a.in(0).dims)) {  // such as one number for a number without axes
    value.dims = a.in(0).dims;
    value.strides = packed_strides(value.dims);
  }
  copy(value, a.in(0));
  if (a.out(0).data != a.in(0).data) copy(a.in(0), a.out(0));
}

// A graph with a list of unknown length describes the result as one number.
void add_n(const Arguments& a) {
  const View out = a.out(0);
  std::vector<View> all;
  for (size_t i = 0; i < a.inputs(); ++i) {
    all.push_back(a.in(i));
    if (count(all[i].dims) == count(out.dims)) all[i].dims = out.dims, all[i].strides = packed_strides(out.dims);
  }
  sum_of(all, out);
}

void copy_of(const Arguments& a) { copy(a.in(0), a.out(0)); }
void reshape(const Arguments& a) { copy_flat(a.in(0), a.out(0)); }

template <int Value>
void filled(const Arguments& a) {
  fill(a.out(0), Value);
}

template <bool Logarithm>
void softmax_of(const Arguments& a) {
  const Dims axes = a.list("axes");
  if (axes.size() > 1) throw NotEmulated("softmax over several axes is not emulated");
  softmax(a.in(0), axes.empty() ? -1 : axes[0], Logarithm, a.out(0));
}

void tile(const Arguments& a) {
  repeat(a.in(0), a.has_in(1) ? load<int64_t>(a.in(1)) : a.list("multiples"), a.out(0));
}

void transpose(const Arguments& a) {
  copy(permuted(a.in(0), a.has_in(1) ? load<int64_t>(a.in(1)) : a.list("perm")), a.out(0));
}

void one_hot_of(const Arguments& a) {
  one_hot(a.in(0), static_cast<int64_t>(a.number_in(1)), a.in(2), a.in(3), static_cast<int64_t>(a.number("axis", -1)),
          a.out(0));
}

void add_product(const Arguments& a) {
  map(a.out(0), [](double x, double p, double q, double f) { return x + f * p * q; }, a.in(0), a.in(1), a.in(2), a.in(3));
}

void add_quotient(const Arguments& a) {
  map(a.out(0), [](double x, double p, double q, double f) { return x + f * p / q; }, a.in(0), a.in(1), a.in(2), a.in(3));
}

void deviation(const Arguments& a) {
  const View mean = a.out(1);
  spread(true, a.in(0), a.list("dim"), a.number("unbiased", 1) != 0 ? 1 : 0, a.out(0), &mean);
}

}  // namespace

const std::vector<Entry> kPlain = {
    {"Abs", unary_of<Unary::kAbs>},
    {"Acos", unary_of<Unary::kAcos>},
    {"Acosh", unary_of<Unary::kAcosh>},
    {"Add", binary_of<Binary::kAdd>},
    {"AddN", add_n},
    {"Addcdiv", add_quotient},
    {"Addcmul", add_product},
    {"Asin", unary_of<Unary::kAsin>},
    {"Asinh", unary_of<Unary::kAsinh>},
    {"Assign", assign},
    {"AssignAdd", assign_of<Binary::kAdd>},
    {"AssignSub", assign_of<Binary::kSub>},
    {"Atan", unary_of<Unary::kAtan>},
    {"Atan2", binary_of<Binary::kAtan2>},
    {"Atanh", unary_of<Unary::kAtanh>},
    {"BitwiseAnd", binary_of<Binary::kBitAnd>},
    {"BitwiseOr", binary_of<Binary::kBitOr>},
    {"BitwiseXor", binary_of<Binary::kBitXor>},
    {"BroadcastTo", copy_of},
    {"Cast", copy_of},
    {"Ceil", unary_of<Unary::kCeil>},
    {"Cos", unary_of<Unary::kCos>},
    {"Div", binary_of<Binary::kDiv>},
    {"DivNoNan", binary_of<Binary::kDivNoNan>},
    {"Equal", binary_of<Binary::kEqual>},
    {"Erf", unary_of<Unary::kErf>},
    {"Exp", unary_of<Unary::kExp>},
    {"ExpandDims", reshape},
    {"Expm1", unary_of<Unary::kExpm1>},
    {"Flatten", reshape},
    {"Floor", unary_of<Unary::kFloor>},
    {"FloorDiv", binary_of<Binary::kFloorDiv>},
    {"FloorMod", binary_of<Binary::kRemainder>},
    {"Greater", binary_of<Binary::kGreater>},
    {"GreaterEqual", binary_of<Binary::kGreaterEqual>},
    {"IsNan", unary_of<Unary::kIsNan>},
    {"Less", binary_of<Binary::kLess>},
    {"LessEqual", binary_of<Binary::kLessEqual>},
    {"Log", unary_of<Unary::kLog>},
    {"Log1p", unary_of<Unary::kLog1p>},
    {"LogSoftmaxV2", softmax_of<true>},
    {"LogicalAnd", binary_of<Binary::kAnd>},
    {"LogicalNot", unary_of<Unary::kLogicalNot>},
    {"LogicalOr", binary_of<Binary::kOr>},
    {"Maximum", binary_of<Binary::kMaximum>},
    {"Minimum", binary_of<Binary::kMinimum>},
    {"Mod", binary_of<Binary::kFmod>},
    {"Mul", binary_of<Binary::kMul>},
    {"Neg", unary_of<Unary::kNeg>},
    {"NotEqual", binary_of<Binary::kNotEqual>},
    {"OneHot", one_hot_of},
    {"OnesLike", filled<1>},
    {"Pow", binary_of<Binary::kPow>},
    {"RealDiv", binary_of<Binary::kDiv>},
    {"Reciprocal", unary_of<Unary::kReciprocal>},
    {"ReduceAll", reduce_of<Reduce::kAll>},
    {"ReduceAny", reduce_of<Reduce::kAny>},
    {"ReduceMax", reduce_of<Reduce::kMax>},
    {"ReduceMean", reduce_of<Reduce::kMean>},
    {"ReduceMin", reduce_of<Reduce::kMin>},
    {"ReduceProd", reduce_of<Reduce::kProd>},
    {"ReduceStd", deviation},
    {"ReduceSum", reduce_of<Reduce::kSum>},
    {"Relu", unary_of<Unary::kRelu>},
    {"ReluGrad", [](const Arguments& a) { threshold_backward(a.in(0), a.in(1), 0, a.out(0)); }},
    {"Reshape", reshape},
    {"Rsqrt", unary_of<Unary::kRsqrt>},
    {"Select", [](const Arguments& a) { choose(a.in(0), a.in(1), a.in(2), a.out(0)); }},
    {"Sigmoid", unary_of<Unary::kSigmoid>},
    {"Sign", unary_of<Unary::kSign>},
    {"Sin", unary_of<Unary::kSin>},
    {"SoftmaxV2", softmax_of<false>},
    {"Sqrt", unary_of<Unary::kSqrt>},
    {"Square", unary_of<Unary::kSquare>},
    {"SquaredDifference", binary_of<Binary::kSquaredDifference>},
    {"Squeeze", reshape},
    {"Sub", binary_of<Binary::kSub>},
    {"Tanh", unary_of<Unary::kTanh>},
    {"TensorMove", copy_of},
    {"Tile", tile},
    {"Transpose", transpose},
    {"TruncateMod", binary_of<Binary::kFmod>},
    {"Xlogy", binary_of<Binary::kXLogY>},
    {"ZerosLike", filled<0>},
};

}  // namespace jumar::aclop
