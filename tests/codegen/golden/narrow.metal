#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// Arithmetic wraps to the element type wherever the value is looked at.
struct narrow_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    const T total = static_cast<T>(ulong(a) + ulong(b));
    if (static_cast<T>(ulong(a) * ulong(b) - 3) < total) {
      return -total;
    }
    return static_cast<T>((ulong(a) - ulong(b)) * 2) > T(100) ? total
                                                              : a * T(3) - b;
  }
};

#ifndef REGISTER_INTEGER_BINARY_OP_NO_BOOL
#define REGISTER_INTEGER_BINARY_OP_NO_BOOL(NAME) \
  REGISTER_BINARY_OP(NAME, long, long);          \
  REGISTER_BINARY_OP(NAME, int, int);            \
  REGISTER_BINARY_OP(NAME, short, short);        \
  REGISTER_BINARY_OP(NAME, uchar, uchar);        \
  REGISTER_BINARY_OP(NAME, char, char)
#endif

REGISTER_INTEGER_BINARY_OP_NO_BOOL(narrow);
