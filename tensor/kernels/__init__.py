"""Kernels of the tensor runtime, written in the kernel language."""
