#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

struct only_floats_functor {
  template <typename T>
  inline T operator()(const T x) {
    return metal::isfinite(float(x))
        ? x * x
        : static_cast<T>(precise::copysign(2.0f, float(x)));
  }
};

REGISTER_UNARY_OP(only_floats, float, float);
REGISTER_UNARY_OP(only_floats, half, half);
REGISTER_UNARY_OP(only_floats, bfloat, bfloat);
