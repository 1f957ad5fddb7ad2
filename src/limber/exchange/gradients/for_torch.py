"""`torch_function`: functions of a system that PyTorch differentiates and batches.

One `autograd.Function` evaluates a `Smooth` function.  Its derivatives are evaluations of the adjoint (backward) and of
the directional derivative (jvp) by the same `autograd.Function`, and so on for derivatives of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import torch

from limber.assembly.system import System
from limber.checks import shown
from limber.codegen.program import Program
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.exchange.gradients.smooth import Signature, Smooth, smooth_function


def made(system: System, function: str, options: dict[str, Any]) -> Callable[..., Any]:
    """The function that `torch_function` returns."""
    signature, smooth = smooth_function(system, function, options)

    def call(*args: Any, **named: Any) -> Any:
        tensors = _tensors(signature, signature.ordered(args, named))
        batch = signature.batch([tuple(x.shape) for x in tensors])
        for i, a in enumerate(signature.inputs):
            if tensors[i].ndim > len(a.shape):
                tensors[i] = tensors[i].expand(*batch, *a.shape)
        results = Evaluation.apply(smooth, *tensors)
        return results[0] if signature.single else results

    call.__name__ = call.__qualname__ = signature.name
    call.__doc__ = f"{signature.about}, for PyTorch: {', '.join(a.name for a in signature.inputs)}"
    return call


def _tensors(signature: Signature, values: list[Any]) -> list[torch.Tensor]:
    """Arguments in double precision, numbers and other arrays on the device of the tensors."""
    given = [(a.name, x) for a, x in zip(signature.inputs, values) if isinstance(x, torch.Tensor)]
    device = given[0][1].device if given else torch.device("cpu")
    for name, x in given:
        if x.device.type not in ("cpu", "cuda"):
            raise ArgumentValueError(
                f"{name} is on the device {str(x.device)!r}; functions of Limber run on the CPU and on GPUs with CUDA. Move "
                f"it to the CPU with {name}.cpu()."
            )
        if x.device != device:
            raise ArgumentValueError(
                f"{name} is on the device {str(x.device)!r} and {given[0][0]} on {str(device)!r}: move them to the same "
                "device."
            )
    tensors = [_tensor(a.name, x, device) for a, x in zip(signature.inputs, values)]
    for a, x in zip(signature.inputs, tensors):
        if x.is_complex() or x.dtype == torch.bool:
            raise ArgumentTypeError(f"{a.name} must be a tensor of real numbers, got {x.dtype}.")
    return [x.to(torch.float64) for x in tensors]


def _tensor(name: str, value: Any, device: torch.device) -> torch.Tensor:
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.copy()  # PyTorch warns of arrays that cannot be written to
    try:
        return torch.as_tensor(value, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentTypeError(
            f"{name} must be a tensor of real numbers, got {shown(value)}."
        ) from error


def _by_kernel(
    kernel: Callable[..., Any],
    program: Program,
    batch: tuple[int, ...],
    inputs: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """The outputs of a kernel, whose arrays have the states last; tensors stay on their device."""
    arrays = [
        (x.reshape(-1, *a.shape).movedim(0, -1) if x.ndim > len(a.shape) else x).contiguous()
        for a, x in zip(program.inputs, inputs)
    ]
    found = kernel(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    return tuple(
        x.movedim(-1, 0).reshape((*batch, *a.shape)).contiguous()
        for a, x in zip(program.outputs, found)
    )


class Evaluation(torch.autograd.Function):
    """The evaluation of a `Smooth` function of tensors."""

    @staticmethod
    def forward(smooth: Smooth, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs."""
        batch = smooth.batch([tuple(x.shape) for x in inputs])
        plain = [x.detach().resolve_neg() for x in inputs]
        if plain[0].is_cuda:
            with torch.cuda.device(plain[0].device):
                return _by_kernel(smooth.kernel, smooth.program, batch, plain)
        found = smooth.code(prod(batch))(*(x.numpy() for x in plain))
        return tuple(torch.from_numpy(np.asarray(x)) for x in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what the derivatives need."""
        ctx.smooth, tensors = inputs[0], inputs[1:]
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> tuple[Any, ...]:
        """The gradient of the weighted outputs with respect to each input."""
        given = ctx.saved_tensors
        slopes = Evaluation.apply(ctx.smooth.adjoint, *given, *weights)
        # inputs that all states share have the slopes of all of them
        return None, *(slope.sum_to_size(x.shape) for x, slope in zip(given, slopes))

    @staticmethod
    def jvp(ctx: Any, _: None, *directions: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        """The changes of the outputs for given changes of the inputs."""
        given = ctx.saved_tensors
        along = [torch.zeros_like(x) if d is None else d for x, d in zip(given, directions)]
        return Evaluation.apply(ctx.smooth.directional, *given, *along)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], smooth: Smooth, *inputs: torch.Tensor) -> Any:
        """The outputs with one more batch dimension."""
        dims = in_dims[1:]
        rows = [
            tuple(x.shape) if d is None else (*x.shape[:d], *x.shape[d + 1 :])
            for x, d in zip(inputs, dims)
        ]
        batch = smooth.batch(rows)
        moved = []
        for a, x, d, row in zip(smooth.program.inputs, inputs, dims, rows):
            if d is None and row == a.shape:
                moved.append(x)  # shared by all
                continue
            front = x[None] if d is None else x.movedim(d, 0)
            if row == a.shape:
                front = front.reshape(len(front), *(1,) * len(batch), *a.shape)
            moved.append(front.expand(info.batch_size, *batch, *a.shape))
        results = Evaluation.apply(smooth, *moved)
        return results, (0,) * len(results)
