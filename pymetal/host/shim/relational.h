// <metal_relational>: tests on floating-point values, select, any and all. The tests are integer ones on the bits, as
// Metal's compiler makes them, so no flush mode changes their answer.
#pragma once

namespace metal {
namespace detail {
constexpr uint magnitude(float x) { return __builtin_bit_cast(uint, x) & 0x7FFFFFFFu; }
}  // namespace detail

#define PYMETAL_TEST(NAME, FLOAT_TEST, HALF_TEST)                    \
  constexpr bool NAME(float x) {                                     \
    const uint m = detail::magnitude(x);                             \
    return FLOAT_TEST;                                               \
  }                                                                  \
  constexpr bool NAME(half x) {                                      \
    const uint m = __builtin_bit_cast(ushort, x) & 0x7FFFu;          \
    return HALF_TEST;                                                \
  }                                                                  \
  template <detail::real T, int N>                                   \
  constexpr vec<bool, N> NAME(vec<T, N> v) {                         \
    return vec<T, N>::map([](T p) { return NAME(p); }, v);           \
  }
PYMETAL_TEST(isnan, m > 0x7F800000u, m > 0x7C00u)
PYMETAL_TEST(isinf, m == 0x7F800000u, m == 0x7C00u)
PYMETAL_TEST(isfinite, m < 0x7F800000u, m < 0x7C00u)
PYMETAL_TEST(isnormal, m >= 0x00800000u && m < 0x7F800000u, m >= 0x0400u && m < 0x7C00u)
#undef PYMETAL_TEST

constexpr bool signbit(float x) { return (__builtin_bit_cast(uint, x) >> 31) != 0; }
constexpr bool signbit(half x) { return (__builtin_bit_cast(ushort, x) >> 15) != 0; }
template <detail::real T, int N>
constexpr vec<bool, N> signbit(vec<T, N> v) {
  return vec<T, N>::map([](T p) { return signbit(p); }, v);
}
constexpr bool isunordered(float x, float y) { return isnan(x) || isnan(y); }
constexpr bool isunordered(half x, half y) { return isnan(x) || isnan(y); }
constexpr bool isordered(float x, float y) { return !isunordered(x, y); }
constexpr bool isordered(half x, half y) { return !isunordered(x, y); }
template <detail::real T, int N>
constexpr vec<bool, N> isunordered(vec<T, N> v, vec<T, N> w) {
  return vec<T, N>::map([](T p, T q) { return isunordered(p, q); }, v, w);
}
template <detail::real T, int N>
constexpr vec<bool, N> isordered(vec<T, N> v, vec<T, N> w) {
  return vec<T, N>::map([](T p, T q) { return isordered(p, q); }, v, w);
}

// select(a, b, c) is b where c is true.
template <class T>
  requires(pymetal_host::arithmetic<T> || __is_same(T, ::bfloat))
constexpr T select(T a, detail::same_type<T> b, bool c) {
  return c ? b : a;
}
template <class T, int N>
constexpr vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
  return vec<T, N>::map([](T p, T q, bool r) { return r ? q : p; }, a, b, c);
}
template <class T, int N>
constexpr vec<T, N> select(vec<T, N> a, vec<T, N> b, bool c) {
  return c ? b : a;
}

constexpr bool any(bool b) { return b; }
constexpr bool all(bool b) { return b; }
template <int N>
constexpr bool any(vec<bool, N> v) {
  bool r = false;
  for (int i = 0; i < N; ++i) {
    r = r || v.at(i);
  }
  return r;
}
template <int N>
constexpr bool all(vec<bool, N> v) {
  bool r = true;
  for (int i = 0; i < N; ++i) {
    r = r && v.at(i);
  }
  return r;
}

}  // namespace metal
