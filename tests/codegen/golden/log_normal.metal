#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// Logarithm of the normal density.
struct log_normal_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return T(-0.5f) * x * x - T(0.9189385f);
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return -0.5f * float(x) * float(x) - 0.9189385f;
  }
};

REGISTER_UNARY_OP(log_normal, float, float);
REGISTER_UNARY_OP(log_normal, half, half);
REGISTER_UNARY_OP(log_normal, bfloat, bfloat);
REGISTER_UNARY_OP(log_normal, long, float);
REGISTER_UNARY_OP(log_normal, int, float);
REGISTER_UNARY_OP(log_normal, short, float);
REGISTER_UNARY_OP(log_normal, uchar, float);
REGISTER_UNARY_OP(log_normal, char, float);
REGISTER_UNARY_OP(log_normal, bool, float);
