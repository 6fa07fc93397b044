// Which implementation stands behind each elementary function of one float: the one place to change it.
#pragma once

#if __has_include("elementary.h")
#include "elementary.h"
#endif

namespace pymetal_host {
#define PYMETAL_LIBM1(NAME) \
  inline float m_##NAME(float x) { return __builtin_##NAME##f(x); }
#define PYMETAL_LIBM2(NAME) \
  inline float m_##NAME(float x, float y) { return __builtin_##NAME##f(x, y); }

PYMETAL_LIBM1(exp)
PYMETAL_LIBM1(exp2)
PYMETAL_LIBM1(exp10)
PYMETAL_LIBM1(expm1)
PYMETAL_LIBM1(log)
PYMETAL_LIBM1(log2)
PYMETAL_LIBM1(log10)
PYMETAL_LIBM1(log1p)
PYMETAL_LIBM1(sin)
PYMETAL_LIBM1(cos)
PYMETAL_LIBM1(tan)
PYMETAL_LIBM1(asin)
PYMETAL_LIBM1(acos)
PYMETAL_LIBM1(atan)
PYMETAL_LIBM1(sinh)
PYMETAL_LIBM1(cosh)
PYMETAL_LIBM1(tanh)
PYMETAL_LIBM1(asinh)
PYMETAL_LIBM1(acosh)
PYMETAL_LIBM1(atanh)
PYMETAL_LIBM1(cbrt)
PYMETAL_LIBM2(atan2)
PYMETAL_LIBM2(pow)
PYMETAL_LIBM2(hypot)
PYMETAL_LIBM2(fmod)
PYMETAL_LIBM2(remainder)
PYMETAL_LIBM2(nextafter)
#undef PYMETAL_LIBM1
#undef PYMETAL_LIBM2

// sin(pi x) and its kin, with the argument reduced exactly before the multiplication.
inline float m_half_turns(float x) { return x - 2.0f * __builtin_roundevenf(x * 0.5f); }
inline float m_sinpi(float x) {
  const float r = m_half_turns(x);
  const float folded = __builtin_fabsf(r) > 0.5f ? __builtin_copysignf(1.0f, r) - r : r;
  const float s = __builtin_sinf(folded * 3.14159265358979323846f);
  return __builtin_fabsf(x) == __builtin_inff() ? __builtin_nanf("") : folded == 0.0f ? __builtin_copysignf(0.0f, x) : s;
}
inline float m_cospi(float x) {
  const float r = __builtin_fabsf(m_half_turns(x));
  const float c = r <= 0.25f   ? __builtin_cosf(r * 3.14159265358979323846f)
                  : r <= 0.75f ? __builtin_sinf((0.5f - r) * 3.14159265358979323846f)
                               : -__builtin_cosf((1.0f - r) * 3.14159265358979323846f);
  return __builtin_fabsf(x) == __builtin_inff() ? __builtin_nanf("") : c;
}
inline float m_tanpi(float x) { return m_sinpi(x) / m_cospi(x); }
inline float m_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
inline float m_powr(float x, float y) { return x < 0.0f ? __builtin_nanf("") : m_pow(x, y); }
}  // namespace pymetal_host
