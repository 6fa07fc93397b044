// Needs torch 2.15: REGISTER_TERNARY_ALPHA_OP.

#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// base + value * a * b.
struct addcmul_functor {
  template <typename T>
  inline T operator()(const T base, const T a, const T b, const T value) {
    return base + value * a * b;
  }
};

REGISTER_TERNARY_ALPHA_OP(addcmul, float, float, float);
REGISTER_TERNARY_ALPHA_OP(addcmul, half, half, half);
REGISTER_TERNARY_ALPHA_OP(addcmul, bfloat, bfloat, bfloat);
REGISTER_TERNARY_ALPHA_OP(addcmul, long, long, long);
REGISTER_TERNARY_ALPHA_OP(addcmul, int, int, int);
REGISTER_TERNARY_ALPHA_OP(addcmul, short, short, short);
REGISTER_TERNARY_ALPHA_OP(addcmul, uchar, uchar, uchar);
REGISTER_TERNARY_ALPHA_OP(addcmul, char, char, char);
