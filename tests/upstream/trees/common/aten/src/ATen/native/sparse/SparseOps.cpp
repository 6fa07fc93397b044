Tensor sgn_sparse(const Tensor& self) {
  return self;
}
