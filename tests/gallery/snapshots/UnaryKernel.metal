// Needs torch 2.11: pow.

#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

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

// e to the power of x.
struct exp_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::exp(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::exp(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_exp(float2(z)));
  }
};

// 2 to the power of x.
struct exp2_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::exp2(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::exp2(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    const float length = precise::exp2(float2(z).x);
    return static_cast<T>(float2(
        length * precise::cos(0.6931472f * float2(z).y),
        length * precise::sin(0.6931472f * float2(z).y)));
  }
};

// e to the power of x, minus one; precise near zero.
struct expm1_functor {
  static inline float exp_minus_one(const float x) {
    const float e = precise::exp(x);
    if (metal::fabs(x) > 0.5f || e == 1.0f) {
      return e == 1.0f ? x : e - 1.0f;
    }
    return (e - 1.0f) * (x / precise::log(e));
  }

  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(exp_minus_one(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return exp_minus_one(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    const float sine = precise::sin(0.5f * float2(z).y);
    return static_cast<T>(float2(
        exp_minus_one(float2(z).x) * precise::cos(float2(z).y) -
            2.0f * sine * sine,
        precise::exp(float2(z).x) * precise::sin(float2(z).y)));
  }
};

// z / i = -i z.
inline float2 divided_by_i(const float2 z) {
  return float2(z.y, -z.x);
}

// sinh x cos y + i cosh x sin y.
inline float2 complex_sinh(const float2 z) {
  if (z.y == 0.0f) {
    return float2(precise::sinh(z.x), z.y);
  }
  if (metal::fabs(z.x) < 20.0f) {
    return float2(
        precise::sinh(z.x) * precise::cos(z.y),
        precise::cosh(z.x) * precise::sin(z.y));
  }
  const float half_ = precise::exp(0.5f * metal::fabs(z.x));
  const float sine = 0.5f * half_ * precise::sin(z.y);
  const float cosine = 0.5f * half_ * precise::cos(z.y);
  return float2(precise::copysign(1.0f, z.x) * cosine * half_, sine * half_);
}

// i z.
inline float2 times_i(const float2 z) {
  return float2(-z.y, z.x);
}

// Sine.
struct sin_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::sin(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::sin(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(divided_by_i(complex_sinh(times_i(float2(z)))));
  }
};

// cosh x cos y + i sinh x sin y.
inline float2 complex_cosh(const float2 z) {
  if (z.y == 0.0f) {
    return float2(precise::cosh(z.x), z.x * z.y);
  }
  if (metal::fabs(z.x) < 20.0f) {
    return float2(
        precise::cosh(z.x) * precise::cos(z.y),
        precise::sinh(z.x) * precise::sin(z.y));
  }
  const float half_ = precise::exp(0.5f * metal::fabs(z.x));
  const float sine = 0.5f * half_ * precise::sin(z.y);
  const float cosine = 0.5f * half_ * precise::cos(z.y);
  return float2(cosine * half_, precise::copysign(1.0f, z.x) * sine * half_);
}

// Cosine.
struct cos_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::cos(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::cos(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_cosh(times_i(float2(z))));
  }
};

// Kahan's formula, in tan y and sinh x; beyond |x| = 10 the real part is one,
// and the imaginary one nearly zero.
inline float2 complex_tanh(const float2 z) {
  if (metal::fabs(z.x) > 10.0f) {
    const float decay = precise::exp(-metal::fabs(z.x));
    return float2(
        precise::copysign(1.0f, z.x),
        4.0f * precise::sin(z.y) * precise::cos(z.y) * decay * decay);
  }
  const float tangent = precise::tan(z.y);
  const float sine = precise::sinh(z.x);
  const float slope = 1.0f + tangent * tangent;
  const float length = precise::sqrt(1.0f + sine * sine);
  const float divisor = 1.0f + slope * sine * sine;
  if (metal::isinf(tangent)) {
    return float2(length / sine, 1.0f / tangent);
  }
  return float2(slope * length * sine / divisor, tangent / divisor);
}

// Tangent.
struct tan_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::tan(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::tan(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(divided_by_i(complex_tanh(times_i(float2(z)))));
  }
};

// Hyperbolic sine.
struct sinh_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::sinh(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::sinh(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_sinh(float2(z)));
  }
};

// Hyperbolic cosine.
struct cosh_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::cosh(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::cosh(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_cosh(float2(z)));
  }
};

// Hyperbolic tangent.
struct tanh_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::tanh(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::tanh(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_tanh(float2(z)));
  }
};

inline float complex_sqrt_hypotenuse(const float a, const float b) {
  const float x = metal::fabs(a);
  const float y = metal::fabs(b);
  const float larger = metal::fmax(x, y);
  if (larger == 0.0f || metal::isinf(larger) || metal::isnan(x + y)) {
    return metal::isinf(larger) ? larger : x + y;
  }
  const float ratio = metal::fmin(x, y) / larger;
  return larger * precise::sqrt(1.0f + ratio * ratio);
}

// The root whose real part is not negative. The part that does not cancel is
// computed, and gives the other one.
inline float2 complex_sqrt(const float2 z) {
  if (metal::isinf(z.y)) {
    return float2(INFINITY, z.y);
  }
  if (z.x == 0.0f && z.y == 0.0f) {
    return float2(0.0f, z.y);
  }
  const bool tiny = complex_sqrt_hypotenuse(z.x, z.y) < 1e-30f;
  const float scale = tiny ? 1099511600000.0f : 1.0f;
  const float x = z.x * static_cast<float>(scale);
  const float y = z.y * static_cast<float>(scale);
  const float part = precise::sqrt(
      0.5f * metal::fabs(x) + 0.5f * complex_sqrt_hypotenuse(x, y));
  const float other = 0.5f * y / part;
  const float down = tiny ? 9.536743e-07f : 1.0f;
  if (z.x >= 0.0f) {
    return float2(
        part * static_cast<float>(down), other * static_cast<float>(down));
  }
  return float2(
      metal::fabs(other) * static_cast<float>(down),
      precise::copysign(part, z.y) * static_cast<float>(down));
}

// The inverse of sinh, exact near zero and without a square that overflows.
inline float real_asinh(const float x) {
  const float size = metal::fabs(x);
  if (size > 1000000000.0f) {
    return precise::copysign(precise::log(size) + 0.6931472f, x);
  }
  return precise::copysign(
      c10::metal::log1p(
          size + size * size / (1.0f + precise::sqrt(1.0f + size * size))),
      x);
}

// Kahan's formula: of the roots of 1 - z and 1 + z, only sums of one sign are
// formed.
inline float2 complex_asin(const float2 z) {
  const float2 r = complex_sqrt(float2(1.0f, 0.0f) - z);
  const float2 s = complex_sqrt(float2(1.0f, 0.0f) + z);
  return float2(
      precise::atan2(z.x, r.x * s.x - r.y * s.y),
      real_asinh(r.x * s.y - r.y * s.x));
}

// Inverse sine.
struct asin_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::asin(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::asin(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_asin(float2(z)));
  }
};

// Kahan's formula, as for the inverse sine.
inline float2 complex_acos(const float2 z) {
  const float2 r = complex_sqrt(float2(1.0f, 0.0f) - z);
  const float2 s = complex_sqrt(float2(1.0f, 0.0f) + z);
  return float2(
      2.0f * precise::atan2(r.x, s.x), real_asinh(s.x * r.y - s.y * r.x));
}

// Inverse cosine.
struct acos_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::acos(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::acos(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_acos(float2(z)));
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

// The real part by the angle of (1 - |z|^2, 2 x), the imaginary part by the
// distances to i and -i.
inline float2 complex_atan(const float2 z) {
  const float x = z.x;
  const float y = metal::fabs(z.y);
  if (metal::fabs(x) > 1000000000.0f || y > 1000000000.0f) {
    return float2(
        precise::copysign(1.5707964f, x), -divide_(float2(1.0f, 0.0f), z).y);
  }
  const float real =
      0.5f * precise::atan2(2.0f * x, -square_of_length_minus_one(x, y));
  const float imag =
      0.25f * c10::metal::log1p(4.0f * y / (x * x + (1.0f - y) * (1.0f - y)));
  return float2(real, precise::copysign(imag, z.y));
}

// Inverse tangent.
struct atan_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::atan(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::atan(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_atan(float2(z)));
  }
};

// Square root.
struct sqrt_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::sqrt(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::sqrt(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_sqrt(float2(z)));
  }
};

// 1 / x.
struct reciprocal_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(1.0f / float(x));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return 1.0f / float(x);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(divide_(float2(1.0f, 0.0f), float2(z)));
  }
};

// 1 / sqrt(x).
struct rsqrt_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(1.0f / precise::sqrt(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return 1.0f / precise::sqrt(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(divide_(float2(1.0f, 0.0f), complex_sqrt(float2(z))));
  }
};

// 1 / (1 + e^-x), by e^x for negative x, which does not overflow.
inline float logistic(const float x) {
  const float power = precise::exp(-metal::fabs(x));
  return x >= 0.0f ? 1.0f / (1.0f + power) : power / (1.0f + power);
}

// 1 / (1 + e^-x).
struct sigmoid_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(logistic(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return logistic(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(divide_(
        float2(1.0f, 0.0f), float2(1.0f, 0.0f) + complex_exp(-float2(z))));
  }
};

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

// Natural logarithm.
struct log_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::log(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::log(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_log(float2(z)));
  }
};

// Logarithm to base 2.
struct log2_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::log2(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::log2(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(
        c10::metal::mul(complex_log(float2(z)), float2(1.442695f, 0.0f)));
  }
};

// Logarithm to base 10.
struct log10_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(precise::log10(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return precise::log10(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(
        c10::metal::mul(complex_log(float2(z)), float2(0.4342945f, 0.0f)));
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

// Natural logarithm of 1 + x; precise near zero.
struct log1p_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(c10::metal::log1p(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return c10::metal::log1p(float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return static_cast<T>(complex_log1p_(float2(z)));
  }
};

// x squared.
struct sqr_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(float(x) * float(x));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T x) {
    return x * x;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(c10::metal::mul(float2(x), float2(x)));
  }
};

// -x.
struct neg_functor {
  template <typename T>
  inline T operator()(const T x) {
    return -x;
  }
};

// The angle of x in the complex plane: 0, or pi for negative numbers; NaN
// stays. Of complex numbers, the host asks for a complex one.
struct angle_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return metal::isnan(float(x))
        ? x
        : static_cast<T>(x < T(0) ? 3.1415927f : 0.0f);
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return float(x < T(0) ? 3.1415927f : 0.0f);
  }

  inline float operator()(const bool x) {
    return float(long(x) < long(0) ? 3.1415927f : 0.0f);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return T(
        static_cast<conditional_t<is_same_v<T, half2>, half, float>>(
            precise::atan2(float(z.y), float(z.x))),
        conditional_t<is_same_v<T, half2>, half, float>(0));
  }
};

// The largest integer that is not above x.
struct floor_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(metal::floor(float(x)));
  }
};

// The smallest integer that is not below x.
struct ceil_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(metal::ceil(float(x)));
  }
};

// x without its fraction.
struct trunc_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(metal::trunc(float(x)));
  }
};

// x rounded to `decimals` places after the point, or before it if that is
// negative; halves to even.
struct round_decimals_functor {
  template <typename U>
  static inline U wrapping_abs(const U a) {
    return a < U(0) ? static_cast<U>(-ulong(a)) : a;
  }

  template <typename T>
  inline T operator()(const T x, const long decimals) {
    const float power = precise::pow(10.0f, float(wrapping_abs(decimals)));
    const float value = float(x);
    if (decimals < long(0)) {
      return static_cast<T>(metal::rint(value / power) * power);
    }
    const float scaled = value * power;
    return metal::isinf(scaled) ? x
                                : static_cast<T>(metal::rint(scaled) / power);
  }
};

// True where x is zero.
struct logical_not_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T x) {
    return x == T(0);
  }

  inline bool operator()(const bool x) {
    return long(x) == long(0);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline bool operator()(const T x) {
    return metal::all(x == T(0.0f, 0.0f));
  }
};

// All bits inverted; of a truth value, the other one.
struct bitwise_not_functor {
  template <typename T>
  inline T operator()(const T x) {
    return ~x;
  }

  inline bool operator()(const bool x) {
    return !x;
  }
};

// One part of a complex number.
inline float replaced(
    const float x,
    const float nan,
    const float posinf,
    const float neginf) {
  if (metal::isnan(x)) {
    return nan;
  }
  return metal::isinf(x) ? (x > 0.0f ? posinf : neginf) : x;
}

template <typename T>
struct nan_to_num_params {
  float nan;
  float posinf;
  float neginf;
};

using nan_to_num_params_float = nan_to_num_params<float>;

// x, with `nan`, `posinf` and `neginf` in place of what is not finite.
struct nan_to_num_functor {
  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T x, const nan_to_num_params<float> params) {
    if (metal::isnan(float(x))) {
      return static_cast<T>(params.nan);
    }
    if (metal::isinf(float(x))) {
      return static_cast<T>(x > T(0) ? params.posinf : params.neginf);
    }
    return x;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z, const nan_to_num_params<float> params) {
    const float2 parts = float2(
        replaced(float(z.x), params.nan, params.posinf, params.neginf),
        replaced(float(z.y), params.nan, params.posinf, params.neginf));
    return static_cast<T>(parts);
  }
};

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

// x to the power of a number.
struct pow_scalar_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const float exponent) {
    return static_cast<T>(precise::pow(float(x), exponent));
  }

  template <
      typename T,
      enable_if_t<is_integral_v<T> && is_signed_v<T>, bool> = true>
  inline T operator()(const T x, const int exponent) {
    return static_cast<T>(c10::metal::pow(
        static_cast<c10::metal::opmath_t<T>>(x),
        static_cast<c10::metal::opmath_t<T>>(exponent)));
  }

  template <
      typename T,
      enable_if_t<is_integral_v<T> && !is_signed_v<T>, bool> = true>
  inline T operator()(const T x, const int exponent) {
    return static_cast<T>(c10::metal::pow(int(x), exponent));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z, const float2 exponent) {
    return static_cast<T>(complex_pow_(float2(z), exponent));
  }
};

// |x|; the length of a complex number, without a square that overflows. The
// host asks for a complex one.
struct abs_functor {
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
  inline T operator()(const T x) {
    return static_cast<T>(metal::fabs(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T x) {
    return metal::abs(x);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    return T(
        complex_abs(z), conditional_t<is_same_v<T, half2>, half, float>(0));
  }
};

// The nearest integer, halves to even.
struct round_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(metal::rint(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline T operator()(const T x) {
    return x;
  }
};

// The error function.
struct erf_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(c10::metal::erf(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return c10::metal::erf(float(x));
  }
};

// e^(x^2); the rounding error of the square, which the power would blow up, is
// added back.
inline float exp_square(const float x) {
  const float square = x * x;
  const float rest = metal::fma(x, x, -square);
  return square < 89.0f ? precise::exp(square) * (1.0f + rest) : INFINITY;
}

// e^(x^2) erfc(x) for x >= 0: from 1/2 on, a polynomial in (x - 2) / (x + 2),
// which has no large argument.
inline float scaled_erfc(const float x) {
  if (x < 0.5f) {
    return (1.0f - c10::metal::erf(x)) * exp_square(x);
  }
  if (x > 10000000000.0f) {
    return 0.5641896f / x;
  }
  const float argument = (x - 2.0f) / (x + 2.0f);
  return (((((((((((((((4.439878e-06f * argument + -5.490831e-07f) * argument +
                       -3.547052e-05f) *
                          argument +
                      -1.8334693e-05f) *
                         argument +
                     0.00014951186f) *
                        argument +
                    0.00021893057f) *
                       argument +
                   -0.00045345802f) *
                      argument +
                  -0.0014622709f) *
                     argument +
                 0.0012710909f) *
                    argument +
                0.008723978f) *
                   argument +
               -0.0080339825f) *
                  argument +
              -0.054220162f) *
                 argument +
             0.16405128f) *
                argument +
            -0.16603039f) *
               argument +
           -0.092763826f) *
              argument +
          1.2769784f) /
      (1.0f + 2.0f * x);
}

// e^(-x^2), in the same way.
inline float exp_minus_square(const float x) {
  const float square = x * x;
  const float rest = metal::fma(x, x, -square);
  if (metal::isinf(square)) {
    return 0.0f;
  }
  return precise::exp(-square) * (1.0f - rest);
}

// 1 - erf(x), without the subtraction where it would cancel.
inline float complementary_erf(const float x) {
  if (x < 0.5f) {
    return 1.0f - c10::metal::erf(x);
  }
  return scaled_erfc(x) * exp_minus_square(x);
}

// 1 - erf(x). By erfcx from 1/2 on, as c10's subtraction has no digit left from
// 4 on.
struct erfc_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(complementary_erf(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return complementary_erf(float(x));
  }
};

// e^(x^2) erfc(x). Of negative numbers by 2 e^(x^2) - erfcx(-x), with the
// rounding of the square added back.
struct erfcx_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(
        float(x) >= 0.0f
            ? scaled_erfc(float(x))
            : 2.0f * exp_square(float(x)) - scaled_erfc(-float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return float(x) >= 0.0f
        ? scaled_erfc(float(x))
        : 2.0f * exp_square(float(x)) - scaled_erfc(-float(x));
  }
};

// The x with erf(x) = y, for |y| up to 1/2: two terms of the series, then
// Newton's method.
inline float inverse_erf(const float y) {
  float x = 0.88622695f * y * (1.0f + 0.2617994f * y * y);
  x = x - (c10::metal::erf(x) - y) * 0.88622695f * precise::exp(x * x);
  x = x - (c10::metal::erf(x) - y) * 0.88622695f * precise::exp(x * x);
  return x;
}

// The x with erfc(x) = q, for q up to 1/2: Newton's method on log erfc, which
// is nearly a parabola.
inline float inverse_erfc(const float q) {
  const float target = precise::log(q);
  float x = precise::sqrt(-target) - 0.3f;
  float scaled = scaled_erfc(x);
  x = x + (precise::log(scaled) - x * x - target) * scaled * 0.88622695f;
  scaled = scaled_erfc(x);
  x = x + (precise::log(scaled) - x * x - target) * scaled * 0.88622695f;
  scaled = scaled_erfc(x);
  x = x + (precise::log(scaled) - x * x - target) * scaled * 0.88622695f;
  scaled = scaled_erfc(x);
  x = x + (precise::log(scaled) - x * x - target) * scaled * 0.88622695f;
  return x;
}

// The inverse of erf, by Newton's method: on erf itself near zero, on erfc near
// one, where 1 - |y| is exact. c10's is the first guess alone.
struct erfinv_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T y) {
    const float size = metal::fabs(float(y));
    if (size > 1.0f || metal::isnan(float(y))) {
      return T(NAN);
    }
    if (size == 1.0f) {
      return static_cast<T>(precise::copysign(INFINITY, float(y)));
    }
    return static_cast<T>(
        size <= 0.5f ? inverse_erf(float(y))
                     : precise::copysign(inverse_erfc(1.0f - size), float(y)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T y) {
    const float size = metal::fabs(float(y));
    if (size > 1.0f || metal::isnan(float(y))) {
      return NAN;
    }
    if (size == 1.0f) {
      return precise::copysign(INFINITY, float(y));
    }
    return size <= 0.5f
        ? inverse_erf(float(y))
        : precise::copysign(inverse_erfc(1.0f - size), float(y));
  }
};

// log gamma(2 + w) for |w| up to 1/2.
inline float log_gamma_near_two(const float w) {
  return w *
      (((((((((((((((9.551412e-07f * w + -2.0392158e-06f) * w + 4.374867e-06f) *
                       w +
                   -9.439488e-06f) *
                      w +
                  2.0507212e-05f) *
                     w +
                 -4.4926237e-05f) *
                    w +
                9.945751e-05f) *
                   w +
               -0.00022315476f) *
                  w +
              0.00050966954f) *
                 w +
             -0.0011927539f) *
                w +
            0.0028905103f) *
               w +
           -0.007385551f) *
              w +
          0.020580808f) *
             w +
         -0.0673523f) *
            w +
        0.32246703f) *
           w +
       0.42278433f);
}

// log gamma(1 + w) for |w| up to 1/2.
inline float log_gamma_near_one(const float w) {
  return log_gamma_near_two(w) - c10::metal::log1p(w);
}

// log gamma(x): a series around two, stretched by gamma(x + 1) = x gamma(x),
// and Stirling's formula from 8 on.
inline float log_gamma_of_positive(const float x) {
  if (x < 0.5f) {
    return log_gamma_near_one(x) - precise::log(x);
  }
  if (x < 1.5f) {
    return log_gamma_near_one(x - 1.0f);
  }
  if (x < 8.0f) {
    float factor = 1.0f;
    float rest = x;
    while (rest > 2.5f) {
      rest = rest - 1.0f;
      factor = factor * rest;
    }
    return log_gamma_near_two(rest - 2.0f) + precise::log(factor);
  }
  if (metal::isinf(x)) {
    return x;
  }
  const float inverse = 1.0f / x;
  const float square = inverse * inverse;
  const float correction =
      inverse * (0.083333336f - square * (0.0027777778f - square / 1260.0f));
  return (x - 0.5f) * (precise::log(x) - 1.0f) + (0.41893855f + correction);
}

// log |gamma(x)|; negative numbers by reflection. Infinite at 0, -1, -2, ...
inline float log_gamma_(const float x) {
  if (x > 0.0f || metal::isnan(x)) {
    return log_gamma_of_positive(x);
  }
  if (x == metal::floor(x)) {
    return INFINITY;
  }
  return precise::log(3.1415927f / metal::fabs(precise::sinpi(x))) -
      log_gamma_of_positive(1.0f - x);
}

// log |gamma(x)|, with its digits near the zeros at 1 and 2.
struct lgamma_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(log_gamma_(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return log_gamma_(float(x));
  }
};

// The derivative of log gamma: moved up to 8 by digamma(x + 1) = digamma(x) + 1
// / x, then Stirling's formula.
inline float digamma_of_positive(const float x) {
  float moved = x;
  float steps = 0.0f;
  while (moved < 8.0f) {
    steps = steps + 1.0f / moved;
    moved = moved + 1.0f;
  }
  const float square = 1.0f / (moved * moved);
  const float correction = 0.5f / moved +
      square *
          (0.083333336f -
           square * (0.008333334f - square * (0.003968254f - square / 240.0f)));
  return precise::log(moved) - correction - steps;
}

// Digamma; negative numbers by reflection. NaN at -1, -2, ..., and at zero the
// infinity of its side.
inline float digamma_of(const float x) {
  if (x > 0.0f || metal::isnan(x)) {
    return digamma_of_positive(x);
  }
  if (x == 0.0f) {
    return precise::copysign(INFINITY, -x);
  }
  if (x == metal::floor(x)) {
    return NAN;
  }
  return digamma_of_positive(1.0f - x) - 3.1415927f / precise::tanpi(x);
}

// The derivative of lgamma.
struct digamma_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(digamma_of(float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return digamma_of(float(x));
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

// The derivative of digamma: the sum of 1 / (x + k)^2.
struct trigamma_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(hurwitz_zeta(2.0f, float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return hurwitz_zeta(2.0f, float(x));
  }
};

// The derivative of digamma of order n: (-1)^(n + 1) n! zeta(n + 1, x).
// Infinite at the poles; NaN for n < 0.
struct polygamma_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const int n) {
    if (n <= 0) {
      return static_cast<T>(n == 0 ? digamma_of(float(x)) : NAN);
    }
    const float size = precise::exp(log_gamma_(float(n) + 1.0f)) *
        hurwitz_zeta(float(n) + 1.0f, float(x));
    return static_cast<T>(c10::metal::remainder(n, 2) == 1 ? size : -size);
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const int n) {
    if (n <= 0) {
      return n == 0 ? digamma_of(float(x)) : NAN;
    }
    const float size = precise::exp(log_gamma_(float(n) + 1.0f)) *
        hurwitz_zeta(float(n) + 1.0f, float(x));
    return c10::metal::remainder(n, 2) == 1 ? size : -size;
  }
};

// sin(pi x) / (pi x), and 1 at zero. The sine of half turns is zero at every
// integer; upstream's product is not.
struct sinc_functor {
  template <
      typename T,
      enable_if_t<c10::metal::is_scalar_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(
        float(x) == 0.0f ? 1.0f
                         : precise::sinpi(float(x)) / (3.1415927f * float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return float(x) == 0.0f
        ? 1.0f
        : precise::sinpi(float(x)) / (3.1415927f * float(x));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    if (metal::all(float2(z) == float2(0.0f, 0.0f))) {
      return T(1.0f, 0.0f);
    }
    const float y = 3.1415927f * float2(z).y;
    const float2 sine = float2(
        precise::sinpi(float2(z).x) * precise::cosh(y),
        precise::cospi(float2(z).x) * precise::sinh(y));
    return static_cast<T>(
        divide_(sine, c10::metal::mul(float2(z), float2(3.1415927f, 0.0f))));
  }
};

REGISTER_UNARY_OP(exp, float, float);
REGISTER_UNARY_OP(exp, half, half);
REGISTER_UNARY_OP(exp, bfloat, bfloat);
REGISTER_UNARY_OP(exp, long, float);
REGISTER_UNARY_OP(exp, int, float);
REGISTER_UNARY_OP(exp, short, float);
REGISTER_UNARY_OP(exp, uchar, float);
REGISTER_UNARY_OP(exp, char, float);
REGISTER_UNARY_OP(exp, bool, float);
REGISTER_UNARY_OP(exp, float2, float2);
REGISTER_UNARY_OP(exp, half2, half2);

REGISTER_UNARY_OP(exp2, float, float);
REGISTER_UNARY_OP(exp2, half, half);
REGISTER_UNARY_OP(exp2, bfloat, bfloat);
REGISTER_UNARY_OP(exp2, long, float);
REGISTER_UNARY_OP(exp2, int, float);
REGISTER_UNARY_OP(exp2, short, float);
REGISTER_UNARY_OP(exp2, uchar, float);
REGISTER_UNARY_OP(exp2, char, float);
REGISTER_UNARY_OP(exp2, bool, float);
REGISTER_UNARY_OP(exp2, float2, float2);
REGISTER_UNARY_OP(exp2, half2, half2);

REGISTER_UNARY_OP(expm1, float, float);
REGISTER_UNARY_OP(expm1, half, half);
REGISTER_UNARY_OP(expm1, bfloat, bfloat);
REGISTER_UNARY_OP(expm1, long, float);
REGISTER_UNARY_OP(expm1, int, float);
REGISTER_UNARY_OP(expm1, short, float);
REGISTER_UNARY_OP(expm1, uchar, float);
REGISTER_UNARY_OP(expm1, char, float);
REGISTER_UNARY_OP(expm1, bool, float);
REGISTER_UNARY_OP(expm1, float2, float2);
REGISTER_UNARY_OP(expm1, half2, half2);

REGISTER_UNARY_OP(sin, float, float);
REGISTER_UNARY_OP(sin, half, half);
REGISTER_UNARY_OP(sin, bfloat, bfloat);
REGISTER_UNARY_OP(sin, long, float);
REGISTER_UNARY_OP(sin, int, float);
REGISTER_UNARY_OP(sin, short, float);
REGISTER_UNARY_OP(sin, uchar, float);
REGISTER_UNARY_OP(sin, char, float);
REGISTER_UNARY_OP(sin, bool, float);
REGISTER_UNARY_OP(sin, float2, float2);
REGISTER_UNARY_OP(sin, half2, half2);

REGISTER_UNARY_OP(cos, float, float);
REGISTER_UNARY_OP(cos, half, half);
REGISTER_UNARY_OP(cos, bfloat, bfloat);
REGISTER_UNARY_OP(cos, long, float);
REGISTER_UNARY_OP(cos, int, float);
REGISTER_UNARY_OP(cos, short, float);
REGISTER_UNARY_OP(cos, uchar, float);
REGISTER_UNARY_OP(cos, char, float);
REGISTER_UNARY_OP(cos, bool, float);
REGISTER_UNARY_OP(cos, float2, float2);
REGISTER_UNARY_OP(cos, half2, half2);

REGISTER_UNARY_OP(tan, float, float);
REGISTER_UNARY_OP(tan, half, half);
REGISTER_UNARY_OP(tan, bfloat, bfloat);
REGISTER_UNARY_OP(tan, long, float);
REGISTER_UNARY_OP(tan, int, float);
REGISTER_UNARY_OP(tan, short, float);
REGISTER_UNARY_OP(tan, uchar, float);
REGISTER_UNARY_OP(tan, char, float);
REGISTER_UNARY_OP(tan, bool, float);
REGISTER_UNARY_OP(tan, float2, float2);
REGISTER_UNARY_OP(tan, half2, half2);

REGISTER_UNARY_OP(sinh, float, float);
REGISTER_UNARY_OP(sinh, half, half);
REGISTER_UNARY_OP(sinh, bfloat, bfloat);
REGISTER_UNARY_OP(sinh, long, float);
REGISTER_UNARY_OP(sinh, int, float);
REGISTER_UNARY_OP(sinh, short, float);
REGISTER_UNARY_OP(sinh, uchar, float);
REGISTER_UNARY_OP(sinh, char, float);
REGISTER_UNARY_OP(sinh, bool, float);
REGISTER_UNARY_OP(sinh, float2, float2);
REGISTER_UNARY_OP(sinh, half2, half2);

REGISTER_UNARY_OP(cosh, float, float);
REGISTER_UNARY_OP(cosh, half, half);
REGISTER_UNARY_OP(cosh, bfloat, bfloat);
REGISTER_UNARY_OP(cosh, long, float);
REGISTER_UNARY_OP(cosh, int, float);
REGISTER_UNARY_OP(cosh, short, float);
REGISTER_UNARY_OP(cosh, uchar, float);
REGISTER_UNARY_OP(cosh, char, float);
REGISTER_UNARY_OP(cosh, bool, float);
REGISTER_UNARY_OP(cosh, float2, float2);
REGISTER_UNARY_OP(cosh, half2, half2);

REGISTER_UNARY_OP(tanh, float, float);
REGISTER_UNARY_OP(tanh, half, half);
REGISTER_UNARY_OP(tanh, bfloat, bfloat);
REGISTER_UNARY_OP(tanh, long, float);
REGISTER_UNARY_OP(tanh, int, float);
REGISTER_UNARY_OP(tanh, short, float);
REGISTER_UNARY_OP(tanh, uchar, float);
REGISTER_UNARY_OP(tanh, char, float);
REGISTER_UNARY_OP(tanh, bool, float);
REGISTER_UNARY_OP(tanh, float2, float2);
REGISTER_UNARY_OP(tanh, half2, half2);

REGISTER_UNARY_OP(asin, float, float);
REGISTER_UNARY_OP(asin, half, half);
REGISTER_UNARY_OP(asin, bfloat, bfloat);
REGISTER_UNARY_OP(asin, long, float);
REGISTER_UNARY_OP(asin, int, float);
REGISTER_UNARY_OP(asin, short, float);
REGISTER_UNARY_OP(asin, uchar, float);
REGISTER_UNARY_OP(asin, char, float);
REGISTER_UNARY_OP(asin, bool, float);
REGISTER_UNARY_OP(asin, float2, float2);
REGISTER_UNARY_OP(asin, half2, half2);

REGISTER_UNARY_OP(acos, float, float);
REGISTER_UNARY_OP(acos, half, half);
REGISTER_UNARY_OP(acos, bfloat, bfloat);
REGISTER_UNARY_OP(acos, long, float);
REGISTER_UNARY_OP(acos, int, float);
REGISTER_UNARY_OP(acos, short, float);
REGISTER_UNARY_OP(acos, uchar, float);
REGISTER_UNARY_OP(acos, char, float);
REGISTER_UNARY_OP(acos, bool, float);
REGISTER_UNARY_OP(acos, float2, float2);
REGISTER_UNARY_OP(acos, half2, half2);

REGISTER_UNARY_OP(atan, float, float);
REGISTER_UNARY_OP(atan, half, half);
REGISTER_UNARY_OP(atan, bfloat, bfloat);
REGISTER_UNARY_OP(atan, long, float);
REGISTER_UNARY_OP(atan, int, float);
REGISTER_UNARY_OP(atan, short, float);
REGISTER_UNARY_OP(atan, uchar, float);
REGISTER_UNARY_OP(atan, char, float);
REGISTER_UNARY_OP(atan, bool, float);
REGISTER_UNARY_OP(atan, float2, float2);
REGISTER_UNARY_OP(atan, half2, half2);

REGISTER_UNARY_OP(sqrt, float, float);
REGISTER_UNARY_OP(sqrt, half, half);
REGISTER_UNARY_OP(sqrt, bfloat, bfloat);
REGISTER_UNARY_OP(sqrt, long, float);
REGISTER_UNARY_OP(sqrt, int, float);
REGISTER_UNARY_OP(sqrt, short, float);
REGISTER_UNARY_OP(sqrt, uchar, float);
REGISTER_UNARY_OP(sqrt, char, float);
REGISTER_UNARY_OP(sqrt, bool, float);
REGISTER_UNARY_OP(sqrt, float2, float2);
REGISTER_UNARY_OP(sqrt, half2, half2);

REGISTER_UNARY_OP(reciprocal, float, float);
REGISTER_UNARY_OP(reciprocal, half, half);
REGISTER_UNARY_OP(reciprocal, bfloat, bfloat);
REGISTER_UNARY_OP(reciprocal, long, float);
REGISTER_UNARY_OP(reciprocal, int, float);
REGISTER_UNARY_OP(reciprocal, short, float);
REGISTER_UNARY_OP(reciprocal, uchar, float);
REGISTER_UNARY_OP(reciprocal, char, float);
REGISTER_UNARY_OP(reciprocal, bool, float);
REGISTER_UNARY_OP(reciprocal, float2, float2);
REGISTER_UNARY_OP(reciprocal, half2, half2);

REGISTER_UNARY_OP(rsqrt, float, float);
REGISTER_UNARY_OP(rsqrt, half, half);
REGISTER_UNARY_OP(rsqrt, bfloat, bfloat);
REGISTER_UNARY_OP(rsqrt, long, float);
REGISTER_UNARY_OP(rsqrt, int, float);
REGISTER_UNARY_OP(rsqrt, short, float);
REGISTER_UNARY_OP(rsqrt, uchar, float);
REGISTER_UNARY_OP(rsqrt, char, float);
REGISTER_UNARY_OP(rsqrt, bool, float);
REGISTER_UNARY_OP(rsqrt, float2, float2);
REGISTER_UNARY_OP(rsqrt, half2, half2);

REGISTER_UNARY_OP(sigmoid, float, float);
REGISTER_UNARY_OP(sigmoid, half, half);
REGISTER_UNARY_OP(sigmoid, bfloat, bfloat);
REGISTER_UNARY_OP(sigmoid, long, float);
REGISTER_UNARY_OP(sigmoid, int, float);
REGISTER_UNARY_OP(sigmoid, short, float);
REGISTER_UNARY_OP(sigmoid, uchar, float);
REGISTER_UNARY_OP(sigmoid, char, float);
REGISTER_UNARY_OP(sigmoid, bool, float);
REGISTER_UNARY_OP(sigmoid, float2, float2);
REGISTER_UNARY_OP(sigmoid, half2, half2);

REGISTER_UNARY_OP(log, float, float);
REGISTER_UNARY_OP(log, half, half);
REGISTER_UNARY_OP(log, bfloat, bfloat);
REGISTER_UNARY_OP(log, long, float);
REGISTER_UNARY_OP(log, int, float);
REGISTER_UNARY_OP(log, short, float);
REGISTER_UNARY_OP(log, uchar, float);
REGISTER_UNARY_OP(log, char, float);
REGISTER_UNARY_OP(log, bool, float);
REGISTER_UNARY_OP(log, float2, float2);
REGISTER_UNARY_OP(log, half2, half2);

REGISTER_UNARY_OP(log2, float, float);
REGISTER_UNARY_OP(log2, half, half);
REGISTER_UNARY_OP(log2, bfloat, bfloat);
REGISTER_UNARY_OP(log2, long, float);
REGISTER_UNARY_OP(log2, int, float);
REGISTER_UNARY_OP(log2, short, float);
REGISTER_UNARY_OP(log2, uchar, float);
REGISTER_UNARY_OP(log2, char, float);
REGISTER_UNARY_OP(log2, bool, float);
REGISTER_UNARY_OP(log2, float2, float2);
REGISTER_UNARY_OP(log2, half2, half2);

REGISTER_UNARY_OP(log10, float, float);
REGISTER_UNARY_OP(log10, half, half);
REGISTER_UNARY_OP(log10, bfloat, bfloat);
REGISTER_UNARY_OP(log10, long, float);
REGISTER_UNARY_OP(log10, int, float);
REGISTER_UNARY_OP(log10, short, float);
REGISTER_UNARY_OP(log10, uchar, float);
REGISTER_UNARY_OP(log10, char, float);
REGISTER_UNARY_OP(log10, bool, float);
REGISTER_UNARY_OP(log10, float2, float2);
REGISTER_UNARY_OP(log10, half2, half2);

REGISTER_UNARY_OP(log1p, float, float);
REGISTER_UNARY_OP(log1p, half, half);
REGISTER_UNARY_OP(log1p, bfloat, bfloat);
REGISTER_UNARY_OP(log1p, long, float);
REGISTER_UNARY_OP(log1p, int, float);
REGISTER_UNARY_OP(log1p, short, float);
REGISTER_UNARY_OP(log1p, uchar, float);
REGISTER_UNARY_OP(log1p, char, float);
REGISTER_UNARY_OP(log1p, bool, float);
REGISTER_UNARY_OP(log1p, float2, float2);
REGISTER_UNARY_OP(log1p, half2, half2);

REGISTER_UNARY_OP(sqr, float, float);
REGISTER_UNARY_OP(sqr, half, half);
REGISTER_UNARY_OP(sqr, bfloat, bfloat);
REGISTER_UNARY_OP(sqr, long, long);
REGISTER_UNARY_OP(sqr, int, int);
REGISTER_UNARY_OP(sqr, short, short);
REGISTER_UNARY_OP(sqr, uchar, uchar);
REGISTER_UNARY_OP(sqr, char, char);
REGISTER_UNARY_OP(sqr, float2, float2);
REGISTER_UNARY_OP(sqr, half2, half2);

REGISTER_UNARY_OP(neg, float, float);
REGISTER_UNARY_OP(neg, half, half);
REGISTER_UNARY_OP(neg, bfloat, bfloat);
REGISTER_UNARY_OP(neg, long, long);
REGISTER_UNARY_OP(neg, int, int);
REGISTER_UNARY_OP(neg, short, short);
REGISTER_UNARY_OP(neg, uchar, uchar);
REGISTER_UNARY_OP(neg, char, char);
REGISTER_UNARY_OP(neg, float2, float2);
REGISTER_UNARY_OP(neg, half2, half2);

REGISTER_UNARY_OP(angle, float, float);
REGISTER_UNARY_OP(angle, half, half);
REGISTER_UNARY_OP(angle, bfloat, bfloat);
REGISTER_UNARY_OP(angle, long, float);
REGISTER_UNARY_OP(angle, int, float);
REGISTER_UNARY_OP(angle, short, float);
REGISTER_UNARY_OP(angle, uchar, float);
REGISTER_UNARY_OP(angle, char, float);
REGISTER_UNARY_OP(angle, bool, float);
REGISTER_UNARY_OP(angle, float2, float2);
REGISTER_UNARY_OP(angle, half2, half2);

REGISTER_UNARY_OP(floor, float, float);
REGISTER_UNARY_OP(floor, half, half);
REGISTER_UNARY_OP(floor, bfloat, bfloat);

REGISTER_UNARY_OP(ceil, float, float);
REGISTER_UNARY_OP(ceil, half, half);
REGISTER_UNARY_OP(ceil, bfloat, bfloat);

REGISTER_UNARY_OP(trunc, float, float);
REGISTER_UNARY_OP(trunc, half, half);
REGISTER_UNARY_OP(trunc, bfloat, bfloat);

REGISTER_UNARY_ALPHA_OP(round_decimals, float, long, float);
REGISTER_UNARY_ALPHA_OP(round_decimals, half, long, half);
REGISTER_UNARY_ALPHA_OP(round_decimals, bfloat, long, bfloat);

REGISTER_UNARY_OP(logical_not, float, bool);
REGISTER_UNARY_OP(logical_not, half, bool);
REGISTER_UNARY_OP(logical_not, bfloat, bool);
REGISTER_UNARY_OP(logical_not, long, bool);
REGISTER_UNARY_OP(logical_not, int, bool);
REGISTER_UNARY_OP(logical_not, short, bool);
REGISTER_UNARY_OP(logical_not, uchar, bool);
REGISTER_UNARY_OP(logical_not, char, bool);
REGISTER_UNARY_OP(logical_not, bool, bool);
REGISTER_UNARY_OP(logical_not, float2, bool);
REGISTER_UNARY_OP(logical_not, half2, bool);

REGISTER_UNARY_OP(bitwise_not, long, long);
REGISTER_UNARY_OP(bitwise_not, int, int);
REGISTER_UNARY_OP(bitwise_not, short, short);
REGISTER_UNARY_OP(bitwise_not, uchar, uchar);
REGISTER_UNARY_OP(bitwise_not, char, char);
REGISTER_UNARY_OP(bitwise_not, bool, bool);

REGISTER_UNARY_ALPHA_OP(nan_to_num, float, nan_to_num_params_float, float);
REGISTER_UNARY_ALPHA_OP(nan_to_num, half, nan_to_num_params_float, half);
REGISTER_UNARY_ALPHA_OP(nan_to_num, bfloat, nan_to_num_params_float, bfloat);
REGISTER_UNARY_ALPHA_OP(nan_to_num, float2, nan_to_num_params_float, float2);
REGISTER_UNARY_ALPHA_OP(nan_to_num, half2, nan_to_num_params_float, half2);

REGISTER_UNARY_ALPHA_OP(pow_scalar, float, float, float);
REGISTER_UNARY_ALPHA_OP(pow_scalar, half, float, half);
REGISTER_UNARY_ALPHA_OP(pow_scalar, bfloat, float, bfloat);
REGISTER_UNARY_ALPHA_OP(pow_scalar, long, int, long);
REGISTER_UNARY_ALPHA_OP(pow_scalar, int, int, int);
REGISTER_UNARY_ALPHA_OP(pow_scalar, short, int, short);
REGISTER_UNARY_ALPHA_OP(pow_scalar, uchar, int, uchar);
REGISTER_UNARY_ALPHA_OP(pow_scalar, char, int, char);
REGISTER_UNARY_ALPHA_OP(pow_scalar, float2, float2, float2);
REGISTER_UNARY_ALPHA_OP(pow_scalar, half2, float2, half2);

REGISTER_UNARY_OP(abs, float, float);
REGISTER_UNARY_OP(abs, half, half);
REGISTER_UNARY_OP(abs, bfloat, bfloat);
REGISTER_UNARY_OP(abs, long, long);
REGISTER_UNARY_OP(abs, int, int);
REGISTER_UNARY_OP(abs, short, short);
REGISTER_UNARY_OP(abs, uchar, uchar);
REGISTER_UNARY_OP(abs, char, char);
REGISTER_UNARY_OP(abs, float2, float2);
REGISTER_UNARY_OP(abs, half2, half2);

REGISTER_UNARY_OP(round, float, float);
REGISTER_UNARY_OP(round, half, half);
REGISTER_UNARY_OP(round, bfloat, bfloat);
REGISTER_UNARY_OP(round, long, long);
REGISTER_UNARY_OP(round, int, int);
REGISTER_UNARY_OP(round, short, short);
REGISTER_UNARY_OP(round, uchar, uchar);
REGISTER_UNARY_OP(round, char, char);

REGISTER_UNARY_OP(erf, float, float);
REGISTER_UNARY_OP(erf, half, half);
REGISTER_UNARY_OP(erf, bfloat, bfloat);
REGISTER_UNARY_OP(erf, long, float);
REGISTER_UNARY_OP(erf, int, float);
REGISTER_UNARY_OP(erf, short, float);
REGISTER_UNARY_OP(erf, uchar, float);
REGISTER_UNARY_OP(erf, char, float);
REGISTER_UNARY_OP(erf, bool, float);

REGISTER_UNARY_OP(erfc, float, float);
REGISTER_UNARY_OP(erfc, half, half);
REGISTER_UNARY_OP(erfc, bfloat, bfloat);
REGISTER_UNARY_OP(erfc, long, float);
REGISTER_UNARY_OP(erfc, int, float);
REGISTER_UNARY_OP(erfc, short, float);
REGISTER_UNARY_OP(erfc, uchar, float);
REGISTER_UNARY_OP(erfc, char, float);
REGISTER_UNARY_OP(erfc, bool, float);

REGISTER_UNARY_OP(erfcx, float, float);
REGISTER_UNARY_OP(erfcx, half, half);
REGISTER_UNARY_OP(erfcx, bfloat, bfloat);
REGISTER_UNARY_OP(erfcx, long, float);
REGISTER_UNARY_OP(erfcx, int, float);
REGISTER_UNARY_OP(erfcx, short, float);
REGISTER_UNARY_OP(erfcx, uchar, float);
REGISTER_UNARY_OP(erfcx, char, float);
REGISTER_UNARY_OP(erfcx, bool, float);

REGISTER_UNARY_OP(erfinv, float, float);
REGISTER_UNARY_OP(erfinv, half, half);
REGISTER_UNARY_OP(erfinv, bfloat, bfloat);
REGISTER_UNARY_OP(erfinv, long, float);
REGISTER_UNARY_OP(erfinv, int, float);
REGISTER_UNARY_OP(erfinv, short, float);
REGISTER_UNARY_OP(erfinv, uchar, float);
REGISTER_UNARY_OP(erfinv, char, float);
REGISTER_UNARY_OP(erfinv, bool, float);

REGISTER_UNARY_OP(lgamma, float, float);
REGISTER_UNARY_OP(lgamma, half, half);
REGISTER_UNARY_OP(lgamma, bfloat, bfloat);
REGISTER_UNARY_OP(lgamma, long, float);
REGISTER_UNARY_OP(lgamma, int, float);
REGISTER_UNARY_OP(lgamma, short, float);
REGISTER_UNARY_OP(lgamma, uchar, float);
REGISTER_UNARY_OP(lgamma, char, float);
REGISTER_UNARY_OP(lgamma, bool, float);

REGISTER_UNARY_OP(digamma, float, float);
REGISTER_UNARY_OP(digamma, half, half);
REGISTER_UNARY_OP(digamma, bfloat, bfloat);
REGISTER_UNARY_OP(digamma, long, float);
REGISTER_UNARY_OP(digamma, int, float);
REGISTER_UNARY_OP(digamma, short, float);
REGISTER_UNARY_OP(digamma, uchar, float);
REGISTER_UNARY_OP(digamma, char, float);
REGISTER_UNARY_OP(digamma, bool, float);

REGISTER_UNARY_OP(trigamma, float, float);
REGISTER_UNARY_OP(trigamma, half, half);
REGISTER_UNARY_OP(trigamma, bfloat, bfloat);
REGISTER_UNARY_OP(trigamma, long, float);
REGISTER_UNARY_OP(trigamma, int, float);
REGISTER_UNARY_OP(trigamma, short, float);
REGISTER_UNARY_OP(trigamma, uchar, float);
REGISTER_UNARY_OP(trigamma, char, float);
REGISTER_UNARY_OP(trigamma, bool, float);

REGISTER_UNARY_ALPHA_OP(polygamma, float, int, float);
REGISTER_UNARY_ALPHA_OP(polygamma, half, int, half);
REGISTER_UNARY_ALPHA_OP(polygamma, bfloat, int, bfloat);
REGISTER_UNARY_ALPHA_OP(polygamma, long, int, float);
REGISTER_UNARY_ALPHA_OP(polygamma, int, int, float);
REGISTER_UNARY_ALPHA_OP(polygamma, short, int, float);
REGISTER_UNARY_ALPHA_OP(polygamma, uchar, int, float);
REGISTER_UNARY_ALPHA_OP(polygamma, char, int, float);
REGISTER_UNARY_ALPHA_OP(polygamma, bool, int, float);

REGISTER_UNARY_OP(sinc, float, float);
REGISTER_UNARY_OP(sinc, half, half);
REGISTER_UNARY_OP(sinc, bfloat, bfloat);
REGISTER_UNARY_OP(sinc, long, float);
REGISTER_UNARY_OP(sinc, int, float);
REGISTER_UNARY_OP(sinc, short, float);
REGISTER_UNARY_OP(sinc, uchar, float);
REGISTER_UNARY_OP(sinc, char, float);
REGISTER_UNARY_OP(sinc, bool, float);
REGISTER_UNARY_OP(sinc, float2, float2);
REGISTER_UNARY_OP(sinc, half2, half2);
