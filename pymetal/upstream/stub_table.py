"""The elementwise dispatch stubs of torch 2.15: header, parameter types, names. Facts, for trees without the header."""

from __future__ import annotations

_BASE = "TensorIteratorBase&"
_ITER = "TensorIterator&"
_SCALAR = "const Scalar&"

STUBS: dict[tuple[str, tuple[str, ...]], str] = {
    ("Activation.h", (_BASE, _SCALAR, _SCALAR, _SCALAR)): "elu_stub",
    ("Activation.h", (_BASE, _SCALAR, _SCALAR, _SCALAR, "bool")): "elu_backward_stub",
    ("Activation.h", (_BASE, _SCALAR, _SCALAR)): "softplus_stub softplus_backward_stub threshold_stub",
    ("Activation.h", (_ITER,)): (
        "log_sigmoid_backward_stub hardswish_stub hardswish_backward_stub glu_backward_stub "
        "mish_backward_stub prelu_stub prelu_backward_stub "
    ),
    ("Activation.h", (_BASE, "GeluType")): "GeluKernel GeluBackwardKernel",
    ("Activation.h", (_ITER, _SCALAR, _SCALAR)): "hardtanh_backward_stub",
    ("Activation.h", (_BASE,)): (
        "hardsigmoid_stub hardsigmoid_backward_stub glu_stub glu_jvp_stub silu_stub silu_backward_stub mish_stub "
    ),
    ("Activation.h", (_BASE, _SCALAR)): (
        "hardshrink_stub softshrink_stub shrink_backward_stub leaky_relu_stub leaky_relu_backward_stub "
    ),
    ("BinaryOps.h", (_BASE, _SCALAR)): "add_stub sub_stub logit_backward_stub",
    ("BinaryOps.h", (_ITER, _SCALAR, _SCALAR, _SCALAR)): "add_clamp_stub",
    ("BinaryOps.h", (_BASE,)): (
        "mul_stub div_true_stub div_floor_stub div_trunc_stub atan2_stub remainder_stub bitwise_and_stub "
        "bitwise_or_stub bitwise_xor_stub lshift_stub rshift_stub lt_stub le_stub gt_stub ge_stub eq_stub "
        "ne_stub maximum_stub minimum_stub fmax_stub fmin_stub sigmoid_backward_stub tanh_backward_stub "
        "mse_stub fmod_stub logaddexp_stub logaddexp2_stub gcd_stub lcm_stub hypot_stub igamma_stub "
        "igammac_stub nextafter_stub heaviside_stub copysign_stub xlogy_stub xlog1py_stub zeta_stub "
        "chebyshev_polynomial_t_stub chebyshev_polynomial_u_stub chebyshev_polynomial_v_stub "
        "chebyshev_polynomial_w_stub hermite_polynomial_h_stub hermite_polynomial_he_stub "
        "laguerre_polynomial_l_stub legendre_polynomial_p_stub shifted_chebyshev_polynomial_t_stub "
        "shifted_chebyshev_polynomial_u_stub shifted_chebyshev_polynomial_v_stub "
        "shifted_chebyshev_polynomial_w_stub ldexp_stub "
    ),
    ("BinaryOps.h", (_ITER,)): (
        "logical_xor_stub logical_and_stub logical_or_stub max_elementwise_stub min_elementwise_stub "
    ),
    ("BinaryOps.h", (_BASE, "double")): "smooth_l1_stub",
    ("BinaryOps.h", (_ITER, "double")): "huber_stub",
    ("Copy.h", (_ITER, "bool")): "copy_stub",
    ("Fill.h", (_ITER, _SCALAR)): "fill_stub",
    ("Lerp.h", (_BASE, _SCALAR)): "lerp_kernel_scalar_weight",
    ("Lerp.h", (_BASE,)): "lerp_kernel_tensor_weight",
    ("PointwiseOps.h", (_BASE, _SCALAR)): "addcmul_stub addcdiv_stub",
    ("PointwiseOps.h", (_ITER, _SCALAR, "double")): "smooth_l1_backward_stub huber_backward_stub",
    ("PointwiseOps.h", (_ITER, _SCALAR)): "mse_backward_stub",
    ("Pow.h", (_BASE,)): "pow_tensor_tensor_stub",
    ("Pow.h", (_BASE, _SCALAR)): "pow_tensor_scalar_stub",
    ("TensorCompare.h", (_ITER,)): "where_kernel",
    ("TensorCompare.h", (_BASE,)): "isposinf_stub isneginf_stub clamp_stub",
    ("TensorCompare.h", (_BASE, _SCALAR, _SCALAR)): "clamp_scalar_stub",
    ("TensorCompare.h", (_BASE, "Scalar")): "clamp_min_scalar_stub clamp_max_scalar_stub",
    ("TensorFactories.h", (_ITER,)): "complex_stub polar_stub",
    ("UnaryOps.h", (_BASE,)): (
        "abs_stub angle_stub conj_physical_stub acos_stub acosh_stub asinh_stub atanh_stub asin_stub "
        "atan_stub bitwise_not_stub logical_not_stub ceil_stub cos_stub cosh_stub digamma_stub "
        "special_entr_stub special_erfcx_stub erf_stub erfc_stub erfinv_stub exp_stub exp2_stub expm1_stub "
        "floor_stub frac_stub frexp_stub i0_stub special_i0e_stub special_i1_stub special_i1e_stub log_stub "
        "log10_stub log1p_stub log2_stub special_ndtri_stub special_log_ndtr_stub neg_stub reciprocal_stub "
        "round_stub rsqrt_stub sigmoid_stub sign_stub signbit_stub sgn_stub sin_stub sinc_stub sinh_stub "
        "sqrt_stub tan_stub tanh_stub trigamma_stub trunc_stub lgamma_stub special_airy_ai_stub "
        "special_bessel_j0_stub special_bessel_j1_stub special_bessel_y0_stub special_bessel_y1_stub "
        "special_modified_bessel_i0_stub special_modified_bessel_i1_stub special_modified_bessel_k0_stub "
        "special_modified_bessel_k1_stub special_scaled_modified_bessel_k0_stub "
        "special_scaled_modified_bessel_k1_stub special_spherical_bessel_j0_stub "
    ),
    ("UnaryOps.h", (_BASE, _SCALAR)): "logit_stub",
    ("UnaryOps.h", (_BASE, "int64_t", "double")): "kaiser_window_stub",
    ("UnaryOps.h", (_BASE, "int64_t")): "polygamma_stub round_decimals_stub",
    (
        "UnaryOps.h",
        (_BASE, "std::optional<double>", "std::optional<double>", "std::optional<double>"),
    ): "nan_to_num_stub",
}
