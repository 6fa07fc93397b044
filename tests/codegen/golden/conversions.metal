#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// Casts: to a fixed width and back, to float, from a truth value.
struct conversions_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    const char small = char(int(a < b) * 3);
    const float ratio = float(a) / (1.0f + metal::fabs(float(b)));
    const int sign = ratio < 0.5f && small > char(0) ? 1 : -1;
    return static_cast<T>(static_cast<char>(char(sign) * small));
  }
};

#ifndef REGISTER_FLOAT_BINARY_OP
#define REGISTER_FLOAT_BINARY_OP(NAME)    \
  REGISTER_BINARY_OP(NAME, float, float); \
  REGISTER_BINARY_OP(NAME, half, half);   \
  REGISTER_BINARY_OP(NAME, bfloat, bfloat)
#endif

#ifndef REGISTER_INTEGER_BINARY_OP_NO_BOOL
#define REGISTER_INTEGER_BINARY_OP_NO_BOOL(NAME) \
  REGISTER_BINARY_OP(NAME, long, long);          \
  REGISTER_BINARY_OP(NAME, int, int);            \
  REGISTER_BINARY_OP(NAME, short, short);        \
  REGISTER_BINARY_OP(NAME, uchar, uchar);        \
  REGISTER_BINARY_OP(NAME, char, char)
#endif

REGISTER_FLOAT_BINARY_OP(conversions);
REGISTER_INTEGER_BINARY_OP_NO_BOOL(conversions);
