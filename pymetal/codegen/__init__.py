"""From checked IR to Metal text: expressions, functors, registrations, whole files, launch kernels."""
