"""Generated kernels as custom calls of XLA, the compiler behind JAX, on NVIDIA GPUs: arrays stay there."""

from __future__ import annotations

import ctypes
import hashlib
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from limber.codegen.cuda import CudaFunction
from limber.codegen.program import Program
from limber.errors import LimberError, ModelWarning, warn
from limber.exchange.gradients.smooth import Smooth
from limber.exchange.gradients.xla import interface, part
from limber.native import c_compiler

#: The libraries and kernels of the targets that are registered, which must stay loaded.
_REGISTERED: dict[str, tuple[ctypes.CDLL, CudaFunction]] = {}


@cache
def available() -> bool:
    """Whether kernels can be launched: CuPy compiles them, and a C compiler their entries. A warning says what is
    missing.
    """
    try:
        import cupy  # noqa: PLC0415

        missing = "" if cupy.cuda.runtime.getDeviceCount() else "CuPy finds no GPU"
    except Exception as error:  # without a driver CuPy raises errors of its own
        missing = f"CuPy cannot be used ({type(error).__name__}: {error})"
    try:
        c_compiler.compiler()
    except LimberError as error:
        missing = str(error)
    if missing:
        warn(
            f"functions for JAX take arrays on the GPU through the memory of the host, because {missing}. With CuPy and a C compiler they "
            'stay on the GPU: pip install "limber-dynamics[gpu]".',
            ModelWarning,
        )
    return not missing


def driver() -> tuple[int, int]:
    """The addresses of cuLaunchKernel and cuCtxGetDevice."""
    library = ctypes.CDLL("libcuda.so.1")
    launch, device = (
        ctypes.cast(f, ctypes.c_void_p).value
        for f in (library.cuLaunchKernel, library.cuCtxGetDevice)
    )
    return launch or 0, device or 0


def entry(program: Program, kernel: CudaFunction, functions: tuple[int, int]) -> ctypes.CDLL:
    """The library with `limber_launch`, which XLA calls, for one kernel.

    functions : those of the driver.
    """
    # the library keeps the handles of the kernel, so that each kernel has one of its own
    mark = f"/* kernel {hashlib.sha256(kernel.source.encode()).hexdigest()} */"
    library = c_compiler.loaded("\n".join([mark, interface(program), part("xla_cuda.c")]))
    handles, threads, shared = kernel.handles()
    pointers = (ctypes.c_void_p * len(handles))(*handles)
    launch, device = map(ctypes.c_void_p, functions)
    if not library.limber_prepare(launch, device, len(handles), pointers, threads, shared):
        raise LimberError(f"functions for JAX run on up to 64 GPUs, but there are {len(handles)}.")
    return library


def target(smooth: Smooth) -> str:
    """The name of a kernel in XLA; it depends only on the code."""
    kernel = smooth.kernel
    name = f"limber_cuda_{hashlib.sha256(kernel.source.encode()).hexdigest()[:24]}"
    if name not in _REGISTERED:
        library = entry(smooth.program, kernel, driver())
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(library.limber_launch), platform="CUDA")
        _REGISTERED[name] = library, kernel
    return name


def called(smooth: Smooth, batch: tuple[int, ...], count: int, *inputs: Any) -> list[Any]:
    """The outputs of a function, computed by its kernel; `count` is the number of states in `batch`."""
    program = smooth.program
    arrays = [
        jnp.moveaxis(x.reshape(count, *a.shape), 0, -1) if x.ndim > len(a.shape) else x
        for a, x in zip(program.inputs, inputs)
    ]
    results = [jax.ShapeDtypeStruct((*a.shape, count), "float64") for a in program.outputs]
    found = jax.ffi.ffi_call(target(smooth), results)(*arrays)
    return [
        jnp.moveaxis(x, -1, 0).reshape((*batch, *a.shape)) for a, x in zip(program.outputs, found)
    ]
