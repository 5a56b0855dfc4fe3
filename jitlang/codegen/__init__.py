"""IR to LLVM IR to machine code, for scripts and kernels, for every target."""
