#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

template <typename T>
struct between_params {
  T low;
  T high;
};

using between_params_float = between_params<float>;
using between_params_half = between_params<half>;
using between_params_bfloat = between_params<bfloat>;
using between_params_long = between_params<long>;
using between_params_int = between_params<int>;
using between_params_short = between_params<short>;
using between_params_uchar = between_params<uchar>;
using between_params_char = between_params<char>;

// Chained comparisons; the ends are left out again.
struct between_functor {
  template <typename T>
  inline bool operator()(const T x, const between_params<T> params) {
    return params.low <= x && x <= params.high &&
        !(x == params.low || params.high == x);
  }
};

REGISTER_UNARY_ALPHA_OP(between, float, between_params_float, bool);
REGISTER_UNARY_ALPHA_OP(between, half, between_params_half, bool);
REGISTER_UNARY_ALPHA_OP(between, bfloat, between_params_bfloat, bool);
REGISTER_UNARY_ALPHA_OP(between, long, between_params_long, bool);
REGISTER_UNARY_ALPHA_OP(between, int, between_params_int, bool);
REGISTER_UNARY_ALPHA_OP(between, short, between_params_short, bool);
REGISTER_UNARY_ALPHA_OP(between, uchar, between_params_uchar, bool);
REGISTER_UNARY_ALPHA_OP(between, char, between_params_char, bool);
