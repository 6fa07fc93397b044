#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/add_native.h>
#include <ATen/ops/addr_native.h>
#include <ATen/ops/atan2_native.h>
#include <ATen/ops/div_native.h>
#include <ATen/ops/floor_divide_native.h>
#include <ATen/ops/gt_native.h>
#endif

namespace at::native {
namespace mps {
static void binaryOpTensor(const Tensor& self, const Tensor& other, const Tensor& output, std::string name) {
  run(name, self, other, output);
}
} // namespace mps

TORCH_IMPL_FUNC(atan2_out_mps)(const Tensor& self, const Tensor& other, const Tensor& output) {
  mps::binaryOpTensor(self, other, output, "atan2");
}

TORCH_IMPL_FUNC(gt_tensor_out_mps)(const Tensor& self, const Tensor& other, const Tensor& output) {
  mps::binaryOpTensor(self, other, output, "gt");
}

TORCH_IMPL_FUNC(gt_scalar_out_mps)(const Tensor& self, const Scalar& other, const Tensor& output) {
  mps::binaryOpTensor(self, wrapped_scalar_tensor(other), output, "gt");
}

TORCH_IMPL_FUNC(div_out_mode_mps)
(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode, const Tensor& output) {
  mps::binaryOpTensor(self, other, output, "div");
}

TORCH_IMPL_FUNC(add_out_mps)(const Tensor& self, const Tensor& other, const Scalar& alpha, const Tensor& output) {
  mps::binaryOpTensor(self, other, output, "add");
}

Tensor& floor_divide_out_mps(const Tensor& self, const Tensor& other, Tensor& result) {
  mps::binaryOpTensor(self, other, result, "floor_divide");
  return result;
}

Tensor floor_divide_mps(const Tensor& self, const Tensor& other) {
  Tensor output = at::empty_like(self);
  mps::binaryOpTensor(self, other, output, "floor_divide");
  return output;
}

Tensor& floor_divide_mps_(Tensor& self, const Tensor& other) {
  return floor_divide_out_mps(self, other, self);
}

Tensor addr_mps(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  return self;
}

} // namespace at::native
