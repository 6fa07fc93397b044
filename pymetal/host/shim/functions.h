// <metal_math> and <metal_common>: the functions of floating-point values.
//
// Each is an overload for float, one for half (computed in float, rounded once) and a template for vectors, so that
// overload resolution, ambiguity included, is Metal's. There is none for bfloat: a bfloat argument converts to float.
#pragma once

namespace metal {
namespace detail {
template <class T>
concept real = __is_same(T, float) || __is_same(T, half);
}

#define PYMETAL_MATH1(NAME, RESULT, VALUE)                                  \
  constexpr RESULT NAME(float x) { return VALUE; }                          \
  constexpr auto NAME(half h) {                                             \
    const float x = static_cast<float>(h);                                  \
    return static_cast<detail::narrow_t<RESULT>>(VALUE);                    \
  }                                                                         \
  template <detail::real T, int N>                                          \
  constexpr auto NAME(vec<T, N> v) {                                        \
    return vec<T, N>::map([](T p) { return NAME(p); }, v);                  \
  }
#define PYMETAL_MATH2(NAME, VALUE)                                          \
  constexpr float NAME(float x, float y) { return VALUE; }                  \
  constexpr half NAME(half h, half k) {                                     \
    const float x = static_cast<float>(h), y = static_cast<float>(k);       \
    return static_cast<half>(VALUE);                                        \
  }                                                                         \
  template <detail::real T, int N>                                          \
  constexpr vec<T, N> NAME(vec<T, N> v, vec<T, N> w) {                      \
    return vec<T, N>::map([](T p, T q) { return NAME(p, q); }, v, w);       \
  }                                                                         \
  template <detail::real T, int N>                                          \
  constexpr vec<T, N> NAME(vec<T, N> v, detail::same_type<T> q) {           \
    return vec<T, N>::map([q](T p) { return NAME(p, q); }, v);              \
  }
#define PYMETAL_MATH3(NAME, VALUE)                                          \
  constexpr float NAME(float x, float y, float z) { return VALUE; }         \
  constexpr half NAME(half h, half k, half l) {                             \
    const float x = static_cast<float>(h), y = static_cast<float>(k), z = static_cast<float>(l); \
    return static_cast<half>(VALUE);                                        \
  }                                                                         \
  template <detail::real T, int N>                                          \
  constexpr vec<T, N> NAME(vec<T, N> v, vec<T, N> w, vec<T, N> u) {         \
    return vec<T, N>::map([](T p, T q, T r) { return NAME(p, q, r); }, v, w, u); \
  }

namespace detail {
template <class T>
struct narrow {
  using type = T;
};
template <>
struct narrow<float> {
  using type = half;
};
template <class T>
using narrow_t = typename narrow<T>::type;
template <class T>
struct identity {
  using type = T;
};
// T, but not deduced from.
template <class T>
using same_type = typename identity<T>::type;

constexpr bool nan(float x) { return (__builtin_bit_cast(uint, x) & 0x7FFFFFFFu) > 0x7F800000u; }
// IEEE 754-2008 minNum and maxNum: a NaN loses against a number.
constexpr float least(float x, float y) { return nan(x) ? y : y < x ? y : x; }
constexpr float greatest(float x, float y) { return nan(x) ? y : x < y ? y : x; }
constexpr float median(float x, float y, float z) {
  return greatest(least(x, y), least(greatest(x, y), z));
}
// The largest float below one: fract never reaches one.
constexpr float fraction(float x) {
  const float f = x - __builtin_floorf(x);
  return nan(x) ? x : __builtin_fabsf(x) == __builtin_inff() ? __builtin_copysignf(0.0f, x) : least(f, 0x1.fffffep-1f);
}
constexpr float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : nan(x) ? 0.0f : x; }
constexpr float smooth(float low, float high, float x) {
  const float t = least(greatest((x - low) / (high - low), 0.0f), 1.0f);
  return t * t * (3.0f - 2.0f * t);
}
constexpr int exponent(float x) {
  const uint bits = __builtin_bit_cast(uint, x) & 0x7FFFFFFFu;
  const int normal = static_cast<int>(bits >> 23) - 127;
  return bits == 0u ? -2147483647 - 1 : bits < 0x00800000u ? -118 - __builtin_clz(bits) : bits > 0x7F800000u
             ? -2147483647 - 1 : bits == 0x7F800000u ? 2147483647 : normal;
}
}  // namespace detail

PYMETAL_MATH1(exp, float, pymetal_host::exp_(x))
PYMETAL_MATH1(exp2, float, pymetal_host::exp2_(x))
PYMETAL_MATH1(exp10, float, pymetal_host::exp10_(x))
PYMETAL_MATH1(log, float, pymetal_host::log_(x))
PYMETAL_MATH1(log2, float, pymetal_host::log2_(x))
PYMETAL_MATH1(log10, float, pymetal_host::log10_(x))
PYMETAL_MATH1(sin, float, pymetal_host::sin_(x))
PYMETAL_MATH1(cos, float, pymetal_host::cos_(x))
PYMETAL_MATH1(tan, float, pymetal_host::tan_(x))
PYMETAL_MATH1(sinpi, float, pymetal_host::sinpi_(x))
PYMETAL_MATH1(cospi, float, pymetal_host::cospi_(x))
PYMETAL_MATH1(tanpi, float, pymetal_host::tanpi_(x))
PYMETAL_MATH1(asin, float, pymetal_host::asin_(x))
PYMETAL_MATH1(acos, float, pymetal_host::acos_(x))
PYMETAL_MATH1(atan, float, pymetal_host::atan_(x))
PYMETAL_MATH1(sinh, float, pymetal_host::sinh_(x))
PYMETAL_MATH1(cosh, float, pymetal_host::cosh_(x))
PYMETAL_MATH1(tanh, float, pymetal_host::tanh_(x))
PYMETAL_MATH1(asinh, float, pymetal_host::asinh_(x))
PYMETAL_MATH1(acosh, float, pymetal_host::acosh_(x))
PYMETAL_MATH1(atanh, float, pymetal_host::atanh_(x))
PYMETAL_MATH1(sqrt, float, __builtin_sqrtf(x))
PYMETAL_MATH1(rsqrt, float, pymetal_host::rsqrt_(x))
PYMETAL_MATH1(fabs, float, __builtin_fabsf(x))
PYMETAL_MATH1(ceil, float, __builtin_ceilf(x))
PYMETAL_MATH1(floor, float, __builtin_floorf(x))
PYMETAL_MATH1(trunc, float, __builtin_truncf(x))
PYMETAL_MATH1(rint, float, __builtin_roundevenf(x))
PYMETAL_MATH1(round, float, __builtin_roundf(x))
PYMETAL_MATH1(fract, float, detail::fraction(x))
PYMETAL_MATH1(sign, float, detail::sign(x))
PYMETAL_MATH1(saturate, float, detail::least(detail::greatest(x, 0.0f), 1.0f))
PYMETAL_MATH1(ilogb, int, detail::exponent(x))

PYMETAL_MATH2(atan2, pymetal_host::atan2_(x, y))
PYMETAL_MATH2(pow, pymetal_host::pow_(x, y))
PYMETAL_MATH2(powr, pymetal_host::powr_(x, y))
PYMETAL_MATH2(fmod, __builtin_fmodf(x, y))
PYMETAL_MATH2(fmin, detail::least(x, y))
PYMETAL_MATH2(fmax, detail::greatest(x, y))
PYMETAL_MATH2(copysign, __builtin_copysignf(x, y))
PYMETAL_MATH2(fdim, detail::nan(x) || detail::nan(y) ? __builtin_nanf("") : x > y ? x - y : 0.0f)
PYMETAL_MATH2(divide, x / y)
PYMETAL_MATH2(step, y < x ? 0.0f : 1.0f)

PYMETAL_MATH3(fma, __builtin_fmaf(x, y, z))
PYMETAL_MATH3(mix, x + (y - x) * z)
PYMETAL_MATH3(smoothstep, detail::smooth(x, y, z))
PYMETAL_MATH3(fmedian3, detail::median(x, y, z))
PYMETAL_MATH3(fmin3, detail::least(x, detail::least(y, z)))
PYMETAL_MATH3(fmax3, detail::greatest(x, detail::greatest(y, z)))

// Functions that integers have as well: integers.h adds those overloads.
PYMETAL_MATH1(abs, float, __builtin_fabsf(x))
PYMETAL_MATH2(min, detail::least(x, y))
PYMETAL_MATH2(max, detail::greatest(x, y))
PYMETAL_MATH3(clamp, detail::least(detail::greatest(x, y), z))
PYMETAL_MATH3(min3, detail::least(x, detail::least(y, z)))
PYMETAL_MATH3(max3, detail::greatest(x, detail::greatest(y, z)))
PYMETAL_MATH3(median3, detail::median(x, y, z))
#undef PYMETAL_MATH1
#undef PYMETAL_MATH2
#undef PYMETAL_MATH3

// nextafter works on the bits of its own type.
constexpr float nextafter(float x, float y) {
  const uint bits = __builtin_bit_cast(uint, x);
  const uint step = (bits & 0x7FFFFFFFu) == 0u ? (__builtin_bit_cast(uint, y) & 0x80000000u) | 1u
                    : (x < y) == ((bits >> 31) == 0u) ? bits + 1u : bits - 1u;
  return detail::nan(x) ? x : detail::nan(y) || x == y ? y : __builtin_bit_cast(float, step);
}
constexpr half nextafter(half x, half y) {
  const ushort bits = __builtin_bit_cast(ushort, x);
  const ushort step = static_cast<ushort>((bits & 0x7FFF) == 0 ? (__builtin_bit_cast(ushort, y) & 0x8000) | 1
                      : (x < y) == ((bits >> 15) == 0) ? bits + 1 : bits - 1);
  return x != x ? x : y != y || x == y ? y : __builtin_bit_cast(half, step);
}
template <detail::real T, int N>
constexpr vec<T, N> nextafter(vec<T, N> v, vec<T, N> w) {
  return vec<T, N>::map([](T p, T q) { return nextafter(p, q); }, v, w);
}

constexpr float ldexp(float x, int k) { return __builtin_ldexpf(x, k); }
constexpr half ldexp(half x, int k) { return static_cast<half>(__builtin_ldexpf(static_cast<float>(x), k)); }
template <detail::real T, int N>
constexpr vec<T, N> ldexp(vec<T, N> v, vec<int, N> k) {
  return vec<T, N>::map([](T p, int q) { return ldexp(p, q); }, v, k);
}

// A reference out of these may lie in any space, hence the deduced type.
template <class R>
constexpr float sincos(float x, R& cosine) {
  cosine = pymetal_host::cos_(x);
  return pymetal_host::sin_(x);
}
template <class R>
constexpr half sincos(half x, R& cosine) {
  cosine = cos(x);
  return sin(x);
}
template <class R>
constexpr float frexp(float x, R& e) {
  int k = 0;
  const float m = __builtin_frexpf(x, &k);
  e = k;
  return m;
}
template <class R>
constexpr half frexp(half x, R& e) {
  return static_cast<half>(frexp(static_cast<float>(x), e));
}
template <class R>
constexpr float modf(float x, R& whole) {
  whole = __builtin_truncf(x);
  return __builtin_copysignf(__builtin_fabsf(x) == __builtin_inff() ? 0.0f : x - __builtin_truncf(x), x);
}
template <class R>
constexpr half modf(half x, R& whole) {
  whole = trunc(x);
  return static_cast<half>(__builtin_copysignf(__builtin_fabsf(static_cast<float>(x)) == __builtin_inff() ? 0.0f : static_cast<float>(x - trunc(x)), static_cast<float>(x)));
}

// A vector and scalars: Metal converts the scalars.
template <detail::real T, int N>
constexpr vec<T, N> clamp(vec<T, N> v, detail::same_type<T> low, detail::same_type<T> high) {
  return vec<T, N>::map([low, high](T p) { return clamp(p, low, high); }, v);
}
template <detail::real T, int N>
constexpr vec<T, N> mix(vec<T, N> v, vec<T, N> w, detail::same_type<T> t) {
  return vec<T, N>::map([t](T p, T q) { return mix(p, q, t); }, v, w);
}

// As in Metal, where these two are ambiguous for bfloat: convert to float first.
bfloat abs(bfloat) = delete;
bfloat min(bfloat, bfloat) = delete;
bfloat max(bfloat, bfloat) = delete;
bfloat clamp(bfloat, bfloat, bfloat) = delete;
bfloat min3(bfloat, bfloat, bfloat) = delete;
bfloat max3(bfloat, bfloat, bfloat) = delete;
bfloat median3(bfloat, bfloat, bfloat) = delete;

// The host device has one implementation of each function; both namespaces name it.
#define PYMETAL_PRECISIONS(WHICH)                                                                             \
  namespace WHICH {                                                                                           \
  using metal::abs, metal::acos, metal::acosh, metal::asin, metal::asinh, metal::atan, metal::atan2;          \
  using metal::atanh, metal::ceil, metal::clamp, metal::copysign, metal::cos, metal::cosh, metal::cospi;      \
  using metal::divide, metal::exp, metal::exp10, metal::exp2, metal::fabs, metal::fdim, metal::floor;         \
  using metal::fma, metal::fmax, metal::fmax3, metal::fmedian3, metal::fmin, metal::fmin3, metal::fmod;       \
  using metal::fract, metal::frexp, metal::ilogb, metal::ldexp, metal::log, metal::log10, metal::log2;        \
  using metal::max, metal::max3, metal::median3, metal::min, metal::min3, metal::mix, metal::modf;            \
  using metal::nextafter, metal::pow, metal::powr, metal::rint, metal::round, metal::rsqrt, metal::saturate;  \
  using metal::sign, metal::sin, metal::sincos, metal::sinh, metal::sinpi, metal::smoothstep, metal::sqrt;    \
  using metal::step, metal::tan, metal::tanh, metal::tanpi, metal::trunc;                                     \
  }
PYMETAL_PRECISIONS(precise)
PYMETAL_PRECISIONS(fast)
#undef PYMETAL_PRECISIONS

}  // namespace metal
