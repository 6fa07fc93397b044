"""From tensors to a launch: planning, devices, compilation."""
