"""What the IR means, without Metal: its values as torch tensors, and its derivative as IR again."""
