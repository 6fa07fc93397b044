#include <ATen/native/UnaryOps.h>

namespace at::native {

#define CREATE_UNARY_TORCH_IMPL_FUNC(func_out, func_stub)            \
TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& result) { \
  func_stub(device_type(), *this);                                   \
}

CREATE_UNARY_TORCH_IMPL_FUNC(sgn_out, sgn_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(frac_out, frac_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(exp_out, exp_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(round_out, round_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(special_airy_ai_out, special_airy_ai_stub)

} // namespace at::native
