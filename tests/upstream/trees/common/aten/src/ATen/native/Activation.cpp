#include <ATen/native/Activation.h>

namespace at::native {

TORCH_IMPL_FUNC(hardshrink_out)(const Tensor& self, const Scalar& lambd, const Tensor& result) {
  hardshrink_stub(device_type(), *this, lambd);
}

TORCH_IMPL_FUNC(softplus_out)(
  const Tensor& self, const Scalar& beta, const Scalar& threshold, const Tensor& result
) {
  softplus_stub(device_type(), *this, beta, threshold);
}

Tensor hardswish(const Tensor& self) {
  Tensor result;
  auto iter = TensorIterator::unary_op(result, self);
  hardswish_stub(iter.device_type(), iter);
  return iter.output();
}

Tensor& hardswish_out(const Tensor& self, Tensor& result) {
  auto iter = TensorIterator::unary_op(result, self);
  hardswish_stub(iter.device_type(), iter);
  return result;
}

Tensor& hardswish_(Tensor& self) {
  auto iter = TensorIterator::unary_op(self, self);
  hardswish_stub(iter.device_type(), iter);
  return self;
}

} // namespace at::native
