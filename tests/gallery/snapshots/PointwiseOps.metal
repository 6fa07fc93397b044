// Needs torch 2.15: REGISTER_TERNARY_ALPHA_OP.

#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// base + value * a * b, rounded once.
struct addcmul_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T base, const T a, const T b, const float value) {
    return static_cast<T>(float(base) + value * float(a) * float(b));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T base, const T a, const T b, const T value) {
    return base + value * a * b;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T base, const T a, const T b, const float2 value) {
    return static_cast<T>(
        float2(base) +
        c10::metal::mul(c10::metal::mul(value, float2(a)), float2(b)));
  }
};

// a / b by Smith's rule: b is scaled by its larger part, so that no square is
// formed.
inline float2 divide_(const float2 a, const float2 b) {
  if (b.y == 0.0f) {
    return float2(a.x / b.x, a.y / b.x);
  }
  if (metal::fabs(b.x) >= metal::fabs(b.y)) {
    const float ratio = b.y / b.x;
    const float divisor = b.x + b.y * ratio;
    return float2((a.x + a.y * ratio) / divisor, (a.y - a.x * ratio) / divisor);
  }
  const float ratio_1 = b.x / b.y;
  const float divisor_1 = b.x * ratio_1 + b.y;
  return float2(
      (a.x * ratio_1 + a.y) / divisor_1, (a.y * ratio_1 - a.x) / divisor_1);
}

// base + value * a / b, rounded once.
struct addcdiv_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T base, const T a, const T b, const float value) {
    return static_cast<T>(float(base) + value * float(a) / float(b));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T base, const T a, const T b, const float2 value) {
    return static_cast<T>(
        float2(base) + c10::metal::mul(value, divide_(float2(a), float2(b))));
  }
};

REGISTER_TERNARY_ALPHA_OP(addcmul, float, float, float);
REGISTER_TERNARY_ALPHA_OP(addcmul, half, float, half);
REGISTER_TERNARY_ALPHA_OP(addcmul, bfloat, float, bfloat);
REGISTER_TERNARY_ALPHA_OP(addcmul, long, long, long);
REGISTER_TERNARY_ALPHA_OP(addcmul, int, int, int);
REGISTER_TERNARY_ALPHA_OP(addcmul, short, short, short);
REGISTER_TERNARY_ALPHA_OP(addcmul, uchar, uchar, uchar);
REGISTER_TERNARY_ALPHA_OP(addcmul, char, char, char);
REGISTER_TERNARY_ALPHA_OP(addcmul, float2, float2, float2);
REGISTER_TERNARY_ALPHA_OP(addcmul, half2, float2, half2);

REGISTER_TERNARY_ALPHA_OP(addcdiv, float, float, float);
REGISTER_TERNARY_ALPHA_OP(addcdiv, half, float, half);
REGISTER_TERNARY_ALPHA_OP(addcdiv, bfloat, float, bfloat);
REGISTER_TERNARY_ALPHA_OP(addcdiv, float2, float2, float2);
REGISTER_TERNARY_ALPHA_OP(addcdiv, half2, float2, half2);
