#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

template <typename T>
struct elu_params {
  float alpha;
  float scale;
  float input_scale;
};

using elu_params_float = elu_params<float>;

// Exponential linear unit. The three scalars travel as one struct.
struct elu_functor {
  template <typename T>
  inline T operator()(const T x, const elu_params<float> params) {
    if (float(x) > 0.0f) {
      return static_cast<T>(params.scale * float(x));
    }
    return static_cast<T>(
        params.scale * params.alpha *
        (precise::exp(params.input_scale * float(x)) - 1.0f));
  }
};

REGISTER_UNARY_ALPHA_OP(elu, float, elu_params_float, float);
REGISTER_UNARY_ALPHA_OP(elu, half, elu_params_float, half);
REGISTER_UNARY_ALPHA_OP(elu, bfloat, elu_params_float, bfloat);
