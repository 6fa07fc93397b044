"""Small PyTorch checkouts in the shape of two generations of upstream, for the upstream writer to edit.

Only the shape is upstream's: which files there are, how rows, stubs, macros and lists look. The headers of `c10/metal`
come from the installed torch; the older generation hides what came with torch 2.13.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import torch

OLD = "2.10"
NEW = "2.15"
GENERATIONS = (OLD, NEW)

STYLE = """\
---
AlignEscapedNewlinesLeft: true
AllowShortFunctionsOnASingleLine: Empty
AlwaysBreakTemplateDeclarations: true
AlignAfterOpenBracket: AlwaysBreak
BinPackArguments: false
BinPackParameters: false
ColumnLimit: 80
PointerAlignment: Left
---
Language: ObjC
AlignAfterOpenBracket: Align
BinPackArguments: false
BinPackParameters: false
ColumnLimit: 120
PointerAlignment: Left
...
"""

TAGS = """\
- tag: pointwise
  desc: The operator works on each element alone.
- tag: core
  desc: The operator belongs to the core set.
"""

# %MPS_X% marks what is a line of MPS's own in one generation and shared in the other.
YAML = """\
# See README.md in this directory for more guidance

- func: sgn(Tensor self) -> Tensor
  variants: function, method
  structured_delegate: sgn.out
  dispatch:
    SparseCPU, SparseCUDA, SparseMPS: sgn_sparse
  tags: pointwise

- func: sgn_(Tensor(a!) self) -> Tensor(a!)
  variants: method
  structured_delegate: sgn.out
  tags: pointwise

- func: sgn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: sgn_out
    MPS: sgn_out_mps
    SparseCPU, SparseCUDA, SparseMPS: sgn_sparse_out
  tags: pointwise

- func: frac(Tensor self) -> Tensor
  variants: function, method
  structured_delegate: frac.out
  tags: pointwise

- func: frac.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: frac_out   # rounds towards zero
    # the next line is MPSGraph's
    MPS: frac_out_mps
  tags: pointwise

- func: exp(Tensor self) -> Tensor
  variants: function, method
  structured_delegate: exp.out
  tags: pointwise

- func: exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA, MPS: exp_out
  tags: pointwise

- func: round(Tensor self) -> Tensor
  variants: function, method
  structured_delegate: round.out
  tags: pointwise

- func: round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU: round_out
    CUDA: round_out
    MPS: round_out_mps
  tags: pointwise

- func: special_airy_ai(Tensor x) -> Tensor
  python_module: special
  structured_delegate: special_airy_ai.out
  variants: function
  tags: pointwise

- func: special_airy_ai.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA: special_airy_ai_out
  python_module: special
  structured_inherits: TensorIteratorBase
  structured: True
  tags: pointwise

- func: hypot.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA, MPS: hypot_out
  tags: pointwise

- func: hypot(Tensor self, Tensor other) -> Tensor
  structured_delegate: hypot.out
  variants: method, function
  tags: pointwise

- func: atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  device_check: NoCheck   # TensorIterator
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: atan2_out
    MPS: atan2_out_mps
  tags: [core, pointwise]

- func: atan2(Tensor self, Tensor other) -> Tensor
  device_check: NoCheck   # TensorIterator
  structured_delegate: atan2.out
  variants: method, function
  tags: [core, pointwise]

- func: gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: gcd_out
  tags: pointwise

- func: gcd(Tensor self, Tensor other) -> Tensor
  structured_delegate: gcd.out
  variants: function, method
  tags: pointwise

- func: gt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  device_check: NoCheck   # TensorIterator
  dispatch:
    CPU, CUDA,MTIA: gt_Scalar_out
    MPS: gt_scalar_out_mps
    QuantizedCPU: gt_out_quantized_cpu
  tags: pointwise

- func: gt.Scalar(Tensor self, Scalar other) -> Tensor
  structured_delegate: gt.Scalar_out
  device_check: NoCheck   # TensorIterator
  variants: method, function
  tags: pointwise

- func: gt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  device_check: NoCheck   # TensorIterator
  dispatch:
    CPU, CUDA, MTIA: gt_Tensor_out
    MPS: gt_tensor_out_mps
    QuantizedCPU: gt_out_quantized_cpu
  tags: pointwise

- func: gt.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: gt.Tensor_out
  device_check: NoCheck   # TensorIterator
  variants: method, function
  tags: pointwise

- func: div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA, MPS: div_out
  tags: pointwise

- func: div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: div_out_mode
    MPS: div_out_mode_mps
  tags: pointwise

- func: div.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
  structured_delegate: div.out
  tags: [core, pointwise]

- func: div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
  variants: function, method
  structured_delegate: div.out_mode
  tags: [core, pointwise]

- func: floor_divide(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU, CUDA, MTIA: floor_divide
    MPS: floor_divide_mps

- func: floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  variants: method
  dispatch:
    CPU, CUDA: floor_divide_
    MPS: floor_divide_mps_

- func: floor_divide.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    # CPU and CUDA share a kernel
    CPU, CUDA: floor_divide_out
    MPS: floor_divide_out_mps

- func: hardshrink.out(Tensor self, Scalar lambd=0.5, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: hardshrink_out

- func: hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor
  structured_delegate: hardshrink.out
  variants: function, method

- func: hardswish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  python_module: nn
  dispatch:
    CPU, CUDA: hardswish_out
    MPS: hardswish_out_mps

- func: hardswish(Tensor self) -> Tensor
  python_module: nn
  dispatch:
    CPU, CUDA: hardswish
    MPS: hardswish_mps

- func: hardswish_(Tensor(a!) self) -> Tensor(a!)
  python_module: nn
  dispatch:
    CPU, CUDA: hardswish_
    MPS: hardswish_mps_

- func: softplus.out(Tensor self, Scalar beta=1, Scalar threshold=20, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  python_module: nn
  dispatch:
    CPU, CUDA: softplus_out
    MPS: softplus_out_mps

- func: softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
  structured_delegate: softplus.out
  python_module: nn

- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: add (AllAndComplex, BFloat16, Half, ComplexHalf)
    ScalarOnly: add (Bool)
  dispatch:
    SparseCPU, SparseMeta: add_out_sparse_cpu
    MPS: add_out_mps

- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
  variants: function, method
  tags: [core, pointwise]

- func: addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
  variants: function, method
  dispatch:
    CPU: addr_cpu
    CUDA: addr_cuda
    MPS: addr_mps

- func: _amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf) -> Tensor(a!)
  variants: function
  dispatch:
    CUDA: _amp_update_scale_cuda_
    CPU: _amp_update_scale_cpu_

    #- func: _cat(Tensor[] tensors, int dim=0) -> Tensor
    #dispatch:
    #CPU: _cat_cpu
    #MPS: cat_mps

- func: relu6(Tensor self) -> Tensor
  python_module: nn
"""

UNARY_CPP = """\
#include <ATen/native/UnaryOps.h>

namespace at::native {

#define CREATE_UNARY_TORCH_IMPL_FUNC(func_out, func_stub)            \\
TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& result) { \\
  func_stub(device_type(), *this);                                   \\
}

CREATE_UNARY_TORCH_IMPL_FUNC(sgn_out, sgn_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(frac_out, frac_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(exp_out, exp_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(round_out, round_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(special_airy_ai_out, special_airy_ai_stub)

} // namespace at::native
"""

BINARY_CPP = """\
#include <ATen/native/BinaryOps.h>

namespace at::native {

#define CREATE_BINARY_TORCH_IMPL_FUNC(func_out, func_stub)                                    \\
TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& other, const Tensor& result) {    \\
  func_stub(device_type(), *this);                                                            \\
}

CREATE_BINARY_TORCH_IMPL_FUNC(hypot_out, hypot_stub)
CREATE_BINARY_TORCH_IMPL_FUNC(atan2_out, atan2_stub)
CREATE_BINARY_TORCH_IMPL_FUNC(gcd_out, gcd_stub)

#define CREATE_COMPARISON_SCALAR_TENSOR_IMPL_FUNC(func)             \\
  TORCH_IMPL_FUNC(func##_Tensor_out)                                \\
  (const Tensor& self, const Tensor& other, const Tensor& result) { \\
    func##_stub(device_type(), *this);                              \\
  }                                                                 \\
                                                                    \\
  TORCH_IMPL_FUNC(func##_Scalar_out)                                \\
  (const Tensor& self, const Scalar& other, const Tensor& result) { \\
    func##_stub(device_type(), *this);                              \\
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
"""

ACTIVATION_CPP = """\
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
"""

HEADERS = {
    "UnaryOps.h": """\
#pragma once
namespace at::native {
using unary_fn = void(*)(TensorIteratorBase&);
DECLARE_DISPATCH(unary_fn, sgn_stub)
DECLARE_DISPATCH(unary_fn, frac_stub)
DECLARE_DISPATCH(unary_fn, exp_stub)
DECLARE_DISPATCH(unary_fn, round_stub)
DECLARE_DISPATCH(unary_fn, special_airy_ai_stub)
} // namespace at::native
""",
    "BinaryOps.h": """\
#pragma once
namespace at::native {
using structured_binary_fn = void(*)(TensorIteratorBase&);
DECLARE_DISPATCH(structured_binary_fn, hypot_stub)
DECLARE_DISPATCH(structured_binary_fn, atan2_stub)
DECLARE_DISPATCH(structured_binary_fn, gcd_stub)
DECLARE_DISPATCH(structured_binary_fn, gt_stub)
DECLARE_DISPATCH(structured_binary_fn, div_true_stub)
DECLARE_DISPATCH(structured_binary_fn, div_trunc_stub)
DECLARE_DISPATCH(structured_binary_fn, div_floor_stub)
} // namespace at::native
""",
    "Activation.h": """\
#pragma once
namespace at::native {
using shrink_fn = void (*)(TensorIteratorBase&, const c10::Scalar&);
using softplus_fn = void (*)(TensorIteratorBase&, const c10::Scalar&, const c10::Scalar&);
using hardswish_fn = void(*)(TensorIterator&);
DECLARE_DISPATCH(shrink_fn, hardshrink_stub)
DECLARE_DISPATCH(softplus_fn, softplus_stub)
DECLARE_DISPATCH(hardswish_fn, hardswish_stub)
} // namespace at::native
""",
}

LIBRARY = {
    OLD: """\
class MetalShaderLibrary {
 public:
  void exec_unary_kernel(
      TensorIteratorBase& iter,
      const std::string& name,
      const std::optional<c10::Scalar> alpha = std::nullopt,
      const std::optional<c10::ScalarType> scalar_arg_type = std::nullopt);
  void exec_binary_kernel(
      TensorIteratorBase& iter,
      const std::string& name,
      const std::optional<c10::Scalar> alpha = std::nullopt,
      const std::optional<c10::ScalarType> scalar_arg_type = std::nullopt);
  void exec_ternary_kernel(TensorIteratorBase& iter, const std::string& name);
};
""",
    NEW: """\
class MetalShaderLibrary {
 public:
  void exec_unary_kernel(
      TensorIteratorBase& iter,
      const std::string& name,
      const std::optional<c10::Scalar> alpha = std::nullopt,
      const std::optional<c10::ScalarType> scalar_arg_type = std::nullopt,
      const std::optional<uint32_t> ilp_threshold = std::nullopt);
  // Comparisons pass kBool as natural_output_dtype.
  void exec_binary_kernel(
      TensorIteratorBase& iter,
      const std::string& name,
      const std::optional<c10::Scalar> alpha = std::nullopt,
      const std::optional<c10::ScalarType> scalar_arg_type = std::nullopt,
      const std::optional<c10::ScalarType> natural_output_dtype = std::nullopt,
      const std::optional<uint32_t> ilp_threshold = std::nullopt);
  void exec_ternary_kernel(
      TensorIteratorBase& iter,
      const std::string& name,
      const std::optional<c10::Scalar> alpha = std::nullopt,
      const std::optional<c10::ScalarType> scalar_arg_type = std::nullopt);
};
""",
}

UNARY_METAL = """\
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;
using namespace c10::metal;

struct exp_functor {
  template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
  inline T operator()(const T x) {
    return static_cast<T>(::metal::precise::exp(static_cast<float>(x)));
  }
  template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
  inline float operator()(const T x) {
    return ::metal::precise::exp(static_cast<float>(x));
  }
};

#define REGISTER_UNARY_OP2(NAME, DTYPE) REGISTER_UNARY_OP(NAME, DTYPE, DTYPE)

REGISTER_UNARY_OP(exp, int, float);
REGISTER_UNARY_OP2(exp, float);
REGISTER_UNARY_OP2(exp, half);
#if __METAL_VERSION__ >= 310
REGISTER_UNARY_OP2(exp, bfloat);
#endif
"""

BINARY_METAL = """\
#include <c10/metal/indexing.h>
#include <c10/metal/utils.h>
#include <metal_stdlib>
using namespace metal;

struct hypot_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(precise::sqrt(float(a) * a + float(b) * b));
  }
};

// The quotient, in float for integers.
struct div_true_functor {
  template <typename T>
  inline T operator()(const T a, const T b) {
    return static_cast<T>(a / b);
  }
};

#define REGISTER_FLOAT_BINARY_OP(NAME)    \\
  REGISTER_BINARY_OP(NAME, float, float); \\
  REGISTER_BINARY_OP(NAME, half, half);   \\
  REGISTER_BINARY_OP(NAME, bfloat, bfloat)

#define REGISTER_INT2FLOAT_BINARY_OP(NAME) \\
  REGISTER_BINARY_OP(NAME, long, float);   \\
  REGISTER_BINARY_OP(NAME, int, float);    \\
  REGISTER_BINARY_OP(NAME, short, float);  \\
  REGISTER_BINARY_OP(NAME, uchar, float);  \\
  REGISTER_BINARY_OP(NAME, char, float);   \\
  REGISTER_BINARY_OP(NAME, bool, float)

REGISTER_FLOAT_BINARY_OP(hypot);
REGISTER_FLOAT_BINARY_OP(div_true);

// Complex comes last.
"""

ACTIVATION_METAL = """\
#include <c10/metal/indexing.h>
#include <metal_stdlib>
using namespace metal;

struct hardswish_functor {
  template <typename T>
  inline T operator()(const T x) {
    const float y = ::metal::min(::metal::max(float(x) + 3.0f, 0.0f), 6.0f);
    return static_cast<T>(float(x) * y / 6.0f);
  }
};

REGISTER_UNARY_OP(hardswish, float, float);
REGISTER_UNARY_OP(hardswish, half, half);
#if __METAL_VERSION__ >= 310
REGISTER_UNARY_OP(hardswish, bfloat, bfloat);
#endif
"""

UNARY_MM = """\
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>
#include <fmt/format.h>

namespace at::native {

#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/UnaryKernel_metallib.h>
#endif

#define REGISTER_UNARY_TI_DISPATCH(NAME)                    \\
  static void NAME##_kernel_mps(TensorIteratorBase& iter) { \\
    lib.exec_unary_kernel(iter, #NAME);                     \\
  }                                                         \\
  REGISTER_DISPATCH(NAME##_stub, NAME##_kernel_mps)

REGISTER_UNARY_TI_DISPATCH(exp);
} // namespace at::native
"""

BINARY_MM = """\
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/ExpandUtils.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
#ifndef PYTORCH_JIT_COMPILE_SHADERS
static auto& lib = mps::MetalShaderLibrary::getBundledLibrary();
#else
#include <ATen/native/mps/BinaryKernel_metallib.h>
#endif

static void hypot_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "hypot");
}

static void div_true_mps_kernel(TensorIteratorBase& iter) {
  lib.exec_binary_kernel(iter, "div_true");
}

REGISTER_DISPATCH(hypot_stub, &hypot_mps_kernel)
REGISTER_DISPATCH(div_true_stub, &div_true_mps_kernel)
} // namespace at::native
"""

ACTIVATION_MM = """\
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
"""

UNARY_OPS_MM = """\
//  Copyright of the graph's author
#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/native/mps/OperationUtils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#else
#include <ATen/ops/frac_native.h>
#include <ATen/ops/round_native.h>
#include <ATen/ops/sgn_native.h>
#endif

namespace at::native {
namespace mps {

typedef MPSGraphTensor* (^UnaryOpBlock)(MPSGraph*, MPSGraphTensor*);

static void unary_op(const Tensor& self, const Tensor& output, std::string name, UnaryOpBlock block) {
  auto key = name + "{"; // an unbalanced brace in a string, and one here: {
  run(key, self, output, block);
}

static MPSGraphTensor* trunc_tensor(MPSGraph* graph, MPSGraphTensor* input) {
  return [graph truncateWithTensor:input name:nil];
}

} // namespace mps

// Simulated with clamp, because
// sign has no int64 kernel.
TORCH_IMPL_FUNC(sgn_out_mps)(const Tensor& self, const Tensor& output) {
  mps::unary_op(self, output, "sgn_out_mps", ^MPSGraphTensor*(MPSGraph* graph, MPSGraphTensor* input) {
    if ([input dataType] == MPSDataTypeInt64) {
      return [graph clampWithTensor:input name:nil];
    }
    return [graph signWithTensor:input name:nil];
  });
}

TORCH_IMPL_FUNC(frac_out_mps)(const Tensor& self, const Tensor& output) {
  TORCH_CHECK(isFloatingType(self.scalar_type()), "frac_out_mps is only implemented for floating types");
  mps::unary_op(self, output, "frac_out_mps", ^MPSGraphTensor*(MPSGraph* graph, MPSGraphTensor* input) {
    return [graph subtractionWithPrimaryTensor:input secondaryTensor:mps::trunc_tensor(graph, input) name:nil];
  });
}

#define CREATE_MPS_STRUCTURED_UNARY_ROUNDING_TORCH_IMPL_FUNC(func_out, func_stub)                       \\
  TORCH_IMPL_FUNC(func_out)(const Tensor& self, const Tensor& output) {                                 \\
    mps::unary_op(self, output, #func_out, ^MPSGraphTensor*(MPSGraph * graph, MPSGraphTensor * input) { \\
      return [graph func_stub##WithTensor:input name:nil];                                              \\
    });                                                                                                 \\
  }

CREATE_MPS_STRUCTURED_UNARY_ROUNDING_TORCH_IMPL_FUNC(round_out_mps, round)

} // namespace at::native
"""

BINARY_OPS_MM = """\
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
"""

COMMON_MPS = {
    OLD: """\
import unittest

import torch

from .opinfo.core import DecorateInfo

if torch.backends.mps.is_available():

    def mps_ops_modifier(ops, device_type="mps", xfail_exclusion=None):
        SUPPORTED_COMPLEX_OPS = {
            "abs",
            "atan2",
        }

        # Those ops are not expected to work
        UNIMPLEMENTED_XFAILLIST = {
            "heaviside": None,  # no kernel
            "special.airy_ai": None,
            "gcd": None,
            # "sgn": None,
            "sgn": [torch.bool, torch.float16],
            "nn.functional.hardshrink": None,
            "frac": [
                torch.float16,
                torch.int64,  # never
            ],
        }
        UNDEFINED_XFAILLIST = {"atan2": None, "put": None}
        SKIPLIST = {
            "atan2",
        }
        for op in ops:
            key = op.name + op.variant_test_name

    def mps_ops_grad_modifier(ops):
        XFAILLIST_GRAD = {
            # Unimplemented
            "special.airy_ai": [torch.float32],
            "atan2": [torch.float16],
        }
""",
    NEW: """\
import unittest
from collections.abc import Sequence

import torch

from .opinfo.core import DecorateInfo, OpInfo


if torch.backends.mps.is_available():

    def mps_ops_modifier(
        ops: Sequence[OpInfo], device_type: str = "mps", sparse: bool = False
    ) -> Sequence[OpInfo]:
        # Complex inputs are refused
        UNSUPPORTED_COMPLEX_OPS = {
            "atan2",
            "sgn",
            "exp",
        }

        UNIMPLEMENTED_XFAILLIST: dict[str, list | None] = {
            "special.airy_ai": None,
            "gcd": None,
            "sgn": [torch.bool, torch.float16],
            "nn.functional.hardshrink": None,
            "gt": [
                torch.complex64,
            ],
        }
        if sparse:
            UNIMPLEMENTED_XFAILLIST.update({})

        SKIPLIST = {
            # precision
            "atan2": [torch.float16],
        }

    def mps_ops_grad_modifier(ops: Sequence[OpInfo]) -> Sequence[OpInfo]:
        XFAILLIST_GRAD: dict[str, list | None] = {
            "special.airy_ai": [torch.float32],
        }
""",
}

OPINFO = """\
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, DecorateInfo, OpInfo, UnaryUfuncInfo

op_db = [
    UnaryUfuncInfo(
        "sgn",
        dtypes=all_types(),
    ),
    BinaryUfuncInfo(
        "atan2",
        aliases=("arctan2",),
        decorators=(DecorateInfo(expectedFailureMPS, "TestCommon", "test_out"),),
        skips=(
            DecorateInfo(unittest.expectedFailure, "TestCommon", "test_dtypes", device_type="mps"),
            DecorateInfo(unittest.expectedFailure, "TestCommon", "test_dtypes", device_type="cuda"),
        ),
    ),
    BinaryUfuncInfo("div", variant_test_name="floor_rounding"),
    UnaryUfuncInfo("special.airy_ai", skips=(DecorateInfo(unittest.skip("slow"), device_type="mps"),)),
    OpInfo("nn.functional.hardshrink", aten_name="hardshrink"),
]
"""

FALLBACK = """\
inductor_fallback_ops = {
    "aten.exp.default": {},
    "aten.gcd.default": {},
}
"""

SHIM = """\
#pragma once

AOTI_TORCH_EXPORT AOTITorchError aoti_torch_{0}_exp(AtenTensorHandle self, AtenTensorHandle* ret0);
"""

SHIM_GCD = """\
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_cpu_gcd(AtenTensorHandle self, AtenTensorHandle other, AtenTensorHandle* r);
"""

INDUCTOR = """\
class MetalOverrides(OpOverrides):
    @staticmethod
    def exp(x):
        return f"metal::exp({x})"

    @staticmethod
    def atan2(x, y):
        return f"::metal::atan2({x}, {y})"

    @classmethod
    def _initialize_special_ops(cls):
        # Unary special ops
        for name in [
            "erf",
            "i0",
        ]:
            setattr(cls, name, functools.partialmethod(cls._special_unary, name=name))

        # Unary special ops with forward in method name
        for name in [
            "bessel_j0",
        ]:
            setattr(cls, name, functools.partialmethod(cls._special_unary, name=name + "_forward"))

        # Binary special ops
        for name in [
            "polygamma",
        ]:
            setattr(cls, name, functools.partialmethod(cls._special_binary, name=name))
"""


def files(generation: str) -> dict[str, str]:
    """The text files of a tree, by path."""
    native = "aten/src/ATen/native"
    mps = f"{native}/mps"
    testing = "torch/testing/_internal"
    shims = "torch/csrc/inductor/aoti_torch/generated"
    found = {
        ".clang-format": STYLE,
        f"{native}/native_functions.yaml": YAML,
        f"{native}/tags.yaml": TAGS,
        f"{native}/UnaryOps.cpp": UNARY_CPP,
        f"{native}/BinaryOps.cpp": BINARY_CPP,
        f"{native}/Activation.cpp": ACTIVATION_CPP,
        f"{native}/sparse/SparseOps.cpp": "Tensor sgn_sparse(const Tensor& self) {\n  return self;\n}\n",
        **{f"{native}/{name}": text for name, text in HEADERS.items()},
        f"{mps}/MetalShaderLibrary.h": LIBRARY[generation],
        f"{mps}/kernels/UnaryKernel.metal": UNARY_METAL,
        f"{mps}/kernels/BinaryKernel.metal": BINARY_METAL,
        f"{mps}/kernels/ActivationKernel.metal": ACTIVATION_METAL,
        f"{mps}/operations/UnaryKernel.mm": UNARY_MM,
        f"{mps}/operations/BinaryKernel.mm": BINARY_MM,
        f"{mps}/operations/ActivationKernel.mm": ACTIVATION_MM,
        f"{mps}/operations/UnaryOps.mm": UNARY_OPS_MM,
        f"{mps}/operations/BinaryOps.mm": BINARY_OPS_MM,
        f"{testing}/common_mps.py": COMMON_MPS[generation],
        f"{testing}/common_methods_invocations.py": OPINFO,
        "torchgen/aoti/fallback_ops.py": FALLBACK,
        f"{shims}/c_shim_cpu.h": SHIM.format("cpu") + SHIM_GCD,
        f"{shims}/c_shim_mps.h": SHIM.format("mps"),
        "torch/_inductor/codegen/mps.py": INDUCTOR,
    }
    if generation == NEW:
        found[f"{mps}/kernels/TensorCompare.metal"] = "#include <c10/metal/indexing.h>\n"
    return found


def make(root: Path, generation: str, *, git: bool = False) -> Path:
    """Writes a tree of `generation` to `root`, as a git repository if wanted."""
    for path, text in files(generation).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="")
    installed = Path(torch.__file__).parent / "include/c10/metal"
    shutil.copytree(installed, root / "c10/metal")
    if generation == OLD:
        indexing = root / "c10/metal/indexing.h"
        text = indexing.read_text(encoding="utf-8")
        # Continuation lines and all.
        text = re.sub(r"#define REGISTER_BINARY_CASTOUT_OP\(.*?[^\\]\n", "\n", text, flags=re.DOTALL)
        indexing.write_text(text, encoding="utf-8")
    if git:
        commit(root, "base")
    return root


def commit(root: Path, message: str) -> None:
    """Commits everything, making a repository where there is none."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", message]):
        subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a tree with its bytes and mode, git's own left out."""
    found = {}
    for place in sorted(root.rglob("*")):
        relative = place.relative_to(root)
        if relative.parts[0] != ".git" and place.is_file() and not place.is_symlink():
            found[str(relative)] = (place.read_bytes(), place.stat().st_mode & 0o7777)
    return found
