#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// A variable set on every path of an if, then read; another reassigned; a
// parameter, too.
struct staircase_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    T x_1 = x;
    int bonus = 1;
    T step;
    if (x_1 > T(10)) {
      step = x_1 - T(10);
      bonus = 2;
    } else if (x_1 > T(5)) {
      step = T(5);
    } else {
      step = T(0);
      x_1 = -x_1;
    }
    step = step + static_cast<T>(bonus);
    return step * T(2) + x_1;
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T x) {
    T x_1 = x;
    int bonus = 1;
    T step;
    if (x_1 > T(10)) {
      step = x_1 - T(10);
      bonus = 2;
    } else if (x_1 > T(5)) {
      step = T(5);
    } else {
      step = T(0);
      x_1 = static_cast<T>(-ulong(x_1));
    }
    step = step + static_cast<T>(bonus);
    return step * T(2) + x_1;
  }
};

REGISTER_UNARY_OP(staircase, float, float);
REGISTER_UNARY_OP(staircase, half, half);
REGISTER_UNARY_OP(staircase, bfloat, bfloat);
REGISTER_UNARY_OP(staircase, long, long);
REGISTER_UNARY_OP(staircase, int, int);
REGISTER_UNARY_OP(staircase, short, short);
REGISTER_UNARY_OP(staircase, uchar, uchar);
REGISTER_UNARY_OP(staircase, char, char);
