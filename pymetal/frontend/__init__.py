"""From a Python function to checked IR: read it, resolve its names, type it, verify it."""
