"""Code generation: traced kernels as C, CUDA and CasADi functions."""

from limber.codegen.compiler import compile, operation_count

__all__ = ["compile", "operation_count"]
