// Needs torch 2.11: pow.

#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// a + b; of truth values, `or`.
struct add_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a + b;
  }
};

// a - b. torch refuses truth values, and so does this.
struct sub_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a - b;
  }
};

// a + alpha * b, rounded once.
struct add_alpha_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b, const T alpha) {
    return static_cast<T>(metal::fma(float(alpha), float(b), float(a)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T a, const T b, const T alpha) {
    return a + alpha * b;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b, const T alpha) {
    return static_cast<T>(
        float2(a) + c10::metal::mul(float2(alpha), float2(b)));
  }
};

// a * b; of truth values, `and`. Complex halves are multiplied as complex
// floats: their squares would overflow.
struct mul_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return a * b;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return c10::metal::mul(a, b);
  }
};

// start + weight * (end - start), counted from the nearer end: it is exactly
// `end` at weight one.
struct lerp_alpha_functor {
  template <typename U>
  static inline float complex_abs(const U z) {
    const float x = metal::fabs(float(z.x));
    const float y = metal::fabs(float(z.y));
    const float larger = metal::fmax(x, y);
    const float ratio = metal::fmin(x, y) / larger;
    if (larger == 0.0f) {
      return x + y;
    }
    if (metal::isinf(larger)) {
      return larger;
    }
    return metal::isnan(x) || metal::isnan(y)
        ? NAN
        : larger * precise::sqrt(1.0f + ratio * ratio);
  }

  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T start, const T end, const float weight) {
    const float a = float(start);
    const float b = float(end);
    const bool near_start = metal::fabs(weight) < 0.5f;
    return static_cast<T>(
        near_start ? metal::fma(weight, b - a, a)
                   : metal::fma(weight - 1.0f, b - a, b));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T start, const T end, const T weight) {
    return start + weight * (end - start);
  }

  inline bool operator()(const bool start, const bool end, const bool weight) {
    return weight ? end : start;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T start, const T end, const T weight) {
    const float2 a = float2(start);
    const float2 b = float2(end);
    const float2 w = float2(weight);
    return static_cast<T>(
        complex_abs(w) < 0.5f
            ? a + c10::metal::mul(w, b - a)
            : b - c10::metal::mul(b - a, float2(1.0f, 0.0f) - w));
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

// a / b.
struct div_true_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return a / b;
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    return float(a) / float(b);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(divide_(float2(a), float2(b)));
  }
};

// a / b rounded down, as Python's `//`. The quotient is exact before it is
// rounded: in half and bfloat, upstream's float quotient may round up to an
// integer that the exact one does not reach.
struct div_floor_functor {
  static inline float floor_divide(const float a, const float b) {
    if (b == 0.0f) {
      return a / b;
    }
    const float rest = metal::fmod(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0.0f && (b < 0.0f) != (rest < 0.0f)) {
      quotient -= 1.0f;
    }
    if (quotient == 0.0f) {
      return metal::copysign(0.0f, a / b);
    }
    const float down = metal::floor(quotient);
    return quotient - down > 0.5f ? down + 1.0f : down;
  }

  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(floor_divide(float(a), float(b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return c10::metal::floor_divide(a, b);
  }

  inline bool operator()(const bool a, const bool b) {
    return a && b;
  }
};

// a / b rounded towards zero. Half and bfloat quotients are rounded to their
// own type first, as torch's are.
struct div_trunc_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(metal::trunc(float(a / b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return c10::metal::div(a, b);
  }

  inline bool operator()(const bool a, const bool b) {
    return a && b;
  }
};

// a - b * floor(a / b), exactly: it has the sign of b. Upstream computes the
// formula in float, and is wrong where the quotient is large, and for infinite
// b.
struct remainder_functor {
  static inline float remainder(const float a, const float b) {
    const float rest = metal::fmod(a, b);
    return rest != 0.0f && (b < 0.0f) != (rest < 0.0f) ? rest + b : rest;
  }

  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(remainder(float(a), float(b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return c10::metal::remainder(a, b);
  }

  inline bool operator()(const bool a, const bool b) {
    return a && !b;
  }
};

// a - b * trunc(a / b), exactly: it has the sign of a.
struct fmod_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(precise::fmod(float(a), float(b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return c10::metal::fmod(a, b);
  }

  inline bool operator()(const bool a, const bool b) {
    return a && !b;
  }
};

// The greatest common divisor, by Euclid. The remainder keeps the dividend's
// sign, so that the lowest integer, which is its own absolute value, comes out
// right too.
struct gcd_functor {
  template <typename U>
  static inline U wrapping_abs(const U a) {
    return a < U(0) ? static_cast<U>(-ulong(a)) : a;
  }

  template <typename T>
  inline T operator()(const T a, const T b) {
    T a_1 = wrapping_abs(a);
    T b_1 = wrapping_abs(b);
    while (b_1 != T(0)) {
      const T b_next = c10::metal::fmod(a_1, b_1);
      a_1 = b_1;
      b_1 = b_next;
    }
    return wrapping_abs(a_1);
  }

  inline bool operator()(const bool a, const bool b) {
    return a || b;
  }
};

template <typename U>
inline U least_multiple_wrapping_abs(const U a) {
  return a < U(0) ? static_cast<U>(-ulong(a)) : a;
}

// Divided before it is multiplied, so that only the result can overflow.
template <typename T>
inline T least_multiple(const T a, const T b) {
  const T divisor = gcd_functor{}(a, b);
  return divisor == T(0)
      ? a
      : least_multiple_wrapping_abs(static_cast<T>(
            ulong(static_cast<T>(c10::metal::div(a, divisor))) * ulong(b)));
}

// The least common multiple; of narrow integers the absolute value is that of
// C++'s int, before it is narrowed.
struct lcm_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return least_multiple(a, b);
  }

  inline short operator()(const short a, const short b) {
    return short(least_multiple(int(a), int(b)));
  }

  inline char operator()(const char a, const char b) {
    return char(least_multiple(int(a), int(b)));
  }

  inline bool operator()(const bool a, const bool b) {
    return a && b;
  }
};

// The larger one; a NaN counts as missing.
struct fmax_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(metal::fmax(float(a), float(b)));
  }
};

// The smaller one; a NaN counts as missing.
struct fmin_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(metal::fmin(float(a), float(b)));
  }
};

// The larger one; a NaN is the result.
struct maximum_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return c10::metal::max(a, b);
  }

  inline bool operator()(const bool a, const bool b) {
    return a || b;
  }
};

// The smaller one; a NaN is the result.
struct minimum_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return c10::metal::min(a, b);
  }

  inline bool operator()(const bool a, const bool b) {
    return a && b;
  }
};

// 0 below zero, 1 above, `at_zero` at zero; 0 for NaN, as torch has it.
struct heaviside_functor {
  template <typename T>
  inline T operator()(const T x, const T at_zero) {
    return x == T(0) ? at_zero : static_cast<T>(x > T(0));
  }

  inline bool operator()(const bool x, const bool at_zero) {
    return long(x) == long(0) ? at_zero : long(x) > long(0);
  }
};

// a with the sign of b, also of a zero or NaN.
struct copysign_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(metal::copysign(float(a), float(b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    return metal::copysign(float(a), float(b));
  }
};

// The angle of the point (b, a).
struct atan2_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(precise::atan2(float(a), float(b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    return precise::atan2(float(a), float(b));
  }
};

// sqrt(a^2 + b^2), scaled by the larger operand. Infinite if one is infinite,
// where upstream's has NaN beside a NaN; and it overflows only where the result
// does.
struct hypot_functor {
  static inline float hypotenuse(const float a, const float b) {
    const float x = metal::fabs(a);
    const float y = metal::fabs(b);
    const float larger = metal::fmax(x, y);
    if (larger == 0.0f || metal::isinf(larger) || metal::isnan(x + y)) {
      return metal::isinf(larger) ? larger : x + y;
    }
    const float ratio = metal::fmin(x, y) / larger;
    return larger * precise::sqrt(1.0f + ratio * ratio);
  }

  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(hypotenuse(float(a), float(b)));
  }
};

// real + i imag.
struct make_complex_functor {
  template <typename T>
  inline c10::metal::vec2type_t<T> operator()(const T real, const T imag) {
    return c10::metal::vec2type_t<T>(real, imag);
  }
};

// The complex number of this length and angle.
struct polar_functor {
  template <typename T>
  inline c10::metal::vec2type_t<T> operator()(const T length, const T angle) {
    const float size = float(length);
    const float turn = float(angle);
    return static_cast<c10::metal::vec2type_t<T>>(
        float2(size * precise::cos(turn), size * precise::sin(turn)));
  }
};

// e to the power of z. Taken as the square of half the power, so that a small
// cosine may save a large power.
inline float2 complex_exp(const float2 z) {
  if (z.y == 0.0f) {
    return float2(precise::exp(z.x), z.y);
  }
  if (metal::fabs(z.x) < 80.0f) {
    const float length = precise::exp(z.x);
    return float2(length * precise::cos(z.y), length * precise::sin(z.y));
  }
  const float root = precise::exp(0.5f * z.x);
  return float2(
      root * precise::cos(z.y) * root, root * precise::sin(z.y) * root);
}

// x^2 + y^2 - 1 to nearly twice the precision of float: the rounding errors of
// the squares are added back.
inline float square_of_length_minus_one(const float x, const float y) {
  const float larger = metal::fmax(metal::fabs(x), metal::fabs(y));
  const float smaller = metal::fmin(metal::fabs(x), metal::fabs(y));
  const float square = larger * larger;
  const float square_rest = metal::fma(larger, larger, -square);
  const float other = smaller * smaller;
  const float other_rest = metal::fma(smaller, smaller, -other);
  const float whole = square - 1.0f;
  const float total = whole + other;
  const float lost = other - (total - whole);
  return total + (lost + square_rest + other_rest);
}

inline float log_length_hypotenuse(const float a, const float b) {
  const float x = metal::fabs(a);
  const float y = metal::fabs(b);
  const float larger = metal::fmax(x, y);
  if (larger == 0.0f || metal::isinf(larger) || metal::isnan(x + y)) {
    return metal::isinf(larger) ? larger : x + y;
  }
  const float ratio = metal::fmin(x, y) / larger;
  return larger * precise::sqrt(1.0f + ratio * ratio);
}

// log |x + i y|; near the unit circle through log1p, as the length itself has
// rounded to one there.
inline float log_length(const float x, const float y) {
  const float length = log_length_hypotenuse(x, y);
  if (0.5f < length && length < 2.0f) {
    return 0.5f * c10::metal::log1p(square_of_length_minus_one(x, y));
  }
  return precise::log(length);
}

// The principal logarithm.
inline float2 complex_log(const float2 z) {
  return float2(log_length(z.x, z.y), precise::atan2(z.y, z.x));
}

// e^(b log a); 1 for b = 0, where c10's has 0 for a = 0, and 0 for a = 0, where
// the logarithm is infinite.
inline float2 complex_pow_(const float2 a, const float2 b) {
  if (metal::all(b == float2(0.0f, 0.0f))) {
    return float2(1.0f, 0.0f);
  }
  if (metal::all(a == float2(0.0f, 0.0f))) {
    return float2(0.0f, 0.0f);
  }
  return complex_exp(c10::metal::mul(b, complex_log(a)));
}

// a to the power of b, as torch.pow; integers wrap, and to a negative power
// give 0, 1 or -1.
struct pow_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(precise::pow(float(a), float(b)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return c10::metal::pow(a, b);
  }

  inline bool operator()(const bool a, const bool b) {
    return a || !b;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(complex_pow_(float2(a), float2(b)));
  }
};

// The bits of the float after `a` towards `b`, from their bits; `lowest` are
// those of -0.
//
// With the sign taken off, bits are in the order of the floats: the neighbour
// is one more or one less. Comparing the floats themselves would not do, as
// Apple GPUs take subnormal ones for zero.
template <typename T>
inline T next_bits(const T a, const T b, const T lowest) {
  const T x = a >= T(0) ? a : static_cast<T>(ulong(lowest) - ulong(a));
  const T y = b >= T(0) ? b : static_cast<T>(ulong(lowest) - ulong(b));
  if (x == y) {
    return b;
  }
  const T moved =
      x < y ? static_cast<T>(ulong(x) + 1) : static_cast<T>(ulong(x) - 1);
  if (moved == T(0)) {
    return a & lowest;
  }
  return moved > T(0) ? moved : static_cast<T>(ulong(lowest) - ulong(moved));
}

// The next float after a towards b. On bits, so that subnormals are right on
// hardware that flushes them.
struct nextafter_functor {
  inline float operator()(const float a, const float b) {
    if (metal::isnan(a) || metal::isnan(b)) {
      return NAN;
    }
    return as_type<float>(
        next_bits(as_type<int>(a), as_type<int>(b), (-2147483647 - 1)));
  }

  inline half operator()(const half a, const half b) {
    if (metal::isnan(float(a)) || metal::isnan(float(b))) {
      return half(NAN);
    }
    return as_type<half>(
        next_bits(as_type<short>(a), as_type<short>(b), short(-32768)));
  }

  inline bfloat operator()(const bfloat a, const bfloat b) {
    if (metal::isnan(float(a)) || metal::isnan(float(b))) {
      return bfloat(NAN);
    }
    return as_type<bfloat>(
        next_bits(as_type<short>(a), as_type<short>(b), short(-32768)));
  }
};

// a & b.
struct bitwise_and_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a & b;
  }
};

// a | b.
struct bitwise_or_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a | b;
  }
};

// a ^ b.
struct bitwise_xor_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a ^ b;
  }
};

// a * 2^b modulo the width; 0 for counts beyond it, where Metal's own operator
// masks the count.
struct bitwise_left_shift_functor {
  template <typename U>
  static inline U shift_left(const U a, const U b) {
    return b < U(0) || b >= U(8 * sizeof(U)) ? U(0) : static_cast<U>(a << b);
  }

  template <typename T>
  inline T operator()(const T a, const T b) {
    return shift_left(a, b);
  }
};

// floor(a / 2^b), for all counts.
struct bitwise_right_shift_functor {
  template <typename U>
  static inline U shift_right(const U a, const U b) {
    const U last = U(8 * sizeof(U) - 1);
    const bool beyond = b < U(0) || b > last;
    if (is_signed_v<U>) {
      return static_cast<U>(a >> (beyond ? last : b));
    }
    return beyond ? U(0) : static_cast<U>(a >> b);
  }

  template <typename T>
  inline T operator()(const T a, const T b) {
    return shift_right(a, b);
  }
};

// a == b; complex numbers if both parts are.
struct eq_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return a == b;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return metal::all(a == b);
  }
};

// a != b.
struct ne_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return a != b;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return metal::any(a != b);
  }
};

// a < b.
struct lt_functor {
  template <typename T>
  inline bool operator()(const T a, const T b) {
    return a < b;
  }
};

// a <= b.
struct le_functor {
  template <typename T>
  inline bool operator()(const T a, const T b) {
    return a <= b;
  }
};

// a > b.
struct gt_functor {
  template <typename T>
  inline bool operator()(const T a, const T b) {
    return a > b;
  }
};

// a >= b.
struct ge_functor {
  template <typename T>
  inline bool operator()(const T a, const T b) {
    return a >= b;
  }
};

// True where neither is zero.
struct logical_and_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return a != T(0) && b != T(0);
  }

  inline bool operator()(const bool a, const bool b) {
    return long(a) != long(0) && long(b) != long(0);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return metal::any(a != T(0.0f, 0.0f)) && metal::any(b != T(0.0f, 0.0f));
  }
};

// True where one is not zero.
struct logical_or_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return a != T(0) || b != T(0);
  }

  inline bool operator()(const bool a, const bool b) {
    return long(a) != long(0) || long(b) != long(0);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return metal::any(a != T(0.0f, 0.0f)) || metal::any(b != T(0.0f, 0.0f));
  }
};

// True where exactly one is not zero.
struct logical_xor_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return (a != T(0)) != (b != T(0));
  }

  inline bool operator()(const bool a, const bool b) {
    return (long(a) != long(0)) != (long(b) != long(0));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T a, const T b) {
    return metal::any(a != T(0.0f, 0.0f)) != metal::any(b != T(0.0f, 0.0f));
  }
};

// The sum of (k + q)^-x for x > 1, q > 0: eight terms, then Euler's and
// Maclaurin's formula for the rest.
inline float zeta_of_positive(const float x, const float q) {
  float total = precise::pow(q, -x);
  total = total + precise::pow(q + 1.0f, -x);
  total = total + precise::pow(q + 2.0f, -x);
  total = total + precise::pow(q + 3.0f, -x);
  total = total + precise::pow(q + 4.0f, -x);
  total = total + precise::pow(q + 5.0f, -x);
  total = total + precise::pow(q + 6.0f, -x);
  total = total + precise::pow(q + 7.0f, -x);
  const float w = q + 8.0f;
  const float power = precise::pow(w, -x);
  if (power == 0.0f) {
    return total;
  }
  total = total + power * (w / (x - 1.0f) + 0.5f);
  float factor = power * x / w;
  total = total + 0.083333336f * factor;
  factor = factor * ((x + 1.0f) * (x + 2.0f) / (w * w));
  total = total + -0.0013888889f * factor;
  factor = factor * ((x + 3.0f) * (x + 4.0f) / (w * w));
  total = total + 3.3068784e-05f * factor;
  factor = factor * ((x + 5.0f) * (x + 6.0f) / (w * w));
  total = total + -8.267196e-07f * factor;
  factor = factor * ((x + 7.0f) * (x + 8.0f) / (w * w));
  total = total + 2.0876756e-08f * factor;
  factor = factor * ((x + 9.0f) * (x + 10.0f) / (w * w));
  return total;
}

// Zeta for all arguments: negative q by the sums over what is on either side of
// zero, with no loop over terms.
//
// Infinite at x = 1 and at the poles q = 0, -1, ...; NaN for x < 1, and for a
// negative number to a broken power.
inline float hurwitz_zeta(const float x, const float q) {
  if (x == 1.0f) {
    return INFINITY;
  }
  if (x < 1.0f || metal::isnan(x + q)) {
    return NAN;
  }
  if (q > 0.0f) {
    return zeta_of_positive(x, q);
  }
  if (q == metal::floor(q)) {
    return INFINITY;
  }
  if (x != metal::floor(x)) {
    return NAN;
  }
  const float above = zeta_of_positive(x, q - metal::floor(q));
  const float below =
      zeta_of_positive(x, metal::ceil(q) - q) - zeta_of_positive(x, 1.0f - q);
  const bool odd = precise::fmod(x, 2.0f) == 1.0f;
  return odd ? above - below : above + below;
}

// Hurwitz's zeta function: the sum of (k + q)^-x over k. c10's is NaN where its
// terms underflow.
struct zeta_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T q) {
    return static_cast<T>(hurwitz_zeta(float(x), float(q)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T q) {
    return hurwitz_zeta(float(x), float(q));
  }
};

// The regularised lower incomplete gamma function.
struct igamma_functor {
  template <typename T>
  inline T operator()(const T a, const T x) {
    return static_cast<T>(c10::metal::igamma(float(a), float(x)));
  }
};

// The regularised upper incomplete gamma function.
struct igammac_functor {
  template <typename T>
  inline T operator()(const T a, const T x) {
    return static_cast<T>(c10::metal::igammac(float(a), float(x)));
  }
};

inline float complex_log1p_hypotenuse(const float a, const float b) {
  const float x = metal::fabs(a);
  const float y = metal::fabs(b);
  const float larger = metal::fmax(x, y);
  if (larger == 0.0f || metal::isinf(larger) || metal::isnan(x + y)) {
    return metal::isinf(larger) ? larger : x + y;
  }
  const float ratio = metal::fmin(x, y) / larger;
  return larger * precise::sqrt(1.0f + ratio * ratio);
}

// log(1 + z). For small z, |1 + z|^2 - 1 is x (2 + x) + y^2, of terms that are
// small themselves; where they cancel, the product is split into what it rounds
// to and the rest.
inline float2 complex_log1p_(const float2 z) {
  const float x = z.x;
  const float y = z.y;
  const float angle = precise::atan2(y, 1.0f + x);
  if (complex_log1p_hypotenuse(x, y) > 0.5f) {
    return float2(log_length(1.0f + x, y), angle);
  }
  const float linear = x * (2.0f + x);
  const float rest = metal::fma(x, 2.0f + x, -(x * (2.0f + x)));
  return float2(
      0.5f * c10::metal::log1p(metal::fma(y, y, linear) + rest), angle);
}

// log(e^a + e^b), without overflow: the larger operand is taken out of the
// logarithm.
struct logaddexp_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    const T larger = c10::metal::max(a, b);
    if (metal::isinf(float(larger)) || metal::isnan(float(larger))) {
      return larger;
    }
    return larger +
        static_cast<T>(c10::metal::log1p(float(static_cast<T>(
            precise::exp(float(-static_cast<T>(metal::fabs(float(a - b)))))))));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    const float larger = c10::metal::max(float(a), float(b));
    if (metal::isinf(larger) || metal::isnan(larger)) {
      return larger;
    }
    return larger +
        c10::metal::log1p(precise::exp(-metal::fabs(float(a) - float(b))));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    const T larger = a.x >= b.x ? a : b;
    const T smaller = a.x >= b.x ? b : a;
    return static_cast<T>(
        float2(larger) + complex_log1p_(complex_exp(float2(smaller - larger))));
  }
};

// log2(2^a + 2^b), without overflow.
struct logaddexp2_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T a, const T b) {
    const T larger = c10::metal::max(a, b);
    if (metal::isinf(float(larger)) || metal::isnan(float(larger))) {
      return larger;
    }
    return larger +
        static_cast<T>(c10::metal::log1p(float(static_cast<T>(precise::exp2(
            float(-static_cast<T>(metal::fabs(float(a - b))))))))) *
        T(1.442695f);
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T a, const T b) {
    const float larger = c10::metal::max(float(a), float(b));
    if (metal::isinf(larger) || metal::isnan(larger)) {
      return larger;
    }
    return larger +
        c10::metal::log1p(precise::exp2(-metal::fabs(float(a) - float(b)))) *
        1.442695f;
  }
};

// x log y, and 0 for x = 0 whatever y is but NaN. Rounded once in half,
// upstream twice.
struct xlogy_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T y) {
    if (x == T(0) && !metal::isnan(float(y))) {
      return T(0);
    }
    return x * static_cast<T>(precise::log(float(y)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T y) {
    if (float(x) == 0.0f && !metal::isnan(float(y))) {
      return 0.0f;
    }
    return float(x) * precise::log(float(y));
  }
};

// x log(1 + y), and 0 for x = 0 whatever y is but NaN.
struct xlog1py_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T y) {
    if (x == T(0) && !metal::isnan(float(y))) {
      return T(0);
    }
    return x * static_cast<T>(c10::metal::log1p(float(y)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T y) {
    if (float(x) == 0.0f && !metal::isnan(float(y))) {
      return 0.0f;
    }
    return float(x) * c10::metal::log1p(float(y));
  }
};

// Chebyshev's polynomial of the first kind: cos(n acos x).
struct chebyshev_polynomial_t_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::chebyshev_polynomial_t_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::chebyshev_polynomial_t_forward(float(x), long(float(n)));
  }
};

// Chebyshev's polynomial of the second kind: sin((n + 1) acos x) / sin(acos x).
struct chebyshev_polynomial_u_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::chebyshev_polynomial_u_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::chebyshev_polynomial_u_forward(float(x), long(float(n)));
  }
};

// Chebyshev's polynomial of the third kind.
struct chebyshev_polynomial_v_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::chebyshev_polynomial_v_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::chebyshev_polynomial_v_forward(float(x), long(float(n)));
  }
};

// Chebyshev's polynomial of the fourth kind.
struct chebyshev_polynomial_w_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::chebyshev_polynomial_w_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::chebyshev_polynomial_w_forward(float(x), long(float(n)));
  }
};

// Chebyshev's polynomial of the first kind, of 2 x - 1.
struct shifted_chebyshev_polynomial_t_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::shifted_chebyshev_polynomial_t_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::shifted_chebyshev_polynomial_t_forward(
        float(x), long(float(n)));
  }
};

// Chebyshev's polynomial of the second kind, of 2 x - 1.
struct shifted_chebyshev_polynomial_u_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::shifted_chebyshev_polynomial_u_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::shifted_chebyshev_polynomial_u_forward(
        float(x), long(float(n)));
  }
};

// Chebyshev's polynomial of the third kind, of 2 x - 1.
struct shifted_chebyshev_polynomial_v_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::shifted_chebyshev_polynomial_v_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::shifted_chebyshev_polynomial_v_forward(
        float(x), long(float(n)));
  }
};

// Chebyshev's polynomial of the fourth kind, of 2 x - 1.
struct shifted_chebyshev_polynomial_w_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::shifted_chebyshev_polynomial_w_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::shifted_chebyshev_polynomial_w_forward(
        float(x), long(float(n)));
  }
};

// The physicists' Hermite polynomial.
struct hermite_polynomial_h_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::hermite_polynomial_h_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::hermite_polynomial_h_forward(float(x), long(float(n)));
  }
};

// The probabilists' Hermite polynomial.
struct hermite_polynomial_he_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    return static_cast<T>(
        c10::metal::hermite_polynomial_he_forward(float(x), long(n)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    return c10::metal::hermite_polynomial_he_forward(float(x), long(float(n)));
  }
};

// Laguerre's polynomial, by its recurrence for the steps from one degree to the
// next: near zero, where every polynomial is 1, the steps are small, and so are
// their errors. c10 has it from torch 2.15 on.
struct laguerre_polynomial_l_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    const long degree = long(n);
    if (degree < long(0)) {
      return T(0);
    }
    T value = T(1.0f);
    T step = T(0.0f);
    int k = 0;
    while (k < degree && !metal::isnan(float(value))) {
      step = (static_cast<T>(k) * step - x * value) /
          static_cast<T>(int(uint(k) + 1));
      value = value + step;
      k = int(uint(k) + 1);
    }
    return value;
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    const long degree = long(float(n));
    if (degree < long(0)) {
      return 0.0f;
    }
    float value = 1.0f;
    float step = 0.0f;
    int k = 0;
    while (k < degree && !metal::isnan(value)) {
      step = (float(k) * step - float(x) * value) / float(int(uint(k) + 1));
      value = value + step;
      k = int(uint(k) + 1);
    }
    return value;
  }
};

// start + weight * (end - start), counted from the nearer end: it is exactly
// `end` at weight one.
struct lerp_functor {
  template <typename U>
  static inline U wrapping_abs(const U a) {
    return a < U(0) ? static_cast<U>(-ulong(a)) : a;
  }

  template <typename U>
  static inline float complex_abs(const U z) {
    const float x = metal::fabs(float(z.x));
    const float y = metal::fabs(float(z.y));
    const float larger = metal::fmax(x, y);
    const float ratio = metal::fmin(x, y) / larger;
    if (larger == 0.0f) {
      return x + y;
    }
    if (metal::isinf(larger)) {
      return larger;
    }
    return metal::isnan(x) || metal::isnan(y)
        ? NAN
        : larger * precise::sqrt(1.0f + ratio * ratio);
  }

  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T start, const T end, const T weight) {
    if (static_cast<T>(metal::fabs(float(weight))) < T(0.5f)) {
      return start + weight * (end - start);
    }
    return end - (end - start) * (T(1) - weight);
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T start, const T end, const T weight) {
    if (float(wrapping_abs(weight)) < 0.5f) {
      return start + weight * (end - start);
    }
    return end - (end - start) * (T(1) - weight);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T start, const T end, const T weight) {
    if (complex_abs(weight) < 0.5f) {
      return start + c10::metal::mul(weight, end - start);
    }
    return end - c10::metal::mul(end - start, T(1.0f, 0.0f) - weight);
  }
};

#ifndef REGISTER_FLOAT_BINARY_OP
#define REGISTER_FLOAT_BINARY_OP(NAME)    \
  REGISTER_BINARY_OP(NAME, float, float); \
  REGISTER_BINARY_OP(NAME, half, half);   \
  REGISTER_BINARY_OP(NAME, bfloat, bfloat)
#endif

#ifndef REGISTER_INTEGER_BINARY_OP
#define REGISTER_INTEGER_BINARY_OP(NAME)  \
  REGISTER_BINARY_OP(NAME, long, long);   \
  REGISTER_BINARY_OP(NAME, int, int);     \
  REGISTER_BINARY_OP(NAME, short, short); \
  REGISTER_BINARY_OP(NAME, uchar, uchar); \
  REGISTER_BINARY_OP(NAME, char, char);   \
  REGISTER_BINARY_OP(NAME, bool, bool)
#endif

#ifndef REGISTER_INTEGER_BINARY_OP_NO_BOOL
#define REGISTER_INTEGER_BINARY_OP_NO_BOOL(NAME) \
  REGISTER_BINARY_OP(NAME, long, long);          \
  REGISTER_BINARY_OP(NAME, int, int);            \
  REGISTER_BINARY_OP(NAME, short, short);        \
  REGISTER_BINARY_OP(NAME, uchar, uchar);        \
  REGISTER_BINARY_OP(NAME, char, char)
#endif

#ifndef REGISTER_OPMATH_FLOAT_BINARY_OP
#define REGISTER_OPMATH_FLOAT_BINARY_OP(NAME)    \
  REGISTER_OPMATH_BINARY_OP(NAME, float, float); \
  REGISTER_OPMATH_BINARY_OP(NAME, half, half);   \
  REGISTER_OPMATH_BINARY_OP(NAME, bfloat, bfloat)
#endif

#ifndef REGISTER_INT2FLOAT_BINARY_OP
#define REGISTER_INT2FLOAT_BINARY_OP(NAME) \
  REGISTER_BINARY_OP(NAME, long, float);   \
  REGISTER_BINARY_OP(NAME, int, float);    \
  REGISTER_BINARY_OP(NAME, short, float);  \
  REGISTER_BINARY_OP(NAME, uchar, float);  \
  REGISTER_BINARY_OP(NAME, char, float);   \
  REGISTER_BINARY_OP(NAME, bool, float)
#endif

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

REGISTER_FLOAT_BINARY_OP(add);
REGISTER_INTEGER_BINARY_OP(add);
REGISTER_BINARY_OP(add, float2, float2);
REGISTER_BINARY_OP(add, half2, half2);

REGISTER_FLOAT_BINARY_OP(sub);
REGISTER_INTEGER_BINARY_OP_NO_BOOL(sub);
REGISTER_BINARY_OP(sub, float2, float2);
REGISTER_BINARY_OP(sub, half2, half2);

REGISTER_BINARY_ALPHA_OP(add_alpha, float, float, float);
REGISTER_BINARY_ALPHA_OP(add_alpha, half, half, half);
REGISTER_BINARY_ALPHA_OP(add_alpha, bfloat, bfloat, bfloat);
REGISTER_BINARY_ALPHA_OP(add_alpha, long, long, long);
REGISTER_BINARY_ALPHA_OP(add_alpha, int, int, int);
REGISTER_BINARY_ALPHA_OP(add_alpha, short, short, short);
REGISTER_BINARY_ALPHA_OP(add_alpha, uchar, uchar, uchar);
REGISTER_BINARY_ALPHA_OP(add_alpha, char, char, char);
REGISTER_BINARY_ALPHA_OP(add_alpha, bool, bool, bool);
REGISTER_BINARY_ALPHA_OP(add_alpha, float2, float2, float2);
REGISTER_BINARY_ALPHA_OP(add_alpha, half2, half2, half2);

REGISTER_OPMATH_FLOAT_BINARY_OP(mul);
REGISTER_INTEGER_BINARY_OP(mul);
REGISTER_BINARY_OP(mul, float2, float2);
REGISTER_OPMATH_BINARY_OP(mul, half2, half2);

REGISTER_BINARY_ALPHA_OP(lerp_alpha, float, float, float);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, half, float, half);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, bfloat, float, bfloat);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, long, long, long);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, int, int, int);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, short, short, short);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, uchar, uchar, uchar);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, char, char, char);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, bool, bool, bool);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, float2, float2, float2);
REGISTER_BINARY_ALPHA_OP(lerp_alpha, half2, half2, half2);

REGISTER_OPMATH_FLOAT_BINARY_OP(div_true);
REGISTER_INT2FLOAT_BINARY_OP(div_true);
REGISTER_BINARY_OP(div_true, float2, float2);
REGISTER_OPMATH_BINARY_OP(div_true, half2, half2);

REGISTER_FLOAT_BINARY_OP(div_floor);
REGISTER_INTEGER_BINARY_OP(div_floor);

REGISTER_FLOAT_BINARY_OP(div_trunc);
REGISTER_INTEGER_BINARY_OP(div_trunc);

REGISTER_FLOAT_BINARY_OP(remainder);
REGISTER_INTEGER_BINARY_OP(remainder);

REGISTER_FLOAT_BINARY_OP(fmod);
REGISTER_INTEGER_BINARY_OP(fmod);

REGISTER_INTEGER_BINARY_OP(gcd);

REGISTER_INTEGER_BINARY_OP(lcm);

REGISTER_FLOAT_BINARY_OP(fmax);

REGISTER_FLOAT_BINARY_OP(fmin);

REGISTER_FLOAT_BINARY_OP(maximum);
REGISTER_INTEGER_BINARY_OP(maximum);

REGISTER_FLOAT_BINARY_OP(minimum);
REGISTER_INTEGER_BINARY_OP(minimum);

REGISTER_FLOAT_BINARY_OP(heaviside);
REGISTER_INTEGER_BINARY_OP(heaviside);

REGISTER_FLOAT_BINARY_OP(copysign);
REGISTER_INT2FLOAT_BINARY_OP(copysign);

REGISTER_OPMATH_FLOAT_BINARY_OP(atan2);
REGISTER_INT2FLOAT_BINARY_OP(atan2);

REGISTER_OPMATH_FLOAT_BINARY_OP(hypot);

REGISTER_BINARY_OP(make_complex, float, float2);
REGISTER_BINARY_OP(make_complex, half, half2);

REGISTER_BINARY_OP(polar, float, float2);
REGISTER_BINARY_OP(polar, half, half2);

REGISTER_FLOAT_BINARY_OP(pow);
REGISTER_INTEGER_BINARY_OP(pow);
REGISTER_BINARY_OP(pow, float2, float2);
REGISTER_BINARY_OP(pow, half2, half2);

REGISTER_FLOAT_BINARY_OP(nextafter);

REGISTER_INTEGER_BINARY_OP(bitwise_and);

REGISTER_INTEGER_BINARY_OP(bitwise_or);

REGISTER_INTEGER_BINARY_OP(bitwise_xor);

REGISTER_INTEGER_BINARY_OP_NO_BOOL(bitwise_left_shift);

REGISTER_INTEGER_BINARY_OP_NO_BOOL(bitwise_right_shift);

REGISTER_COMPARISON_OP(eq);
REGISTER_BINARY_OP(eq, float2, bool);
REGISTER_BINARY_CASTOUT_OP(eq, float2, bool);
REGISTER_BINARY_OP(eq, half2, bool);
REGISTER_BINARY_CASTOUT_OP(eq, half2, bool);

REGISTER_COMPARISON_OP(ne);
REGISTER_BINARY_OP(ne, float2, bool);
REGISTER_BINARY_CASTOUT_OP(ne, float2, bool);
REGISTER_BINARY_OP(ne, half2, bool);
REGISTER_BINARY_CASTOUT_OP(ne, half2, bool);

REGISTER_COMPARISON_OP(lt);

REGISTER_COMPARISON_OP(le);

REGISTER_COMPARISON_OP(gt);

REGISTER_COMPARISON_OP(ge);

REGISTER_COMPARISON_OP(logical_and);
REGISTER_BINARY_OP(logical_and, float2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, float2, bool);
REGISTER_BINARY_OP(logical_and, half2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_and, half2, bool);

REGISTER_COMPARISON_OP(logical_or);
REGISTER_BINARY_OP(logical_or, float2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, float2, bool);
REGISTER_BINARY_OP(logical_or, half2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_or, half2, bool);

REGISTER_COMPARISON_OP(logical_xor);
REGISTER_BINARY_OP(logical_xor, float2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, float2, bool);
REGISTER_BINARY_OP(logical_xor, half2, bool);
REGISTER_BINARY_CASTOUT_OP(logical_xor, half2, bool);

REGISTER_OPMATH_FLOAT_BINARY_OP(zeta);
REGISTER_INT2FLOAT_BINARY_OP(zeta);

REGISTER_FLOAT_BINARY_OP(igamma);

REGISTER_FLOAT_BINARY_OP(igammac);

REGISTER_OPMATH_FLOAT_BINARY_OP(logaddexp);
REGISTER_INT2FLOAT_BINARY_OP(logaddexp);
REGISTER_BINARY_OP(logaddexp, float2, float2);
REGISTER_OPMATH_BINARY_OP(logaddexp, half2, half2);

REGISTER_OPMATH_FLOAT_BINARY_OP(logaddexp2);
REGISTER_INT2FLOAT_BINARY_OP(logaddexp2);

REGISTER_OPMATH_FLOAT_BINARY_OP(xlogy);
REGISTER_INT2FLOAT_BINARY_OP(xlogy);

REGISTER_OPMATH_FLOAT_BINARY_OP(xlog1py);
REGISTER_INT2FLOAT_BINARY_OP(xlog1py);

REGISTER_FLOAT_BINARY_OP(chebyshev_polynomial_t);
REGISTER_INT2FLOAT_BINARY_OP(chebyshev_polynomial_t);

REGISTER_FLOAT_BINARY_OP(chebyshev_polynomial_u);
REGISTER_INT2FLOAT_BINARY_OP(chebyshev_polynomial_u);

REGISTER_FLOAT_BINARY_OP(chebyshev_polynomial_v);
REGISTER_INT2FLOAT_BINARY_OP(chebyshev_polynomial_v);

REGISTER_FLOAT_BINARY_OP(chebyshev_polynomial_w);
REGISTER_INT2FLOAT_BINARY_OP(chebyshev_polynomial_w);

REGISTER_FLOAT_BINARY_OP(shifted_chebyshev_polynomial_t);
REGISTER_INT2FLOAT_BINARY_OP(shifted_chebyshev_polynomial_t);

REGISTER_FLOAT_BINARY_OP(shifted_chebyshev_polynomial_u);
REGISTER_INT2FLOAT_BINARY_OP(shifted_chebyshev_polynomial_u);

REGISTER_FLOAT_BINARY_OP(shifted_chebyshev_polynomial_v);
REGISTER_INT2FLOAT_BINARY_OP(shifted_chebyshev_polynomial_v);

REGISTER_FLOAT_BINARY_OP(shifted_chebyshev_polynomial_w);
REGISTER_INT2FLOAT_BINARY_OP(shifted_chebyshev_polynomial_w);

REGISTER_FLOAT_BINARY_OP(hermite_polynomial_h);
REGISTER_INT2FLOAT_BINARY_OP(hermite_polynomial_h);

REGISTER_FLOAT_BINARY_OP(hermite_polynomial_he);
REGISTER_INT2FLOAT_BINARY_OP(hermite_polynomial_he);

REGISTER_OPMATH_FLOAT_BINARY_OP(laguerre_polynomial_l);
REGISTER_INT2FLOAT_BINARY_OP(laguerre_polynomial_l);

REGISTER_OPMATH_TERNARY_OP(lerp, float, float);
REGISTER_OPMATH_TERNARY_OP(lerp, half, half);
REGISTER_OPMATH_TERNARY_OP(lerp, bfloat, bfloat);
REGISTER_TERNARY_OP(lerp, long, long);
REGISTER_TERNARY_OP(lerp, float2, float2);
