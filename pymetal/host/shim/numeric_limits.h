// <metal_limits>: numeric_limits of every scalar type.
#pragma once

namespace metal {

template <class T>
struct numeric_limits {
  static constexpr bool is_specialized = false;
};

template <class T>
  requires(__is_integral(T))
struct numeric_limits<T> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = __is_signed(T);
  static constexpr bool is_integer = true;
  static constexpr bool is_exact = true;
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = false;
  static constexpr int digits = __is_same(T, bool) ? 1 : static_cast<int>(sizeof(T) * 8 - (is_signed ? 1 : 0));
  static constexpr int digits10 = digits * 30103 / 100000;
  static constexpr int radix = 2;
  static constexpr T max() {
    return __is_same(T, bool) ? T(1) : static_cast<T>(~0ul >> (64 - digits));
  }
  static constexpr T min() { return is_signed ? static_cast<T>(-static_cast<long>(max()) - 1) : T(0); }
  static constexpr T lowest() { return min(); }
  static constexpr T epsilon() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
  static constexpr T denorm_min() { return T(0); }
};

#define PYMETAL_FLOAT_LIMITS(T, BITS, DIGITS, DIGITS10, EMAX, EMAX10, EMIN, EMIN10, MAX, MIN, EPS, ROUND, INF, QNAN, DEN) \
  template <>                                                            \
  struct numeric_limits<T> {                                             \
    static constexpr bool is_specialized = true;                         \
    static constexpr bool is_signed = true;                              \
    static constexpr bool is_integer = false;                            \
    static constexpr bool is_exact = false;                              \
    static constexpr bool has_infinity = true;                           \
    static constexpr bool has_quiet_NaN = true;                          \
    static constexpr int digits = DIGITS;                                \
    static constexpr int digits10 = DIGITS10;                            \
    static constexpr int radix = 2;                                      \
    static constexpr int max_exponent = EMAX;                            \
    static constexpr int max_exponent10 = EMAX10;                        \
    static constexpr int min_exponent = EMIN;                            \
    static constexpr int min_exponent10 = EMIN10;                        \
    static constexpr T of(BITS bits) { return __builtin_bit_cast(T, bits); } \
    static constexpr T max() { return of(MAX); }                         \
    static constexpr T lowest() { return of(static_cast<BITS>(MAX | (BITS(1) << (sizeof(BITS) * 8 - 1)))); } \
    static constexpr T min() { return of(MIN); }                         \
    static constexpr T epsilon() { return of(EPS); }                     \
    static constexpr T round_error() { return of(ROUND); }               \
    static constexpr T infinity() { return of(INF); }                    \
    static constexpr T quiet_NaN() { return of(QNAN); }                  \
    static constexpr T signaling_NaN() { return of(QNAN); }              \
    static constexpr T denorm_min() { return of(DEN); }                  \
  };
PYMETAL_FLOAT_LIMITS(float, uint, 24, 6, 128, 38, -125, -37, 0x7F7FFFFFu, 0x00800000u, 0x34000000u, 0x3F000000u,
                     0x7F800000u, 0x7FC00000u, 1u)
PYMETAL_FLOAT_LIMITS(half, ushort, 11, 3, 16, 4, -13, -4, 0x7BFF, 0x0400, 0x1400, 0x3800, 0x7C00, 0x7E00, 1)
PYMETAL_FLOAT_LIMITS(bfloat, ushort, 8, 2, 128, 38, -125, -37, 0x7F7F, 0x0080, 0x3C00, 0x3F00, 0x7F80, 0x7FC0, 1)
#undef PYMETAL_FLOAT_LIMITS

template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};

// Of vectors: each component's own. c10's logaddexp reads `numeric_limits<float2>::infinity().x`; what Apple's header says
// there is not documented.
template <class T, int N>
struct numeric_limits<vec<T, N>> {
  using scalar = numeric_limits<T>;
  static constexpr bool is_specialized = scalar::is_specialized;
  static constexpr bool has_infinity = scalar::has_infinity;
  static constexpr vec<T, N> max() { return vec<T, N>(scalar::max()); }
  static constexpr vec<T, N> min() { return vec<T, N>(scalar::min()); }
  static constexpr vec<T, N> lowest() { return vec<T, N>(scalar::lowest()); }
  static constexpr vec<T, N> epsilon() { return vec<T, N>(scalar::epsilon()); }
  static constexpr vec<T, N> infinity() { return vec<T, N>(scalar::infinity()); }
  static constexpr vec<T, N> quiet_NaN() { return vec<T, N>(scalar::quiet_NaN()); }
};

}  // namespace metal
