"""`torch_function`: functions of a system that PyTorch differentiates and batches.

One `autograd.Function` evaluates a `Smooth` function.  Its derivatives are evaluations of the adjoint (backward) and of
the directional derivative (jvp) by the same `autograd.Function`, and so on for derivatives of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import torch

from limber.assembly.system import System
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.exchange.gradients.smooth import Smooth, smooth_function


def made(system: System, function: str, options: dict[str, Any]) -> Callable[..., Any]:
    """The function that `torch_function` returns."""
    signature, smooth = smooth_function(system, function, options)

    def call(*args: Any, **named: Any) -> Any:
        tensors = [
            _tensor(a.name, x) for a, x in zip(signature.inputs, signature.ordered(args, named))
        ]
        batch = signature.batch([tuple(x.shape) for x in tensors])
        for i, a in enumerate(signature.inputs):
            if tensors[i].ndim > len(a.shape):
                tensors[i] = tensors[i].expand(*batch, *a.shape)
        results = Evaluation.apply(smooth, *tensors)
        return results[0] if signature.single else results

    call.__name__ = call.__qualname__ = signature.name
    call.__doc__ = f"{signature.about}, for PyTorch: {', '.join(a.name for a in signature.inputs)}"
    return call


def _tensor(name: str, value: Any) -> torch.Tensor:
    tensor = torch.as_tensor(value)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise ArgumentTypeError(f"{name} must be a tensor of real numbers, got {tensor.dtype}.")
    if tensor.device.type != "cpu":
        raise ArgumentValueError(
            f"{name} is on the device {str(tensor.device)!r}; functions of lb.exchange.torch_function run on the CPU. Move it "
            f'there with {name}.cpu(). Without gradients, lb.compile(..., target="cuda") runs on the GPU.'
        )
    return tensor.to(torch.float64)


class Evaluation(torch.autograd.Function):
    """The evaluation of a `Smooth` function of tensors."""

    @staticmethod
    def forward(smooth: Smooth, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs."""
        batch = smooth.batch([tuple(x.shape) for x in inputs])
        found = smooth.code(prod(batch))(*(x.detach().numpy() for x in inputs))
        return tuple(torch.from_numpy(np.asarray(x)) for x in found)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """What the derivatives need."""
        ctx.smooth, tensors = inputs[0], inputs[1:]
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> tuple[Any, ...]:
        """The slopes of the weighted outputs by each input."""
        given = ctx.saved_tensors
        slopes = Evaluation.apply(ctx.smooth.adjoint, *given, *weights)
        # inputs that all states share have the slopes of all of them
        return None, *(slope.sum_to_size(x.shape) for x, slope in zip(given, slopes))

    @staticmethod
    def jvp(ctx: Any, _: None, *directions: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        """The changes of the outputs along changes of the inputs."""
        given = ctx.saved_tensors
        along = [torch.zeros_like(x) if d is None else d for x, d in zip(given, directions)]
        return Evaluation.apply(ctx.smooth.directional, *given, *along)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], smooth: Smooth, *inputs: torch.Tensor) -> Any:
        """The outputs for one more batch dimension."""
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
