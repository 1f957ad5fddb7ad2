"""Exact derivatives of the functions of the state (`kernels.functions`) along given directions, without compiling
anything.

The kernel runs once as plain Python. Each of its scalars is an array of complex numbers, one for each state and
direction, whose imaginary part is STEP times the derivative. STEP is so small that its square is zero, so the
derivatives have no truncation error (complex-step differentiation).

Cost      one run of the kernel in Python, a few ms for ten bodies; each operation acts on all directions at once
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import prod
from types import SimpleNamespace

import numpy as np

from limber.assembly import parameter_constants
from limber.assembly.packed import Packed
from limber.assembly.parameters import Parameter
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import evaluated, node_pair, starts_at
from limber.kernels import layout as L
from limber.kernels import plain
from limber.kernels.functions import INPUTS, ROWS

#: The imaginary part of a unit slope.
STEP = 1e-150

#: A value (..., size) and its slopes (..., size, directions).
Moving = tuple[Array, Array]


class _Scalar(np.ndarray):
    """An array that kernels use as a number: `x += y` makes a new one, because x may be used elsewhere too."""

    def __iadd__(self, other):  # type: ignore[misc]
        return self + other

    def __isub__(self, other):  # type: ignore[misc]
        return self - other

    def __imul__(self, other):  # type: ignore[misc]
        return self * other

    def __itruediv__(self, other):  # type: ignore[misc]
        return self / other


@cache
def _kernels() -> SimpleNamespace:
    return plain.load(np.sin, np.cos, np.sqrt, np.log)


def along_tangent(system: System, q: Array, directions: Array) -> Moving:
    """q (..., nq) and its derivatives along directions (..., nv, n) of the tangent space, which has the layout of v."""
    rates = evaluated(system, "qdot", (q[..., None, :], np.swapaxes(directions, -1, -2)))
    return q, np.swapaxes(rates, -1, -2)


def slopes_of(
    system: System,
    row: str,
    given: Mapping[str, Moving],
    *,
    node: tuple[str, int | None] | None = None,
    external: Mapping[tuple[str, int | None], Moving] | None = None,
    driven: tuple[int, ...] = (),
    stepped: tuple[Parameter, int] | None = None,
) -> dict[str, Moving]:
    """The outputs of a row of the table, flat, with their derivatives along the directions of its inputs.

    given : by the names of its inputs. All of them, and the wrenches of `external`, have the same batch and directions.
    node : the body and the number of the node that the row refers to.
    stepped : a parameter of the model and the place of a number in it, whose derivatives are added in every direction.
    """
    packed = packed_for(system, row).with_driven(driven)
    *batch, _, count = next(iter(given.values()))[1].shape
    const = packed.const
    if stepped is not None:
        const = parameter_constants.stepped(system, packed, *stepped, STEP * 1j)
    numbers = const.tolist()
    for place, start in starts_at(system, row, given["q"][0]).items():
        numbers[place] = start[..., None].view(_Scalar)
    moving = {name: _scalars(*pair) for name, pair in given.items()}
    wrenches = {end: _scalars(*pair) for end, pair in (external or {}).items()}
    out = outputs_of(system, row, packed, numbers, moving, node, wrenches)
    shape = (*batch, count)
    result = {}
    for name, part in out.items():
        x = np.stack([np.broadcast_to(np.asarray(x, dtype=complex), shape) for x in part], axis=-2)
        result[name] = x[..., 0].real, x.imag / STEP
    return result


def packed_for(system: System, row: str) -> Packed:
    """The packed arrays that a row of the table works on."""
    return system.dynamics if ROWS[row].view == "dynamics" else system.geometry


def outputs_of(
    system: System,
    row: str,
    packed: Packed,
    const: list,
    given: Mapping[str, list],
    node: tuple[str, int | None] | None = None,
    external: Mapping[tuple[str, int | None], list] | None = None,
) -> dict[str, list]:
    """The outputs of a row of the table by name, each a flat list, from lists of scalars of any kind."""
    function = ROWS[row]
    arguments: list = []
    for name in function.takes:
        if name == "node":
            assert node is not None
            arguments += node_pair(system, packed, *node).tolist()
        elif name == "forces":
            pairs = [node_pair(system, packed, *end).tolist() for end in external or {}]
            wrenches = [x for wrench in (external or {}).values() for x in wrench]
            arguments += [len(pairs), [i for pair in pairs for i in pair], wrenches]
        elif name in function.zero:
            arguments.append([0.0] * prod(INPUTS[name].shape_in(system)))
        else:
            arguments.append(given[name])
    topo = packed.topo.tolist()
    work = [0.0] * topo[L.WORK_SIZE]
    out: list = [0.0] * function.size_in(system)
    module, _, kernel = function.kernel.partition(".")
    run = getattr(getattr(_kernels(), module), kernel)
    run(topo, const, work, *arguments, out)
    result, at = {}, 0
    for part in function.outputs:
        size = prod(part.shape_in(system))
        result[part.name] = out[at : at + size]
        at += size
    return result


def _scalars(value: Array, slope: Array) -> list[np.ndarray]:
    """One complex array (..., directions) for each component."""
    moving = value[..., None] + 1j * STEP * slope
    return [moving[..., i, :].view(_Scalar) for i in range(value.shape[-1])]
