#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;

struct hardswish_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float y = ::metal::min(::metal::max(float(x) + 3.0f, 0.0f), 6.0f);
    return static_cast<T>(float(x) * y / 6.0f);
  }
};

REGISTER_UNARY_OP(hardswish, float, float);
REGISTER_UNARY_OP(hardswish, half, half);
#if __METAL_VERSION__ >= 310
REGISTER_UNARY_OP(hardswish, bfloat, bfloat);
#endif
