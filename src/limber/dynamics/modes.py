"""Natural frequencies, damping and shapes about a configuration at rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import eigen
from limber.dynamics.evaluate import check_system, refuse, vectors
from limber.dynamics.freedoms import free_speeds
from limber.dynamics.inverse import bias, mass_matrix
from limber.dynamics.stiffness import (
    asymmetry,
    load_forces,
    load_stiffness,
    own_stiffness_and_damping,
    uncertainty,
)
from limber.errors import ArgumentValueError
from limber.native.status import NOT_FINITE

#: How many modes a printed table has at most.
LISTED = 40


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """Modes of a system: first the directions in which the configuration falls, the fastest first, then the others by
    increasing frequency.  They print as a table.

    omega : (n,) natural frequencies, rad/s; zero for a rigid-body mode and for a direction of falling.
    damping : (n,) damping ratios, negative where an oscillation grows; nan where omega is zero.
    growth : (n,) growth rates, 1/s: the real part of the eigenvalue if it is positive, else zero.
    shapes : (nv, n) shapes in v, v^T M v = 1; complex if damping or held forces couple the modes.
    eigenvalues : (n,) complex, -damping omega + i omega sqrt(1 - damping^2); of two real ones, the
        greater: the slower of an overdamped mode, the growing one of a direction of falling.
    moves : what has the largest part of the kinetic energy of each mode, in words, and that part.  The modes of a
        body are counted from 1, as those of the system are.
    """

    omega: Array
    damping: Array
    growth: Array
    shapes: np.ndarray
    eigenvalues: np.ndarray
    moves: tuple[tuple[str, float], ...]

    @property
    def frequencies(self) -> Array:
        """omega in Hz."""
        return self.omega / (2.0 * np.pi)

    def __repr__(self):
        heads = ["mode", "Hz", "rad/s", "damping", "growth 1/s", "moves most"]
        rows = [
            [
                str(i + 1),
                f"{self.frequencies[i]:.5g}",
                f"{self.omega[i]:.5g}",
                "-" if np.isnan(self.damping[i]) else f"{self.damping[i]:.4g}",
                f"{self.growth[i]:.5g}" if self.growth[i] > 0.0 else "",
                f"{self.moves[i][0]}, {100.0 * self.moves[i][1]:.0f} %",
            ]
            for i in range(min(len(self.omega), LISTED))
        ]
        if not self.growth.any():
            for row in (heads, *rows):
                del row[4]
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        lines = [
            "  ".join([*(x.rjust(w) for x, w in zip(row[:-1], widths)), row[-1]])
            for row in (heads, *rows)
        ]
        if len(self.omega) > LISTED:
            lines.append(f"... and {len(self.omega) - LISTED} more")
        return "\n".join(lines)


def modes(
    system: System,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    locked: Iterable[str] = (),
) -> Modes:
    """Natural modes of small motion about the configuration q at rest.

    Solves M x'' + D x' + K x = 0 with K the stiffness of bodies, joints and gravity, while tau is held at the value
    that keeps q in equilibrium.  D contains the slope of the joints' friction at rest, level / friction_speed: a
    joint with friction hardly moves.  If a force holds a spherical or free joint, this force follows the body,
    and K is not symmetric.  The answer is the same in any units.

    Parameters
    ----------
    q : (nq,) the configuration; the neutral one unless given.
    v : must be None or zero in this version: modes about a steady motion are not available yet.
    locked : names of bodies whose joints do not move.
    """
    check_system(system)
    q = system.neutral() if q is None else q
    rest = np.zeros(system.nv) if v is None else v
    batch, (q, v) = vectors(system, q=(q, system.nq), v=(rest, system.nv))
    if batch:
        raise ArgumentValueError(
            f"q and v must be one state, got a batch of shape {batch}. Call modes once per state."
        )
    if not np.isfinite(v).all():
        refuse(system, NOT_FINITE, 0, 1, {"v": v})
    if np.any(v):
        raise ArgumentValueError(
            "v is not zero: modes about a steady motion are not available in this version. Leave v out."
        )
    free = free_speeds(system, locked)
    M = mass_matrix(system, q[0])
    elastic, damping = own_stiffness_and_damping(system, q[0])
    loads = load_forces(system, q[0], M)
    gravity, uncertain = load_stiffness(system, q[0]), uncertainty(system, loads)
    follows = asymmetry(system, bias(system, q[0], v[0]), loads)
    part = np.ix_(free, free)
    if follows[part].any():
        solve = eigen.unsymmetric
    else:
        solve = eigen.symmetric
        gravity = 0.5 * (gravity + gravity.T)
    size = np.sqrt(np.diag(M))[free]
    scale = np.outer(size, size)
    found = solve(*(x[part] / scale for x in (M, damping, elastic, gravity, uncertain)))
    falling = (found.growth > 0.0) & (found.omega == 0.0)
    equal = np.array([float(f"{x:.9g}") for x in found.omega])  # removes rounding differences
    order = np.lexsort([-found.growth, equal, ~falling])
    shapes = np.zeros((system.nv, len(order)), dtype=found.shapes.dtype)
    shapes[free] = found.shapes[:, order] / size[:, None]
    return Modes(
        found.omega[order],
        found.damping[order],
        found.growth[order],
        shapes,
        found.eigenvalues[order],
        _movers(system, M, shapes),
    )


def _movers(system: System, M: Array, shapes: np.ndarray) -> tuple[tuple[str, float], ...]:
    """The joint, or mode of a body, with the largest share of the kinetic energy of each shape, and that share."""
    names, starts = [], []
    for name, where in system.layout.items():
        for i in range(where.v_modes.start, where.v_modes.stop):
            names.append(f"mode {i - where.v_modes.start + 1} of {name!r}")
            starts.append(i)
        if where.v_joint.stop > where.v_joint.start:
            names.append(f"joint of {name!r}")
            starts.append(where.v_joint.start)
    energy = np.abs(np.add.reduceat((shapes.conj() * (M @ shapes)).real, starts))
    share = energy / energy.sum(axis=0)
    return tuple((names[i], float(x)) for i, x in zip(share.argmax(axis=0), share.max(axis=0)))
