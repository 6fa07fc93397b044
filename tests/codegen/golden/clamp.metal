// Needs torch 2.10: REGISTER_TERNARY_OP.

#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// torch.clamp with tensor bounds; a NaN anywhere is the result.
struct clamp_functor {
  template <typename T>
  inline T operator()(const T x, const T low, const T high) {
    T x_1 = x;
    if (x_1 != x_1) {
      return x_1;
    }
    if (low != low || x_1 < low) {
      x_1 = low;
    }
    if (high != high || x_1 > high) {
      x_1 = high;
    }
    return x_1;
  }
};

REGISTER_TERNARY_OP(clamp, float, float);
REGISTER_TERNARY_OP(clamp, half, half);
REGISTER_TERNARY_OP(clamp, bfloat, bfloat);
REGISTER_TERNARY_OP(clamp, long, long);
REGISTER_TERNARY_OP(clamp, int, int);
REGISTER_TERNARY_OP(clamp, short, short);
REGISTER_TERNARY_OP(clamp, uchar, uchar);
REGISTER_TERNARY_OP(clamp, char, char);
REGISTER_TERNARY_OP(clamp, bool, bool);
