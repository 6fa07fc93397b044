#include <c10/metal/indexing.h>
#include <c10/metal/special_math.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// x, but 0 within `lambd` of zero. A NaN stays.
struct hardshrink_functor {
  template <typename T>
  inline T operator()(const T x, const T lambd) {
    return -lambd <= x && x <= lambd ? T(0) : x;
  }
};

// x moved by `lambd` towards zero, and 0 from there on. A NaN stays.
struct softshrink_functor {
  template <typename T>
  inline T operator()(const T x, const T lambd) {
    if (metal::isnan(float(x))) {
      return x;
    }
    return x > lambd ? x - lambd : x < -lambd ? x + lambd : T(0);
  }
};

// The gradient of both shrinks.
struct shrink_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x, const T lambd) {
    return -lambd <= x && x <= lambd ? T(0) : grad;
  }
};

// x, and `negative_slope` x below zero.
struct leaky_relu_functor {
  template <typename T>
  inline T operator()(const T x, const T negative_slope) {
    return x > T(0) ? x : x * negative_slope;
  }
};

// The gradient of leaky_relu.
struct leaky_relu_backward_functor {
  template <typename T>
  inline T operator()(const T x, const T grad, const T negative_slope) {
    return x > T(0) ? grad : grad * negative_slope;
  }
};

// max(x, 0). A NaN stays.
struct relu_functor {
  template <typename T>
  inline T operator()(const T x) {
    return x <= T(0) ? T(0) : x;
  }

  inline bool operator()(const bool x) {
    return long(x) <= long(0) ? false : x;
  }
};

template <typename T>
struct elu_params {
  T alpha;
  T scale;
  T input_scale;
};

using elu_params_float = elu_params<float>;
using elu_params_half = elu_params<half>;
using elu_params_bfloat = elu_params<bfloat>;

// scale x, and scale alpha (e^(input_scale x) - 1) below zero.
struct elu_functor {
  static inline float exp_minus_one(const float x) {
    const float e = precise::exp(x);
    if (metal::fabs(x) > 0.5f || e == 1.0f) {
      return e == 1.0f ? x : e - 1.0f;
    }
    return (e - 1.0f) * (x / precise::log(e));
  }

  template <typename T>
  inline T operator()(const T x, const elu_params<T> params) {
    const float value = float(x);
    const float factor = float(params.scale);
    return static_cast<T>(
        value > 0.0f ? factor * value
                     : factor * float(params.alpha) *
                exp_minus_one(float(params.input_scale) * value));
  }
};

template <typename T>
struct elu_backward_params {
  T alpha;
  T scale;
  T input_scale;
  bool is_result;
};

using elu_backward_params_float = elu_backward_params<float>;
using elu_backward_params_half = elu_backward_params<half>;
using elu_backward_params_bfloat = elu_backward_params<bfloat>;

// The gradient of elu: `y` is its result, or its input.
struct elu_backward_functor {
  template <typename T>
  inline T operator()(
      const T grad,
      const T y,
      const elu_backward_params<T> params) {
    const float value = float(y);
    const float slope = float(params.input_scale);
    const float top = float(params.scale) * float(params.alpha);
    if (value > 0.0f) {
      return static_cast<T>(float(grad) * float(params.scale));
    }
    return static_cast<T>(
        float(grad) * slope *
        (params.is_result ? value + top : top * precise::exp(slope * value)));
  }
};

// log(1 + e^x), without overflow.
inline float log_one_plus_exp(const float x) {
  return metal::fmax(x, 0.0f) +
      c10::metal::log1p(precise::exp(-metal::fabs(x)));
}

template <typename T>
struct softplus_params {
  float beta;
  float threshold;
};

using softplus_params_float = softplus_params<float>;

// log(1 + e^(beta x)) / beta, and x itself where beta x is above `threshold`.
struct softplus_functor {
  template <typename T>
  inline T operator()(const T x, const softplus_params<float> params) {
    const float scaled = float(x) * params.beta;
    return scaled > params.threshold
        ? x
        : static_cast<T>(log_one_plus_exp(scaled) / params.beta);
  }
};

// 1 / (1 + e^-x), by e^x for negative x, which does not overflow.
inline float logistic(const float x) {
  const float power = precise::exp(-metal::fabs(x));
  return x >= 0.0f ? 1.0f / (1.0f + power) : power / (1.0f + power);
}

template <typename T>
struct softplus_backward_params {
  float beta;
  float threshold;
};

using softplus_backward_params_float = softplus_backward_params<float>;

// The gradient of softplus.
struct softplus_backward_functor {
  template <typename T>
  inline T operator()(
      const T grad,
      const T x,
      const softplus_backward_params<float> params) {
    const float scaled = float(x) * params.beta;
    return scaled > params.threshold
        ? grad
        : static_cast<T>(float(grad) * logistic(scaled));
  }
};

// log(1 / (1 + e^-x)), without overflow.
struct log_sigmoid_forward_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(-log_one_plus_exp(-float(x)));
  }
};

// The gradient of log_sigmoid; x comes first, as in the iterator of its stub.
struct log_sigmoid_backward_functor {
  template <typename T>
  inline T operator()(const T x, const T grad) {
    return static_cast<T>(float(grad) * logistic(float(-x)));
  }
};

// (x + 3) / 6, between 0 and 1.
struct hardsigmoid_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(
        c10::metal::min(c10::metal::max(float(x) + 3.0f, 0.0f), 6.0f) / 6.0f);
  }
};

// The gradient of hardsigmoid.
struct hardsigmoid_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x) {
    return T(-3) < x && x < T(3) ? grad / T(6) : T(0);
  }
};

// x hardsigmoid(x), rounded once; upstream rounds every step to half.
struct hardswish_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(
        float(x) *
        (c10::metal::min(c10::metal::max(float(x) + 3.0f, 0.0f), 6.0f) / 6.0f));
  }
};

// The gradient of hardswish.
struct hardswish_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x) {
    return x <= T(-3) ? T(0)
        : x < T(3)    ? grad * ((T(2) * x + T(3)) / T(6))
                      : grad;
  }
};

// x / (1 + e^-x).
struct silu_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(float(x) / (1.0f + precise::exp(-float(x))));
  }
};

// The gradient of silu; beyond 100 it is 0 or 1, also at infinities.
struct silu_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x) {
    const T bounded = c10::metal::min(c10::metal::max(x, T(-100)), T(100));
    const float gate = logistic(float(bounded));
    return static_cast<T>(
        float(grad) *
        (gate * (1.0f + float(bounded) * logistic(float(-bounded)))));
  }
};

// a / (1 + e^-b).
struct glu_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return a / (T(1) + static_cast<T>(precise::exp(float(-b))));
  }
};

// w^2 + 2 w with w = e^x; tanh(log(1 + w)) is this over this plus two.
inline float w_squared_plus_two_w(const float x) {
  const float w = precise::exp(metal::fmin(x, 20.0f));
  return w * (w + 2.0f);
}

// x tanh(log(1 + e^x)).
struct mish_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float square = w_squared_plus_two_w(float(x));
    return static_cast<T>(float(x) * (square / (square + 2.0f)));
  }
};

// The gradient of mish; beyond 100 it is 0 or 1, also at infinities.
struct mish_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x) {
    const T bounded = c10::metal::min(c10::metal::max(x, T(-100)), T(100));
    const float square = w_squared_plus_two_w(float(bounded));
    const float gate = square / (square + 2.0f);
    const float rest = 2.0f / (square + 2.0f);
    return static_cast<T>(
        float(grad) *
        (gate +
         float(bounded) * logistic(float(bounded)) * rest * (1.0f + gate)));
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

// e^(-x^2 / 2), in the same way.
inline float exp_minus_half_square(const float x) {
  const float square = x * x;
  const float rest = metal::fma(x, x, -square);
  if (metal::isinf(square)) {
    return 0.0f;
  }
  return precise::exp(-0.5f * square) * (1.0f - 0.5f * rest);
}

// The probability that a normal variable is below x.
inline float normal_cdf(const float x) {
  const float tail = 0.5f * scaled_erfc(metal::fabs(x) * 0.70710677f) *
      exp_minus_half_square(x);
  return x > 0.0f ? 1.0f - tail : tail;
}

// x times the normal distribution function, which keeps its digits far below
// zero; upstream's 1 + erf does not.
struct gelu_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(float(x) * normal_cdf(float(x)));
  }
};

// The density of the normal law.
inline float normal_pdf(const float x) {
  return 0.3989423f * exp_minus_half_square(x);
}

// The gradient of gelu; beyond 20 it is 0 or 1, also at infinities.
struct gelu_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x) {
    const T bounded = c10::metal::min(c10::metal::max(x, T(-20)), T(20));
    return static_cast<T>(
        float(grad) *
        (normal_cdf(float(bounded)) +
         float(bounded) * normal_pdf(float(bounded))));
  }
};

// x (1 + tanh u) / 2, which is x / (1 + e^(-2 u)), with u = sqrt(2 / pi) (x +
// 0.044715 x^3).
struct gelu_tanh_functor {
  template <typename T>
  inline T operator()(const T x) {
    return static_cast<T>(
        float(x) *
        logistic(
            1.5957692f *
            (float(x) + 0.044715f * (float(x) * float(x) * float(x)))));
  }
};

// The gradient of gelu_tanh; beyond 20 it is 0 or 1, also at infinities.
struct gelu_tanh_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x) {
    const T bounded = c10::metal::min(c10::metal::max(x, T(-20)), T(20));
    const T turn = T(1.5957692f) *
        (bounded + T(0.044715f) * (bounded * bounded * bounded));
    const T slope = T(1.5957692f) * (T(1) + T(0.134145f) * (bounded * bounded));
    return static_cast<T>(
        float(grad) *
        (logistic(float(turn)) *
         (1.0f + float(bounded * slope) * logistic(float(-turn)))));
  }
};

// The gradient of sigmoid, from its result.
struct sigmoid_backward_functor {
  template <typename U>
  static inline U conjugate(const U z) {
    return U(z.x, -z.y);
  }

  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T grad, const T y) {
    return grad * ((T(1) - y) * y);
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T grad, const T y) {
    return c10::metal::mul(
        grad, conjugate(c10::metal::mul(T(1.0f, 0.0f) - y, y)));
  }
};

// The gradient of tanh, from its result.
struct tanh_backward_functor {
  template <typename U>
  static inline U conjugate(const U z) {
    return U(z.x, -z.y);
  }

  template <typename T, enable_if_t<!c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T grad, const T y) {
    return grad * ((T(1) - y) * (T(1) + y));
  }

  template <typename T, enable_if_t<c10::metal::is_complex_v<T>, bool> = true>
  inline T operator()(const T grad, const T y) {
    return c10::metal::mul(
        grad, conjugate(c10::metal::mul(T(1.0f, 0.0f) - y, T(1.0f, 0.0f) + y)));
  }
};

// The gradient of logit: 0 where it was clamped, and NaN outside [0, 1] if
// `eps` is negative, which means none.
struct logit_backward_functor {
  template <typename T>
  inline T operator()(const T grad, const T x, const T eps) {
    const float value = float(x);
    const float low = float(eps);
    if (low < 0.0f && (value < 0.0f || value > 1.0f)) {
      return T(NAN);
    }
    if (low >= 0.0f && (value < low || value > 1.0f - low)) {
      return T(0);
    }
    return static_cast<T>(float(grad) / (value * (1.0f - value)));
  }
};

#ifndef REGISTER_OPMATH_FLOAT_BINARY_OP
#define REGISTER_OPMATH_FLOAT_BINARY_OP(NAME)    \
  REGISTER_OPMATH_BINARY_OP(NAME, float, float); \
  REGISTER_OPMATH_BINARY_OP(NAME, half, half);   \
  REGISTER_OPMATH_BINARY_OP(NAME, bfloat, bfloat)
#endif

REGISTER_UNARY_ALPHA_OP(hardshrink, float, float, float);
REGISTER_UNARY_ALPHA_OP(hardshrink, half, half, half);
REGISTER_UNARY_ALPHA_OP(hardshrink, bfloat, bfloat, bfloat);

REGISTER_UNARY_ALPHA_OP(softshrink, float, float, float);
REGISTER_UNARY_ALPHA_OP(softshrink, half, half, half);
REGISTER_UNARY_ALPHA_OP(softshrink, bfloat, bfloat, bfloat);

REGISTER_BINARY_ALPHA_OP(shrink_backward, float, float, float);
REGISTER_BINARY_ALPHA_OP(shrink_backward, half, half, half);
REGISTER_BINARY_ALPHA_OP(shrink_backward, bfloat, bfloat, bfloat);

REGISTER_UNARY_ALPHA_OP(leaky_relu, float, float, float);
REGISTER_UNARY_ALPHA_OP(leaky_relu, half, half, half);
REGISTER_UNARY_ALPHA_OP(leaky_relu, bfloat, bfloat, bfloat);

REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, float, float, float);
REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, half, half, half);
REGISTER_BINARY_ALPHA_OP(leaky_relu_backward, bfloat, bfloat, bfloat);

REGISTER_UNARY_OP(relu, float, float);
REGISTER_UNARY_OP(relu, half, half);
REGISTER_UNARY_OP(relu, bfloat, bfloat);
REGISTER_UNARY_OP(relu, long, long);
REGISTER_UNARY_OP(relu, int, int);
REGISTER_UNARY_OP(relu, short, short);
REGISTER_UNARY_OP(relu, uchar, uchar);
REGISTER_UNARY_OP(relu, char, char);
REGISTER_UNARY_OP(relu, bool, bool);

REGISTER_UNARY_ALPHA_OP(elu, float, elu_params_float, float);
REGISTER_UNARY_ALPHA_OP(elu, half, elu_params_half, half);
REGISTER_UNARY_ALPHA_OP(elu, bfloat, elu_params_bfloat, bfloat);

REGISTER_BINARY_ALPHA_OP(elu_backward, float, elu_backward_params_float, float);
REGISTER_BINARY_ALPHA_OP(elu_backward, half, elu_backward_params_half, half);
REGISTER_BINARY_ALPHA_OP(
    elu_backward,
    bfloat,
    elu_backward_params_bfloat,
    bfloat);

REGISTER_UNARY_ALPHA_OP(softplus, float, softplus_params_float, float);
REGISTER_UNARY_ALPHA_OP(softplus, half, softplus_params_float, half);
REGISTER_UNARY_ALPHA_OP(softplus, bfloat, softplus_params_float, bfloat);

REGISTER_BINARY_ALPHA_OP(
    softplus_backward,
    float,
    softplus_backward_params_float,
    float);
REGISTER_BINARY_ALPHA_OP(
    softplus_backward,
    half,
    softplus_backward_params_float,
    half);
REGISTER_BINARY_ALPHA_OP(
    softplus_backward,
    bfloat,
    softplus_backward_params_float,
    bfloat);

REGISTER_UNARY_OP(log_sigmoid_forward, float, float);
REGISTER_UNARY_OP(log_sigmoid_forward, half, half);
REGISTER_UNARY_OP(log_sigmoid_forward, bfloat, bfloat);

REGISTER_OPMATH_FLOAT_BINARY_OP(log_sigmoid_backward);

REGISTER_UNARY_OP(hardsigmoid, float, float);
REGISTER_UNARY_OP(hardsigmoid, half, half);
REGISTER_UNARY_OP(hardsigmoid, bfloat, bfloat);

REGISTER_OPMATH_FLOAT_BINARY_OP(hardsigmoid_backward);

REGISTER_UNARY_OP(hardswish, float, float);
REGISTER_UNARY_OP(hardswish, half, half);
REGISTER_UNARY_OP(hardswish, bfloat, bfloat);

REGISTER_OPMATH_FLOAT_BINARY_OP(hardswish_backward);

REGISTER_UNARY_OP(silu, float, float);
REGISTER_UNARY_OP(silu, half, half);
REGISTER_UNARY_OP(silu, bfloat, bfloat);
REGISTER_UNARY_OP(silu, int, int);
REGISTER_UNARY_OP(silu, short, short);
REGISTER_UNARY_OP(silu, uchar, uchar);
REGISTER_UNARY_OP(silu, char, char);
REGISTER_UNARY_OP(silu, bool, bool);

REGISTER_OPMATH_FLOAT_BINARY_OP(silu_backward);

REGISTER_OPMATH_FLOAT_BINARY_OP(glu);

REGISTER_UNARY_OP(mish, float, float);
REGISTER_UNARY_OP(mish, half, half);
REGISTER_UNARY_OP(mish, bfloat, bfloat);

REGISTER_OPMATH_FLOAT_BINARY_OP(mish_backward);

REGISTER_UNARY_OP(gelu, float, float);
REGISTER_UNARY_OP(gelu, half, half);
REGISTER_UNARY_OP(gelu, bfloat, bfloat);

REGISTER_OPMATH_FLOAT_BINARY_OP(gelu_backward);

REGISTER_UNARY_OP(gelu_tanh, float, float);
REGISTER_UNARY_OP(gelu_tanh, half, half);
REGISTER_UNARY_OP(gelu_tanh, bfloat, bfloat);

REGISTER_OPMATH_FLOAT_BINARY_OP(gelu_tanh_backward);

REGISTER_OPMATH_FLOAT_BINARY_OP(sigmoid_backward);
REGISTER_BINARY_OP(sigmoid_backward, float2, float2);
REGISTER_OPMATH_BINARY_OP(sigmoid_backward, half2, half2);

REGISTER_OPMATH_FLOAT_BINARY_OP(tanh_backward);
REGISTER_BINARY_OP(tanh_backward, float2, float2);
REGISTER_OPMATH_BINARY_OP(tanh_backward, half2, half2);

REGISTER_BINARY_ALPHA_OP(logit_backward, float, float, float);
REGISTER_BINARY_ALPHA_OP(logit_backward, half, half, half);
REGISTER_BINARY_ALPHA_OP(logit_backward, bfloat, bfloat, bfloat);
