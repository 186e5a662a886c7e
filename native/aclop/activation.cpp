// Operators by type for activation functions.
#include "kernels/activation.h"

#include "aclop/run.h"
#include "kernels/map.h"

namespace jumar::aclop {
namespace {

using namespace kernels;

using Curve = double (*)(double);

template <Curve Value>
void curve(const Arguments& a) {
  map(a.out(0), Value, a.in(0));
}

// Inputs: the gradient that comes in, and what the function was given.
template <Curve Slope>
void slope(const Arguments& a) {
  map(a.out(0), [](double g, double x) { return g * Slope(x); }, a.in(0), a.in(1));
}

Elu elu_of(const Arguments& a) { return {a.number("alpha", 1), a.number("scale", 1), a.number("input_scale", 1)}; }

void elu(const Arguments& a) {
  map(a.out(0), [e = elu_of(a)](double x) { return e.value(x); }, a.in(0));
}

void elu_gradient(const Arguments& a) {
  map(a.out(0), [e = elu_of(a)](double g, double y) { return g * e.slope_at_value(y); }, a.in(0), a.in(1));
}

double selu(double x) { return kSelu.value(x); }
double selu_slope(double y) { return kSelu.slope_at_value(y); }
double softplus(double x) { return Softplus{}.value(x); }
double softplus_slope(double x) { return Softplus{}.slope(x); }

}  // namespace

const std::vector<Entry> kActivations = {
    {"Elu", elu},
    {"EluGrad", elu_gradient},
    {"Gelu", curve<gelu_tanh>},
    {"GeluGrad", slope<gelu_tanh_slope>},
    {"HardSigmoid", curve<hard_sigmoid>},
    {"HardSigmoidGrad", slope<hard_sigmoid_slope>},
    {"HardSwish", curve<hard_swish>},
    {"HardSwishGrad", slope<hard_swish_slope>},
    {"Mish", curve<mish>},
    {"MishGrad", slope<mish_slope>},
    {"Relu6", curve<relu6>},
    {"Relu6Grad", slope<relu6_slope>},
    {"Selu", curve<selu>},
    {"SeluGrad", slope<selu_slope>},
    {"Softplus", curve<softplus>},
    {"SoftplusGrad", slope<softplus_slope>},
};

}  // namespace jumar::aclop
