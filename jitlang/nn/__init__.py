"""Modules: classes with parameters, buffers and submodules."""

from jitlang.nn.module import Module, Parameter

__all__ = ["Module", "Parameter"]
