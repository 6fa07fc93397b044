#pragma once
namespace at::native {
using shrink_fn = void (*)(TensorIteratorBase&, const c10::Scalar&);
using softplus_fn = void (*)(TensorIteratorBase&, const c10::Scalar&, const c10::Scalar&);
using hardswish_fn = void(*)(TensorIterator&);
DECLARE_DISPATCH(shrink_fn, hardshrink_stub)
DECLARE_DISPATCH(softplus_fn, softplus_stub)
DECLARE_DISPATCH(hardswish_fn, hardswish_stub)
} // namespace at::native
