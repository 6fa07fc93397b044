#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/TensorIterator.h>
#include <ATen/native/Activation.h>
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/ActivationKernel_metallib.h>
#endif

Tensor& hardswish_out_mps(const Tensor& self, Tensor& output) {
  auto iter = TensorIterator::unary_op(output, self);
  lib.exec_unary_kernel(iter, "hardswish");
  return output;
}

Tensor hardswish_mps(const Tensor& self) {
  Tensor output = at::empty_like(self);
  return hardswish_out_mps(self, output);
}

Tensor& hardswish_mps_(Tensor& self) {
  return hardswish_out_mps(self, self);
}

TORCH_IMPL_FUNC(softplus_out_mps)
(const Tensor& self, const Scalar& beta, const Scalar& threshold, const Tensor& result) {
  result.copy_(self); // stands for a graph
}

} // namespace at::native
