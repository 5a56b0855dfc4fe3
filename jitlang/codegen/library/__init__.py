"""The native library of the language: containers and strings, written in the kernel language."""
