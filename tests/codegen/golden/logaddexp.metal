#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// log(exp(a) + exp(b)), without overflow: the larger operand is taken out of
// the logarithm.
struct logaddexp_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    const T larger = a > b ? a : b;
    const T gap = static_cast<T>(metal::fabs(float(a - b)));
    if (metal::isnan(float(gap))) {
      return a + b;
    }
    return larger +
        static_cast<T>(c10::metal::log1p(
            float(static_cast<T>(precise::exp(float(-gap))))));
  }
};

#ifndef REGISTER_OPMATH_FLOAT_BINARY_OP
#define REGISTER_OPMATH_FLOAT_BINARY_OP(NAME)    \
  REGISTER_OPMATH_BINARY_OP(NAME, float, float); \
  REGISTER_OPMATH_BINARY_OP(NAME, half, half);   \
  REGISTER_OPMATH_BINARY_OP(NAME, bfloat, bfloat)
#endif

REGISTER_OPMATH_FLOAT_BINARY_OP(logaddexp);
