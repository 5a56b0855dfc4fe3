"""Modules: classes with parameters, buffers and submodules, and containers of them."""

from jitlang.nn import functional
from jitlang.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from jitlang.nn.module import Module, Parameter

__all__ = ["Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList", "Sequential", "functional"]
