#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

struct only_integers_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a * b + T(1);
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

REGISTER_INTEGER_BINARY_OP_NO_BOOL(only_integers);
