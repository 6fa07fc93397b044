#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

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

// The x with erf(x) = y, for |y| up to 1/2: two terms of the series, then
// Newton's method.
inline float inverse_erf(const float y) {
  float x = 0.88622695f * y * (1.0f + 0.2617994f * y * y);
  x = x - (c10::metal::erf(x) - y) * 0.88622695f * precise::exp(x * x);
  x = x - (c10::metal::erf(x) - y) * 0.88622695f * precise::exp(x * x);
  return x;
}

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

// The inverse of the normal distribution function: by erf around 1/2, and by
// erfc of the smaller of p and 1 - p.
struct ndtri_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T p) {
    if (float(p) <= 0.0f || float(p) >= 1.0f || metal::isnan(float(p))) {
      return static_cast<T>(
          float(p) == 0.0f       ? -INFINITY
              : float(p) == 1.0f ? INFINITY
                                 : NAN);
    }
    if (0.25f < float(p) && float(p) < 0.75f) {
      return static_cast<T>(1.4142135f * inverse_erf(2.0f * (float(p) - 0.5f)));
    }
    if (float(p) < 0.5f) {
      return static_cast<T>(-1.4142135f * inverse_erfc(2.0f * float(p)));
    }
    return static_cast<T>(1.4142135f * inverse_erfc(2.0f * (1.0f - float(p))));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T p) {
    if (float(p) <= 0.0f || float(p) >= 1.0f || metal::isnan(float(p))) {
      return float(
          float(p) == 0.0f       ? -INFINITY
              : float(p) == 1.0f ? INFINITY
                                 : NAN);
    }
    if (0.25f < float(p) && float(p) < 0.75f) {
      return 1.4142135f * inverse_erf(2.0f * (float(p) - 0.5f));
    }
    if (float(p) < 0.5f) {
      return -1.4142135f * inverse_erfc(2.0f * float(p));
    }
    return 1.4142135f * inverse_erfc(2.0f * (1.0f - float(p)));
  }
};

// e^(-x^2 / 2), in the same way.
inline float exp_minus_half_square(const float x) {
  const float square = x * x;
  const float rest = metal::fma(x, x, -square);
  if (metal::isinf(square)) {
    return 0.0f;
  }
  return precise::exp(-0.5f * square) * (1.0f - 0.5f * rest);
}

// The logarithm of the normal distribution function; for negative x the
// parabola is split off.
struct log_ndtr_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    const float scaled =
        0.5f * scaled_erfc(metal::fabs(float(x)) * 0.70710677f);
    if (float(x) < 0.0f) {
      return static_cast<T>(precise::log(scaled) - 0.5f * float(x) * float(x));
    }
    return static_cast<T>(
        c10::metal::log1p(-scaled * exp_minus_half_square(float(x))));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    const float scaled =
        0.5f * scaled_erfc(metal::fabs(float(x)) * 0.70710677f);
    if (float(x) < 0.0f) {
      return precise::log(scaled) - 0.5f * float(x) * float(x);
    }
    return c10::metal::log1p(-scaled * exp_minus_half_square(float(x)));
  }
};

// Ai(x) for x >= 1, which decays as e^-z; z again to twice the precision.
inline float airy_of_large(const float x) {
  const float root = precise::sqrt(x);
  const float root_rest = 0.5f * metal::fma(-root, root, x) / root;
  const float power = x * root;
  const float power_rest = metal::fma(x, root, -power) + x * root_rest;
  const float z = 0.6666667f * power;
  const float z_rest = metal::fma(0.6666667f, power, -z) +
      -1.9868216e-08f * power + 0.6666667f * power_rest;
  const float argument = 1.0f / z;
  const float size = 0.2820948f *
      (((((((((((((-0.0003269654f * argument + 0.0035702882f) * argument +
                  -0.017599085f) *
                     argument +
                 0.051898547f) *
                    argument +
                -0.102460004f) *
                   argument +
               0.14404432f) *
                  argument +
              -0.15071473f) *
                 argument +
             0.12282411f) *
                argument +
            -0.08339362f) *
               argument +
           0.05294033f) *
              argument +
          -0.037548054f) *
             argument +
         0.03711008f) *
            argument +
        -0.06944393f) *
           argument +
       1.0f) /
      precise::sqrt(root);
  return size * precise::exp(-z) * (1.0f - z_rest);
}

// Ai(-x) for x >= 2: a wave of slowly changing size and phase. Its argument z =
// (2/3) x^(3/2) is kept to twice the precision of a float, as its sine has no
// digit more than what is left of it after the turns are taken out.
inline float airy_of_negative(const float x) {
  const float root = precise::sqrt(x);
  const float root_rest = 0.5f * metal::fma(-root, root, x) / root;
  const float power = x * root;
  const float power_rest = metal::fma(x, root, -power) + x * root_rest;
  const float z = 0.6666667f * power;
  const float z_rest = metal::fma(0.6666667f, power, -z) +
      -1.9868216e-08f * power + 0.6666667f * power_rest;
  const float u = 1.0f / (z * z);
  const float behind = 0.7853982f +
      (((((((((-315.12476f * u + 467.62564f) * u + -301.80093f) * u +
             112.11343f) *
                u +
            -27.016727f) *
               u +
           4.6424527f) *
              u +
          -0.6615143f) *
             u +
         0.107828915f) *
            u +
        -0.035502985f) *
           u +
       0.06944441f) /
          z -
      z_rest;
  const float wave = precise::cos(z) * precise::cos(behind) +
      precise::sin(z) * precise::sin(behind);
  return 0.5641896f *
      (((((((((-85.16759f * u + 127.3873f) * u + -83.20897f) * u + 31.522968f) *
                u +
            -7.8673205f) *
               u +
           1.4495314f) *
              u +
          -0.24040835f) *
             u +
         0.054374088f) *
            u +
        -0.034716807f) *
           u +
       1.0f) *
      wave / precise::sqrt(root);
}

// Airy's function Ai.
struct airy_ai_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    if (float(x) > 30.0f) {
      return T(0);
    }
    if (float(x) > 1.0f) {
      return static_cast<T>(airy_of_large(float(x)));
    }
    if (float(x) >= -2.0f) {
      const float argument = (float(x) + 0.5f) / 1.5f;
      return static_cast<T>(
          ((((((((((((2.2060572e-06f * argument + 3.711108e-05f) * argument +
                     -0.00016354902f) *
                        argument +
                    -4.7197675e-05f) *
                       argument +
                   0.0018732458f) *
                      argument +
                  -0.0046141837f) *
                     argument +
                 -0.0032040654f) *
                    argument +
                0.038853455f) *
                   argument +
               -0.06343785f) *
                  argument +
              -0.06101034f) *
                 argument +
             0.324995f) *
                argument +
            -0.26759702f) *
               argument +
           -0.3061225f) *
              argument +
          0.4757281f);
    }
    return static_cast<T>(airy_of_negative(-float(x)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    if (float(x) > 30.0f) {
      return 0.0f;
    }
    if (float(x) > 1.0f) {
      return airy_of_large(float(x));
    }
    if (float(x) >= -2.0f) {
      const float argument = (float(x) + 0.5f) / 1.5f;
      return ((((((((((((2.2060572e-06f * argument + 3.711108e-05f) * argument +
                        -0.00016354902f) *
                           argument +
                       -4.7197675e-05f) *
                          argument +
                      0.0018732458f) *
                         argument +
                     -0.0046141837f) *
                        argument +
                    -0.0032040654f) *
                       argument +
                   0.038853455f) *
                      argument +
                  -0.06343785f) *
                     argument +
                 -0.06101034f) *
                    argument +
                0.324995f) *
                   argument +
               -0.26759702f) *
                  argument +
              -0.3061225f) *
          argument +
          0.4757281f;
    }
    return airy_of_negative(-float(x));
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

// Legendre's polynomial of degree n, read as an integer; zero for negative n.
// By its recurrence for the steps from one degree to the next, which are small
// near 1, where every polynomial is 1; -1 is its mirror image.
struct legendre_polynomial_p_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const T n) {
    const long degree = long(n);
    if (degree < long(0)) {
      return T(0);
    }
    const T size = static_cast<T>(metal::fabs(float(x)));
    T value = T(1.0f);
    T step = T(0.0f);
    int k = 0;
    while (k < degree && !metal::isnan(float(value))) {
      step = (static_cast<T>(k) * step +
              static_cast<T>(int(2 * uint(k) + 1)) * (size - T(1)) * value) /
          static_cast<T>(int(uint(k) + 1));
      value = value + step;
      k = int(uint(k) + 1);
    }
    return x < T(0) && c10::metal::remainder(degree, long(2)) == long(1)
        ? -value
        : value;
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const T n) {
    const long degree = long(float(n));
    if (degree < long(0)) {
      return 0.0f;
    }
    const float size = metal::fabs(float(x));
    float value = 1.0f;
    float step = 0.0f;
    int k = 0;
    while (k < degree && !metal::isnan(value)) {
      step = (float(k) * step +
              float(int(2 * uint(k) + 1)) * (size - 1.0f) * value) /
          float(int(uint(k) + 1));
      value = value + step;
      k = int(uint(k) + 1);
    }
    return float(x) < 0.0f && c10::metal::remainder(degree, long(2)) == long(1)
        ? -value
        : value;
  }
};

// 1, 0 or -1; 0 for NaN, as torch has it.
struct sign_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(x > T(0)) - static_cast<T>(x < T(0));
  }

  inline bool operator()(const bool x) {
    return x;
  }
};

// The sign; of a complex number z / |z|, and 0 at zero.
struct sgn_functor {
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

  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(x > T(0)) - static_cast<T>(x < T(0));
  }

  inline bool operator()(const bool x) {
    return x;
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T z) {
    const float2 wide = float2(z);
    const float length = hypotenuse(wide.x, wide.y);
    return length == 0.0f
        ? z
        : static_cast<T>(float2(wide.x / length, wide.y / length));
  }
};

// True for negative numbers, and for -0 and NaNs whose sign bit is set.
struct signbit_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline bool operator()(const T x) {
    return metal::signbit(float(x));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline bool operator()(const T x) {
    return x < T(0);
  }

  inline bool operator()(const bool x) {
    return long(x) < long(0);
  }
};

// x without its integer part; it has the sign of x. NaN at infinities.
struct frac_functor {
  template <typename T>
  inline T operator()(const T x) {
    return x - static_cast<T>(metal::trunc(float(x)));
  }
};

// log(x / (1 - x)), with x first put between eps and 1 - eps if `eps` is not
// negative. Near 1/2, where the quotient is near one, through log1p.
struct logit_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const float eps) {
    float p = float(x);
    if (eps >= 0.0f) {
      p = float(x) < eps ? eps : float(x) > 1.0f - eps ? 1.0f - eps : float(x);
    }
    if (0.25f < p && p < 0.75f) {
      return static_cast<T>(c10::metal::log1p((2.0f * p - 1.0f) / (1.0f - p)));
    }
    return static_cast<T>(precise::log(p / (1.0f - p)));
  }

  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x, const float eps) {
    float p = float(x);
    if (eps >= 0.0f) {
      p = float(x) < eps ? eps : float(x) > 1.0f - eps ? 1.0f - eps : float(x);
    }
    if (0.25f < p && p < 0.75f) {
      return c10::metal::log1p((2.0f * p - 1.0f) / (1.0f - p));
    }
    return precise::log(p / (1.0f - p));
  }
};

template <typename T>
struct hardtanh_backward_params {
  T min_val;
  T max_val;
};

using hardtanh_backward_params_float = hardtanh_backward_params<float>;
using hardtanh_backward_params_half = hardtanh_backward_params<half>;
using hardtanh_backward_params_bfloat = hardtanh_backward_params<bfloat>;

// The gradient of hardtanh: 0 where x was cut off.
struct hardtanh_backward_functor {
  template <typename T>
  inline T operator()(
      const T grad,
      const T x,
      const hardtanh_backward_params<T> params) {
    return x <= params.min_val || x >= params.max_val ? T(0) : grad;
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

REGISTER_FLOAT_BINARY_OP(heaviside);
REGISTER_INTEGER_BINARY_OP(heaviside);

REGISTER_UNARY_OP(ndtri, float, float);
REGISTER_UNARY_OP(ndtri, half, half);
REGISTER_UNARY_OP(ndtri, bfloat, bfloat);
REGISTER_UNARY_OP(ndtri, long, float);
REGISTER_UNARY_OP(ndtri, int, float);
REGISTER_UNARY_OP(ndtri, short, float);
REGISTER_UNARY_OP(ndtri, uchar, float);
REGISTER_UNARY_OP(ndtri, char, float);
REGISTER_UNARY_OP(ndtri, bool, float);

REGISTER_UNARY_OP(log_ndtr, float, float);
REGISTER_UNARY_OP(log_ndtr, half, half);
REGISTER_UNARY_OP(log_ndtr, bfloat, bfloat);
REGISTER_UNARY_OP(log_ndtr, long, float);
REGISTER_UNARY_OP(log_ndtr, int, float);
REGISTER_UNARY_OP(log_ndtr, short, float);
REGISTER_UNARY_OP(log_ndtr, uchar, float);
REGISTER_UNARY_OP(log_ndtr, char, float);
REGISTER_UNARY_OP(log_ndtr, bool, float);

REGISTER_UNARY_OP(airy_ai, float, float);
REGISTER_UNARY_OP(airy_ai, half, half);
REGISTER_UNARY_OP(airy_ai, bfloat, bfloat);
REGISTER_UNARY_OP(airy_ai, long, float);
REGISTER_UNARY_OP(airy_ai, int, float);
REGISTER_UNARY_OP(airy_ai, short, float);
REGISTER_UNARY_OP(airy_ai, uchar, float);
REGISTER_UNARY_OP(airy_ai, char, float);
REGISTER_UNARY_OP(airy_ai, bool, float);

REGISTER_OPMATH_FLOAT_BINARY_OP(laguerre_polynomial_l);
REGISTER_INT2FLOAT_BINARY_OP(laguerre_polynomial_l);

REGISTER_OPMATH_FLOAT_BINARY_OP(legendre_polynomial_p);
REGISTER_INT2FLOAT_BINARY_OP(legendre_polynomial_p);

REGISTER_UNARY_OP(sign, float, float);
REGISTER_UNARY_OP(sign, half, half);
REGISTER_UNARY_OP(sign, bfloat, bfloat);
REGISTER_UNARY_OP(sign, long, long);
REGISTER_UNARY_OP(sign, int, int);
REGISTER_UNARY_OP(sign, short, short);
REGISTER_UNARY_OP(sign, uchar, uchar);
REGISTER_UNARY_OP(sign, char, char);
REGISTER_UNARY_OP(sign, bool, bool);

REGISTER_UNARY_OP(sgn, float, float);
REGISTER_UNARY_OP(sgn, half, half);
REGISTER_UNARY_OP(sgn, bfloat, bfloat);
REGISTER_UNARY_OP(sgn, long, long);
REGISTER_UNARY_OP(sgn, int, int);
REGISTER_UNARY_OP(sgn, short, short);
REGISTER_UNARY_OP(sgn, uchar, uchar);
REGISTER_UNARY_OP(sgn, char, char);
REGISTER_UNARY_OP(sgn, bool, bool);
REGISTER_UNARY_OP(sgn, float2, float2);
REGISTER_UNARY_OP(sgn, half2, half2);

REGISTER_UNARY_OP(signbit, float, bool);
REGISTER_UNARY_OP(signbit, half, bool);
REGISTER_UNARY_OP(signbit, bfloat, bool);
REGISTER_UNARY_OP(signbit, long, bool);
REGISTER_UNARY_OP(signbit, int, bool);
REGISTER_UNARY_OP(signbit, short, bool);
REGISTER_UNARY_OP(signbit, uchar, bool);
REGISTER_UNARY_OP(signbit, char, bool);
REGISTER_UNARY_OP(signbit, bool, bool);

REGISTER_UNARY_OP(frac, float, float);
REGISTER_UNARY_OP(frac, half, half);
REGISTER_UNARY_OP(frac, bfloat, bfloat);

REGISTER_UNARY_ALPHA_OP(logit, float, float, float);
REGISTER_UNARY_ALPHA_OP(logit, half, float, half);
REGISTER_UNARY_ALPHA_OP(logit, bfloat, float, bfloat);
REGISTER_UNARY_ALPHA_OP(logit, long, float, float);
REGISTER_UNARY_ALPHA_OP(logit, int, float, float);
REGISTER_UNARY_ALPHA_OP(logit, short, float, float);
REGISTER_UNARY_ALPHA_OP(logit, uchar, float, float);
REGISTER_UNARY_ALPHA_OP(logit, char, float, float);
REGISTER_UNARY_ALPHA_OP(logit, bool, float, float);

REGISTER_BINARY_ALPHA_OP(
    hardtanh_backward,
    float,
    hardtanh_backward_params_float,
    float);
REGISTER_BINARY_ALPHA_OP(
    hardtanh_backward,
    half,
    hardtanh_backward_params_half,
    half);
REGISTER_BINARY_ALPHA_OP(
    hardtanh_backward,
    bfloat,
    hardtanh_backward_params_bfloat,
    bfloat);
