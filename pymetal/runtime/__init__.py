"""The runtime: the tensors of a call become a plan, the plan a compiled kernel, and the kernel is launched."""
