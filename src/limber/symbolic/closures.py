"""Closure rows in closed form: residual(q) = 0, A(q) p = 0 and A(q) pdot + a0(q, p) = 0.

The rows are those of the kernels (`kernels.closures`), with one difference: where a joint allows no displacement, the
displacements are in world axes, as papers write them, and not in the axes of end b.
"""

from __future__ import annotations

import numpy as np

from limber.assembly import Assembly
from limber.assembly.closures import Closure
from limber.assembly.cut_joints import cut_joint_rows
from limber.errors import ModelError
from limber.kernels import layout as L
from limber.symbolic.kernels import KERNELS
from limber.symbolic.model import Model
from limber.symbolic.polynomial import Polynomial, polynomials

#: A residual below this, of a row that moves nothing, is rounding.
ROUNDING = 1e-12


def refuse_changing(assembly: Assembly) -> None:
    """Reject closures whose rows have no closed form."""
    for closure in assembly.closures.values():
        if isinstance(closure, Closure) and cut_joint_rows(closure.joint).kind == L.COMPOUND:
            raise ModelError(
                f"the cut joint of the closure {closure.name!r}, {closure.joint!r}, has no coordinates in q, and its rows have "
                "no closed form without them. Cut the loop at another of its joints, such as a Revolute or Spherical one, "
                "and attach this one."
            )


class ClosureRows:
    """The rows of the closures of a model, as polynomials; those that move nothing are left out.

    names : the closure of each row, in the order of the assembly.
    residual (m,), A (m, n), bias (m,) : A p is the rate of the residual, and bias the rate of A p at zero pdot.
    """

    def __init__(self, model: Model):
        self.names: list[str] = []
        residuals: list[Polynomial] = []
        rows: list[Polynomial] = []
        if model.packed.loops is not None:
            found = _violations(model)
            spans = model.packed.loops.slices()
            for name in model.closures:
                for x in found[spans[name]]:
                    slopes = x.gradient()
                    if slopes:
                        self.names.append(name)
                        residuals.append(x)
                        rows += [slopes.get(j, model.ring.zero) for j in range(model.size)]
                    else:
                        _refuse_gap(name, model.with_frames(x))
        self.residual = polynomials(model.ring, residuals)
        self.A = polynomials(model.ring, rows).reshape(-1, model.size)
        self.bias = polynomials(model.ring, [_rate(model, x) for x in self.A @ model.p])


def _violations(model: Model) -> np.ndarray:
    """The violations of all rows, by the kernel; displacements in world axes if a joint allows none."""
    topo, work, q = model.topo, model.scratch(), model.coordinates()
    out = np.zeros(int(topo[L.ROWS]), dtype=object)
    KERNELS.closed.violations(topo, model.const, work, q, out)
    loops = model.packed.loops
    assert loops is not None
    for number, loop in enumerate(loops.order):
        if loop.cut is not None:
            slides = [j for j, row in enumerate(loop.cut.rows) if np.any(row[3:])]
            if len(slides) == 3:
                c = int(topo[L.CLOSURES]) + number * L.COLUMNS
                _, a = KERNELS.closures.end_pose(topo, model.const, work, q, c, 0)
                _, b = KERNELS.closures.end_pose(topo, model.const, work, q, c, 1)
                for j, x, y in zip(slides, a, b):
                    out[loops.first[loop.closure.name] + j] = y - x
    return polynomials(model.ring, out)


def _rate(model: Model, x: Polynomial) -> Polynomial:
    """The rate of x at zero pdot."""
    total = model.ring.zero
    for j, slope in x.gradient().items():
        total = total + slope * model.p[j]
    return total


def _refuse_gap(name: str, residual: Polynomial) -> None:
    """Reject a row that moves nothing and is not satisfied."""
    size = residual.expand()
    if residual and not (residual.is_number() and abs(float(size)) < ROUNDING):
        raise ModelError(
            f"the closure {name!r} cannot be satisfied in any position: one of its rows is off by {size}, and no "
            "coordinate changes it. Check lengths, offsets and rotations."
        )
