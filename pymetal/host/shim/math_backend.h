// Which implementation stands behind each elementary function of one float: the one place to change it.
//
// elementary.h is free of branches and vectorises. What it lacks is libm's, and keeps its loop scalar.
#pragma once

#include "elementary.h"

namespace pymetal_host {
#define PYMETAL_OWN1(NAME) \
  inline __attribute__((always_inline)) float m_##NAME(float x) { return NAME##_(x); }
#define PYMETAL_OWN2(NAME) \
  inline __attribute__((always_inline)) float m_##NAME(float x, float y) { return NAME##_(x, y); }

PYMETAL_OWN1(exp)
PYMETAL_OWN1(exp2)
PYMETAL_OWN1(exp10)
PYMETAL_OWN1(log)
PYMETAL_OWN1(log2)
PYMETAL_OWN1(log10)
PYMETAL_OWN1(sin)
PYMETAL_OWN1(cos)
PYMETAL_OWN1(tan)
PYMETAL_OWN1(sinpi)
PYMETAL_OWN1(cospi)
PYMETAL_OWN1(tanpi)
PYMETAL_OWN1(asin)
PYMETAL_OWN1(acos)
PYMETAL_OWN1(atan)
PYMETAL_OWN1(sinh)
PYMETAL_OWN1(cosh)
PYMETAL_OWN1(tanh)
PYMETAL_OWN1(asinh)
PYMETAL_OWN1(acosh)
PYMETAL_OWN1(atanh)
PYMETAL_OWN1(rsqrt)
PYMETAL_OWN2(atan2)
PYMETAL_OWN2(pow)
PYMETAL_OWN2(powr)
#undef PYMETAL_OWN1
#undef PYMETAL_OWN2

inline float m_fmod(float x, float y) { return __builtin_fmodf(x, y); }
}  // namespace pymetal_host
