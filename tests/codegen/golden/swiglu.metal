#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

template <typename T>
inline T silu(const T x) {
  return x / (T(1) + static_cast<T>(metal::exp(float(-x))));
}

// A plain function, typed by its argument; of floats alone.
struct swiglu_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return silu(a) * b;
  }
};

#ifndef REGISTER_FLOAT_BINARY_OP
#define REGISTER_FLOAT_BINARY_OP(NAME)    \
  REGISTER_BINARY_OP(NAME, float, float); \
  REGISTER_BINARY_OP(NAME, half, half);   \
  REGISTER_BINARY_OP(NAME, bfloat, bfloat)
#endif

REGISTER_FLOAT_BINARY_OP(swiglu);
