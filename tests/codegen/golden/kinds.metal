#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// One body, split when it is compiled by the kind of the element type.
struct kinds_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(
        metal::sqrt(float(static_cast<T>(metal::fabs(float(x))))));
  }

  template <
      typename T,
      enable_if_t<is_integral_v<T> && is_signed_v<T>, bool> = true>
  inline float operator()(const T x) {
    return float(x) / 3.0f;
  }

  template <
      typename T,
      enable_if_t<is_integral_v<T> && !is_signed_v<T>, bool> = true>
  inline float operator()(const T x) {
    return float(x) / 5.0f;
  }

  inline float operator()(const bool x) {
    return 0.25f;
  }
};

REGISTER_UNARY_OP(kinds, float, float);
REGISTER_UNARY_OP(kinds, half, half);
REGISTER_UNARY_OP(kinds, bfloat, bfloat);
REGISTER_UNARY_OP(kinds, long, float);
REGISTER_UNARY_OP(kinds, int, float);
REGISTER_UNARY_OP(kinds, short, float);
REGISTER_UNARY_OP(kinds, uchar, float);
REGISTER_UNARY_OP(kinds, char, float);
REGISTER_UNARY_OP(kinds, bool, float);
