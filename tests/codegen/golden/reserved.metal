#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// Parameters and variables whose names Metal reserves; e, ss and -> are not
// ASCII.
struct reserved_functor {
  template <typename T>
  inline T operator()(const T kernel_, const T half_) {
    const T float2_ = kernel_ * half_;
    const T xNAN = float2_ - half_;
    const T gru00f6u00dfe = xNAN / T(2);
    return gru00f6u00dfe + kernel_;
  }
};

#ifndef REGISTER_FLOAT_BINARY_OP
#define REGISTER_FLOAT_BINARY_OP(NAME)    \
  REGISTER_BINARY_OP(NAME, float, float); \
  REGISTER_BINARY_OP(NAME, half, half);   \
  REGISTER_BINARY_OP(NAME, bfloat, bfloat)
#endif

REGISTER_FLOAT_BINARY_OP(reserved);
