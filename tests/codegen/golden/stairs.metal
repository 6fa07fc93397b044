#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// x, where it is between low and high.
template <typename T>
inline T limited(const T x) {
  if (x < T(0)) {
    return T(0);
  }
  return x > T(1) ? T(1) : x;
}

// x, where it is between low and high.
template <typename T>
inline T limited_high_3(const T x) {
  if (x < T(0)) {
    return T(0);
  }
  return x > T(3) ? T(3) : x;
}

template <
    typename T,
    enable_if_t<
        is_floating_point_v<T> || (is_integral_v<T> && !is_signed_v<T>),
        bool> = true>
inline int steps_count_4(const T x) {
  int total = 0;
  for (int i = 0; i < 4; i++) {
    if (limited_high_3(x) > static_cast<T>(i)) {
      total = int(uint(total) + uint(i + 1));
    }
  }
  return total;
}

template <
    typename T,
    enable_if_t<is_integral_v<T> && is_signed_v<T>, bool> = true>
inline int steps_count_4(const T x) {
  int total = 0;
  for (int i = 0; i < 4; i++) {
    if (limited_high_3(x) > i) {
      total = int(uint(total) + uint(i + 1));
    }
  }
  return total;
}

// A plain function that calls others, one text for floats and integers.
struct stairs_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return limited(x) + limited_high_3(x) * static_cast<T>(steps_count_4(x));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(
        ulong(limited(x)) +
        ulong(limited_high_3(x)) * ulong(static_cast<T>(steps_count_4(x))));
  }
};

REGISTER_UNARY_OP(stairs, float, float);
REGISTER_UNARY_OP(stairs, half, half);
REGISTER_UNARY_OP(stairs, bfloat, bfloat);
REGISTER_UNARY_OP(stairs, long, long);
REGISTER_UNARY_OP(stairs, int, int);
REGISTER_UNARY_OP(stairs, short, short);
REGISTER_UNARY_OP(stairs, uchar, uchar);
REGISTER_UNARY_OP(stairs, char, char);
