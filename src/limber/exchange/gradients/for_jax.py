"""`jax_function`: functions of a system that JAX differentiates, batches and compiles.

One JAX primitive evaluates a `Smooth` function. Its rules are

    jvp         the same primitive, for the directional derivative
    transpose   of a directional derivative: the same primitive, for the adjoint of the original function
    batching    batch dimensions, which generated code supports directly
    lowering    a custom call of the generated code on the CPU, and of its kernel on NVIDIA GPUs; a callback elsewhere
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from limber.assembly.system import System
from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.exchange.gradients import xla, xla_cuda
from limber.exchange.gradients.smooth import Smooth, smooth_function

evaluation = Primitive("limber")
evaluation.multiple_results = True


def made(system: System, function: str, options: dict[str, Any]) -> Callable[..., Any]:
    """The function that `jax_function` returns."""
    signature, smooth = smooth_function(system, function, options)

    def call(*args: Any, **named: Any) -> Any:
        if jax.dtypes.canonicalize_dtype("float64") != "float64":
            raise ArgumentValueError(
                f"{signature.name} computes in double precision, which is disabled in JAX: call "
                'jax.config.update("jax_enable_x64", True) before anything else.'
            )
        arrays = [
            _array(a.name, x) for a, x in zip(signature.inputs, signature.ordered(args, named))
        ]
        batch = signature.batch([x.shape for x in arrays])
        for i, a in enumerate(signature.inputs):
            if arrays[i].ndim > len(a.shape):
                arrays[i] = jnp.broadcast_to(arrays[i], (*batch, *a.shape))
        results = evaluation.bind(*arrays, smooth=smooth)
        return results[0] if signature.single else tuple(results)

    call.__name__ = call.__qualname__ = signature.name
    call.__doc__ = f"{signature.about}, for JAX: {', '.join(a.name for a in signature.inputs)}"
    return call


def _array(name: str, value: Any) -> Any:
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{name} must be an array of real numbers, got {shown(value)}."
        ) from error
    if not jnp.issubdtype(array.dtype, jnp.floating) and not jnp.issubdtype(
        array.dtype, jnp.integer
    ):
        raise ArgumentTypeError(f"{name} must be an array of real numbers, got {array.dtype}.")
    return array.astype("float64")


def _batch(smooth: Smooth, inputs: Any) -> tuple[int, ...]:
    return smooth.batch([x.shape for x in inputs])


@evaluation.def_impl
@partial(jax.jit, static_argnames="smooth")
def _evaluated(*inputs, smooth):
    return evaluation.bind(*inputs, smooth=smooth)


@evaluation.def_abstract_eval
def _shapes(*inputs, smooth):
    batch = _batch(smooth, inputs)
    return [
        jax.core.ShapedArray((*batch, *a.shape), np.dtype("float64"))
        for a in smooth.program.outputs
    ]


def _on_host(*inputs, smooth):
    """By a callback: JAX copies arrays to this process and back."""
    batch = _batch(smooth, inputs)
    results = [jax.ShapeDtypeStruct((*batch, *a.shape), "float64") for a in smooth.program.outputs]
    code = smooth.code(prod(batch))
    return jax.pure_callback(lambda *x: code(*map(np.asarray, x)), tuple(results), *inputs)


def _on_cpu(*inputs, smooth):
    """By a custom call, without Python."""
    return xla.called(smooth, _batch(smooth, inputs), *inputs)


def _on_gpu(*inputs, smooth):
    """By a kernel: arrays stay on the GPU."""
    if not xla_cuda.available():
        return _on_host(*inputs, smooth=smooth)
    batch = _batch(smooth, inputs)
    return xla_cuda.called(smooth, batch, prod(batch), *inputs)


mlir.register_lowering(evaluation, mlir.lower_fun(_on_host, multiple_results=True))
mlir.register_lowering(evaluation, mlir.lower_fun(_on_cpu, multiple_results=True), platform="cpu")
mlir.register_lowering(evaluation, mlir.lower_fun(_on_gpu, multiple_results=True), platform="cuda")


def _jvp(primals, tangents, *, smooth):
    directions = [ad.instantiate_zeros(t) for t in tangents]
    value = evaluation.bind(*primals, smooth=smooth)
    return value, evaluation.bind(*primals, *directions, smooth=smooth.directional)


def _transposed(weights, *args, smooth):
    origin = smooth.origin
    count = len(origin.program.inputs)
    given, directions = args[:count], args[count:]
    slopes = evaluation.bind(*given, *map(ad.instantiate_zeros, weights), smooth=origin.adjoint)
    found = [None] * count
    for x, slope in zip(directions, slopes):
        if not ad.is_undefined_primal(x):
            found.append(None)
            continue
        shared = slope.ndim - x.aval.ndim  # the batch dimensions of an input that all states share
        found.append(slope.sum(tuple(range(shared))) if shared else slope)
    return found


def _batched(inputs, dims, *, smooth):
    size = next(x.shape[d] for x, d in zip(inputs, dims) if d is not None)
    rows = [
        x.shape if d is None else (*x.shape[:d], *x.shape[d + 1 :]) for x, d in zip(inputs, dims)
    ]
    batch = smooth.batch(rows)
    moved = []
    for a, x, d, row in zip(smooth.program.inputs, inputs, dims, rows):
        if d is None and row == a.shape:
            moved.append(x)  # shared by all
            continue
        front = x[None] if d is None else jnp.moveaxis(x, d, 0)
        if row == a.shape:
            front = front.reshape(len(front), *(1,) * len(batch), *a.shape)
        moved.append(jnp.broadcast_to(front, (size, *batch, *a.shape)))
    results = evaluation.bind(*moved, smooth=smooth)
    return results, [0] * len(results)


ad.primitive_jvps[evaluation] = _jvp
ad.primitive_transposes[evaluation] = _transposed
batching.primitive_batchers[evaluation] = _batched
