"""Kernels for graphics processors: `launch` makes PTX that a driver can launch, `emulator` runs the same LLVM IR on the CPU.

The driver (contexts, memory, streams) is not here yet; docs/design.md says where it goes.
"""
