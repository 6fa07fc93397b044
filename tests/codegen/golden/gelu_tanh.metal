#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// x times the normal distribution function, approximated through tanh.
struct gelu_tanh_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(
        0.5f * float(x) *
        (1.0f +
         precise::tanh(
             0.7978846f *
             (float(x) + 0.044715f * float(x) * float(x) * float(x)))));
  }
};

REGISTER_UNARY_OP(gelu_tanh, float, float);
REGISTER_UNARY_OP(gelu_tanh, half, half);
REGISTER_UNARY_OP(gelu_tanh, bfloat, bfloat);
