#include <ATen/native/BinaryOps.h>

namespace at::native {

#define CREATE_BINARY_TORCH_IMPL_FUNC(func_out, func_stub)                                    \
TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& other, const Tensor& result) {    \
  func_stub(device_type(), *this);                                                            \
}

CREATE_BINARY_TORCH_IMPL_FUNC(hypot_out, hypot_stub)
CREATE_BINARY_TORCH_IMPL_FUNC(atan2_out, atan2_stub)
CREATE_BINARY_TORCH_IMPL_FUNC(gcd_out, gcd_stub)

#define CREATE_COMPARISON_SCALAR_TENSOR_IMPL_FUNC(func)             \
  TORCH_IMPL_FUNC(func##_Tensor_out)                                \
  (const Tensor& self, const Tensor& other, const Tensor& result) { \
    func##_stub(device_type(), *this);                              \
  }                                                                 \
                                                                    \
  TORCH_IMPL_FUNC(func##_Scalar_out)                                \
  (const Tensor& self, const Scalar& other, const Tensor& result) { \
    func##_stub(device_type(), *this);                              \
  }

CREATE_COMPARISON_SCALAR_TENSOR_IMPL_FUNC(gt)

TORCH_IMPL_FUNC(div_out)
(const Tensor& self, const Tensor& other, const Tensor& result) {
  div_true_stub(device_type(), *this);
}

TORCH_IMPL_FUNC(div_out_mode)
(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode, const Tensor& result) {
  if (!mode.has_value()) {
    div_true_stub(device_type(), *this);
  } else if (*mode == "trunc") {
    div_trunc_stub(device_type(), *this);
  } else {
    div_floor_stub(device_type(), *this); // "floor"
  }
}

Tensor& floor_divide_out(const Tensor& self, const Tensor& other, Tensor& result) {
  auto iter = TensorIterator::binary_op(result, self, other);
  div_floor_stub(iter.device_type(), iter);
  return result;
}

Tensor floor_divide(const Tensor& self, const Tensor& other) {
  Tensor result;
  auto iter = TensorIterator::binary_op(result, self, other);
  div_floor_stub(iter.device_type(), iter);
  return iter.output();
}

Tensor& floor_divide_(Tensor& self, const Tensor& other) {
  return native::floor_divide_out(self, other, self);
}

// Arrives at floor_divide through the dispatcher: not a row of the stub.
Tensor quotient(const Tensor& self, const Tensor& other) {
  return at::floor_divide(self, other);
}

} // namespace at::native
