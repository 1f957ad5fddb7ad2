"""Exact mixed second derivatives of the functions of the state: along many directions, and along one more.

The kernel runs once as plain Python on dual numbers a + b e, e^2 = 0, whose parts are complex. b has one number for
each of the many directions. Imaginary parts are STEP times the derivatives along the one direction, as in
`control.kernel_slopes`, so the imaginary part of b is the mixed second derivative, without truncation or cancellation.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly import parameter_constants
from limber.assembly.packed import Packed
from limber.assembly.parameters import Parameter
from limber.assembly.system import System
from limber.checks import Array
from limber.control.kernel_slopes import STEP, outputs_of, packed_for
from limber.identification.readings import BOTH


@dataclass(frozen=True, eq=False)
class Twice:
    """A value (size,) with its derivatives along d directions and along one more direction, o.

    slopes : (size, d).
    other : (size,), along o.
    mixed : (size, d), the derivatives of `slopes` along o.
    """

    value: Array
    slopes: Array
    other: Array
    mixed: Array

    def scalars(self) -> list[_Dual]:
        """One dual number for each component."""
        a = self.value + 1j * STEP * self.other
        b = self.slopes + 1j * STEP * self.mixed
        return [_Dual(complex(x), y) for x, y in zip(a, b)]

    @classmethod
    def of(cls, scalars: list[Any], d: int) -> Twice:
        """From the scalars of a kernel."""
        a = np.array([x.a if isinstance(x, _Dual) else x for x in scalars], dtype=complex)
        b = np.zeros((len(scalars), d), dtype=complex)
        for row, x in zip(b, scalars):
            if isinstance(x, _Dual):
                row[:] = x.b
        return cls(a.real, b.real, a.imag / STEP, b.imag / STEP)

    @classmethod
    def along(cls, value: Array, slopes: Array, other: Array | None = None) -> Twice:
        """A value whose derivatives do not change along o."""
        moved = np.zeros(len(value)) if other is None else other
        return cls(value, slopes, moved, np.zeros_like(slopes))


class _Dual:
    """a + b e with a complex number a and a complex array b."""

    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        if isinstance(other, _Dual):
            return _Dual(self.a + other.a, self.b + other.b)
        return _Dual(self.a + other, self.b)

    __radd__ = __add__

    def __neg__(self):
        return _Dual(-self.a, -self.b)

    def __sub__(self, other):
        if isinstance(other, _Dual):
            return _Dual(self.a - other.a, self.b - other.b)
        return _Dual(self.a - other, self.b)

    def __rsub__(self, other):
        return _Dual(other - self.a, -self.b)

    def __mul__(self, other):
        if isinstance(other, _Dual):
            return _Dual(self.a * other.a, self.a * other.b + other.a * self.b)
        return _Dual(self.a * other, other * self.b)

    __rmul__ = __mul__

    def __truediv__(self, other):
        if isinstance(other, _Dual):
            ratio = self.a / other.a
            return _Dual(ratio, (self.b - ratio * other.b) / other.a)
        return _Dual(self.a / other, self.b / other)

    def __rtruediv__(self, other):
        ratio = other / self.a
        return _Dual(ratio, (-ratio / self.a) * self.b)

    # the elementary functions of NumPy call these

    def sin(self):
        return _Dual(cmath.sin(self.a), cmath.cos(self.a) * self.b)

    def cos(self):
        return _Dual(cmath.cos(self.a), -cmath.sin(self.a) * self.b)

    def sqrt(self):
        root = cmath.sqrt(self.a)
        return _Dual(root, (0.5 / root) * self.b)

    def log(self):
        return _Dual(cmath.log(self.a), self.b / self.a)


def mixed_slopes(
    system: System,
    row: str,
    given: Mapping[str, Twice],
    parameter: Parameter,
    place: tuple[int, ...],
    *,
    node: tuple[str, int | None] | None = None,
    external: Mapping[tuple[str, int | None], Twice] | None = None,
) -> dict[str, Twice]:
    """The outputs of a row of the table, flat, by name; a number of the model, at `place` in `parameter`, is part of
    o."""
    d = next(iter(given.values())).slopes.shape[1]
    packed = packed_for(system, row)
    const = _stepped(system, packed, parameter, place)
    out = outputs_of(
        system, row, packed, const.tolist(),
        {name: x.scalars() for name, x in given.items()}, node,
        {end: x.scalars() for end, x in (external or {}).items()},
    )  # fmt: skip
    return {name: Twice.of(part, d) for name, part in out.items()}


def _stepped(
    system: System, packed: Packed, parameter: Parameter, place: tuple[int, ...]
) -> np.ndarray:
    """The constants with a step in one number of a parameter; for symmetric matrices that kernels read as a whole, in
    both.
    """
    shape = parameter.value.shape
    places = {place, place[::-1]} if parameter.quantity in BOTH else {place}
    values: list[Any] = parameter.value.ravel().tolist()
    for at in places:
        values[int(np.ravel_multi_index(at, shape)) if at else 0] += STEP * 1j
    changed = {parameter.name: (parameter, values)}
    return parameter_constants.constants(system, packed, changed, packed.const.astype(complex))
