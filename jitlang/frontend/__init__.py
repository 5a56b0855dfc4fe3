"""Python source to IR: one statement emitter, and on it the dialects of scripts and of kernels."""
