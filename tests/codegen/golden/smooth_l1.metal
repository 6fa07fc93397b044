#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>

using namespace metal;

// Quadratic within `beta` of the target, linear beyond it.
struct smooth_l1_functor {
  template <typename T>
  inline T operator()(const T x, const T target, const float beta) {
    const float z = metal::fabs(float(x) - float(target));
    return static_cast<T>(z < beta ? 0.5f * z * z / beta : z - 0.5f * beta);
  }
};

REGISTER_BINARY_ALPHA_OP(smooth_l1, float, float, float);
REGISTER_BINARY_ALPHA_OP(smooth_l1, half, float, half);
REGISTER_BINARY_ALPHA_OP(smooth_l1, bfloat, float, bfloat);
