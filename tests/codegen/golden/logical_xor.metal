#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// torch.logical_xor.
struct logical_xor_functor {
  template <typename T>
  inline bool operator()(const T a, const T b) {
    return (a != T(0)) != (b != T(0));
  }

  inline bool operator()(const bool a, const bool b) {
    return (long(a) != long(0)) != (long(b) != long(0));
  }
};

#ifndef REGISTER_COMPARISON_OP
#ifdef REGISTER_BINARY_CASTOUT_OP
#define REGISTER_COMPARISON_OP(NAME)              \
  REGISTER_BINARY_OP(NAME, float, bool);          \
  REGISTER_BINARY_CASTOUT_OP(NAME, float, bool);  \
  REGISTER_BINARY_OP(NAME, half, bool);           \
  REGISTER_BINARY_CASTOUT_OP(NAME, half, bool);   \
  REGISTER_BINARY_OP(NAME, bfloat, bool);         \
  REGISTER_BINARY_CASTOUT_OP(NAME, bfloat, bool); \
  REGISTER_BINARY_OP(NAME, long, bool);           \
  REGISTER_BINARY_CASTOUT_OP(NAME, long, bool);   \
  REGISTER_BINARY_OP(NAME, int, bool);            \
  REGISTER_BINARY_CASTOUT_OP(NAME, int, bool);    \
  REGISTER_BINARY_OP(NAME, short, bool);          \
  REGISTER_BINARY_CASTOUT_OP(NAME, short, bool);  \
  REGISTER_BINARY_OP(NAME, uchar, bool);          \
  REGISTER_BINARY_CASTOUT_OP(NAME, uchar, bool);  \
  REGISTER_BINARY_OP(NAME, char, bool);           \
  REGISTER_BINARY_CASTOUT_OP(NAME, char, bool);   \
  REGISTER_BINARY_OP(NAME, bool, bool);           \
  REGISTER_BINARY_CASTOUT_OP(NAME, bool, bool)
#else
#define REGISTER_COMPARISON_OP(NAME)      \
  REGISTER_BINARY_OP(NAME, float, bool);  \
  REGISTER_BINARY_OP(NAME, half, bool);   \
  REGISTER_BINARY_OP(NAME, bfloat, bool); \
  REGISTER_BINARY_OP(NAME, long, bool);   \
  REGISTER_BINARY_OP(NAME, int, bool);    \
  REGISTER_BINARY_OP(NAME, short, bool);  \
  REGISTER_BINARY_OP(NAME, uchar, bool);  \
  REGISTER_BINARY_OP(NAME, char, bool);   \
  REGISTER_BINARY_OP(NAME, bool, bool)
#endif
#endif

REGISTER_COMPARISON_OP(logical_xor);
