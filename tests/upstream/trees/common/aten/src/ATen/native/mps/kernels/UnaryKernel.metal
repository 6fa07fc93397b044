#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct exp_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(::metal::precise::exp(static_cast<float>(x)));
  }
  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return ::metal::precise::exp(static_cast<float>(x));
  }
};

#define REGISTER_UNARY_OP2(NAME, DTYPE) REGISTER_UNARY_OP(NAME, DTYPE, DTYPE)

REGISTER_UNARY_OP(exp, int, float);
REGISTER_UNARY_OP2(exp, float);
REGISTER_UNARY_OP2(exp, half);
#if __METAL_VERSION__ >= 310
REGISTER_UNARY_OP2(exp, bfloat);
#endif
