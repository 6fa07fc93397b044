#pragma once
namespace at::native {
using unary_fn = void(*)(TensorIteratorBase&);
DECLARE_DISPATCH(unary_fn, sgn_stub)
DECLARE_DISPATCH(unary_fn, frac_stub)
DECLARE_DISPATCH(unary_fn, exp_stub)
DECLARE_DISPATCH(unary_fn, round_stub)
DECLARE_DISPATCH(unary_fn, special_airy_ai_stub)
} // namespace at::native
