#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

template <typename T>
struct affine_params {
  T scale;
  T shift;
  int limit;
};

using affine_params_float = affine_params<float>;
using affine_params_half = affine_params<half>;
using affine_params_bfloat = affine_params<bfloat>;
using affine_params_long = affine_params<long>;
using affine_params_int = affine_params<int>;
using affine_params_short = affine_params<short>;
using affine_params_uchar = affine_params<uchar>;
using affine_params_char = affine_params<char>;
using affine_params_bool = affine_params<bool>;

// Scalars of the element type and of a type of their own in one struct.
struct affine_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x, const affine_params<T> params) {
    const T moved = x * params.scale + params.shift;
    return moved < static_cast<T>(params.limit) ? moved
                                                : static_cast<T>(params.limit);
  }

  template <
      typename T,
      enable_if_t<is_integral_v<T> && is_signed_v<T>, bool> = true>
  inline T operator()(const T x, const affine_params<T> params) {
    const T moved =
        static_cast<T>(ulong(x) * ulong(params.scale) + ulong(params.shift));
    return static_cast<c10::metal::opmath_t<T>>(moved) <
            static_cast<c10::metal::opmath_t<T>>(params.limit)
        ? moved
        : static_cast<T>(params.limit);
  }

  template <
      typename T,
      enable_if_t<is_integral_v<T> && !is_signed_v<T>, bool> = true>
  inline T operator()(const T x, const affine_params<T> params) {
    const T moved = x * params.scale + params.shift;
    return int(moved) < params.limit ? moved : static_cast<T>(params.limit);
  }
};

REGISTER_UNARY_ALPHA_OP(affine, float, affine_params_float, float);
REGISTER_UNARY_ALPHA_OP(affine, half, affine_params_half, half);
REGISTER_UNARY_ALPHA_OP(affine, bfloat, affine_params_bfloat, bfloat);
REGISTER_UNARY_ALPHA_OP(affine, long, affine_params_long, long);
REGISTER_UNARY_ALPHA_OP(affine, int, affine_params_int, int);
REGISTER_UNARY_ALPHA_OP(affine, short, affine_params_short, short);
REGISTER_UNARY_ALPHA_OP(affine, uchar, affine_params_uchar, uchar);
REGISTER_UNARY_ALPHA_OP(affine, char, affine_params_char, char);
REGISTER_UNARY_ALPHA_OP(affine, bool, affine_params_bool, bool);
