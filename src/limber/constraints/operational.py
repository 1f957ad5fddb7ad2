"""Operational space: the dynamics as seen at a set of ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import End, Probe
from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array, integer, numbers, shown
from limber.dynamics.ends import Ends, checked_ends
from limber.dynamics.evaluate import External, check_system, evaluated
from limber.dynamics.forward import force_key, ready_answer
from limber.dynamics.freedoms import undeformed
from limber.dynamics.kinematics import jacobian
from limber.dynamics.sought import warn_where_missed
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints import Fixed

#: An eigenvalue of the inverse inertia, in units in which its entries would be about 1 if nothing cancelled, that
#: counts as zero.  `fronts.DEPENDENT` is the same for closure rows.
NONE = 1e-12
#: The velocity of an end that counts as zero, relative to its rotation and to the size of the system.
NOTHING = 1e-13
#: The rows of an end that `components` names.
COMPONENTS = {"all": range(6), "angular": range(3), "linear": range(3, 6)}


def operational_inertia(
    system: System, q: ArrayLike, ends: Ends, *, components: str | Sequence[int] = "all"
) -> OperationalSpace:
    """The inertia of a system against forces at ends, and related quantities, as an `OperationalSpace`.

    With the Jacobian J of the ends, `inverse` is J M^{-1} J^T and `inertia` its inverse.  In a closed system M^{-1} is
    the constrained inverse, so the inertia is that of the mechanism.  O(N + n^2) for n rows, by one sweep that carries
    the rows inward to the world; the mass matrix is not formed.

    Parameters
    ----------
    q : (..., nq); leading dimensions are a batch.
    ends : ("body", node), or a list of them; node None is the body frame.
    components : the components of [angular; linear] of each end to include, in world axes: "all", "angular", "linear",
        or a list of numbers from 0 to 5.

    A ruthless system has the inertia of its undeformed geometry.
    """
    check_system(system)
    found = checked_ends(system, ends)
    rows = _rows(components, len(found))
    watched = probed(system, found)
    zero = np.zeros(system.nv)
    inverse, sizes, _ = _motion(watched, q, zero, zero)
    if system.closures:
        warn_where_missed(system, q)
    scale = _scales(inverse, sizes, watched._ready["extent"])[..., rows]
    inverse = np.ascontiguousarray(inverse[..., rows[:, None], rows])
    inertia, rank = _inverted(inverse, scale)
    return OperationalSpace(
        system, np.asarray(q, dtype=float).copy(), found, inverse, inertia, rank, rows, watched
    )


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """The dynamics of a system at ends: inertia a + bias(v) = consistent_inverse^T tau + force.

    The n rows are the velocities of the ends, [angular; linear] of one end after the other in world axes, limited to
    `components`; a contains their rates, and `force` acts along them.

    ends : (body, number of the node or None).
    inverse : (..., n, n), J M^{-1} J^T: the accelerations that forces cause.
    inertia : (..., n, n), its inverse, or its pseudo-inverse if it is singular.
    rank : (...), the number of independent directions in which the ends can move; less than n in singular
        configurations, or if there are more rows than degrees of freedom.
    """

    system: System
    q: Array
    ends: tuple[tuple[str, int | None], ...]
    inverse: Array
    inertia: Array
    rank: np.ndarray
    rows: np.ndarray = field(repr=False)
    _watched: System = field(repr=False)

    @cached_property
    def jacobian(self) -> Array:
        """J (..., n, nv); that of the undeformed geometry if the system is ruthless."""
        q = undeformed(self.system, self.q) if self.system.fidelity == "ruthless" else self.q
        J = jacobian(self.system, q, list(self.ends))
        return np.ascontiguousarray(J[..., self.rows, :])

    @cached_property
    def response(self) -> Array:
        """M^{-1} J^T (..., nv, n): the accelerations vdot due to forces at the ends, by one sweep for each."""
        found = evaluated(
            self._watched, "operational_inertia", (self.q,), row="operational_responses"
        )
        return np.ascontiguousarray(np.swapaxes(found[..., self.rows, :], -1, -2))

    @cached_property
    def consistent_inverse(self) -> Array:
        """The dynamically consistent inverse of J, (..., nv, n): M^{-1} J^T inertia.

        Of all speeds that give the ends a certain velocity, it gives those of least kinetic energy.  Its transpose
        converts generalized forces into the forces at the ends that have the same effect there.
        """
        return self.response @ self.inertia

    @cached_property
    def null_space(self) -> Array:
        """The projector (..., nv, nv) I - consistent_inverse J onto speeds that leave the ends at rest.

        Its transpose converts generalized forces into ones that do not accelerate the ends.
        """
        return np.eye(self.system.nv) - self.consistent_inverse @ self.jacobian

    def acceleration(
        self,
        v: ArrayLike,
        tau: ArrayLike,
        force: ArrayLike | None = None,
        *,
        external: External | None = None,
    ) -> Array:
        """Forward dynamics: the accelerations (..., n) of the ends.

        v, tau : (..., nv).
        force : (..., n) at the ends.
        external : as in `forward_dynamics`.
        """
        a = _motion(self._watched, self.q, v, tau, external)[2][..., self.rows]
        if force is None:
            return a
        f = numbers("force", force, f"(..., {len(self.rows)})")
        if f.ndim == 0 or f.shape[-1] != len(self.rows):
            raise ArgumentValueError(
                f"force must have shape (..., {len(self.rows)}), one number for each row of the ends, got {f.shape}."
            )
        return a + (self.inverse @ f[..., None])[..., 0]

    def bias(self, v: ArrayLike) -> Array:
        """The forces (..., n) that keep the ends unaccelerated without tau, due to velocities, gravity and springs.

        It is inertia (J M^{-1} bias - (dJ/dt) v), with the `lb.bias` of the system.
        """
        a = self.acceleration(v, np.zeros(self.system.nv))
        return -(self.inertia @ a[..., None])[..., 0]

    def __repr__(self):
        n = len(self.rows)
        ends = ", ".join(
            f"{body!r}" if node is None else f"{body!r}/{node}" for body, node in self.ends
        )
        low, high = int(np.min(self.rank, initial=n)), int(np.max(self.rank, initial=0))
        rank = f"{low}" if low >= high else f"{low} to {high}"
        return f"OperationalSpace({self.system.name!r} at {ends}, {n} rows, rank={rank})"


def probed(system: System, ends: tuple[tuple[str, int | None], ...]) -> System:
    """The system with rows that observe these ends, after its closures; it is stored with the system."""
    key = ("probed", ends)
    if key not in system._ready:
        world = End("world", None, np.zeros(3), np.eye(3))
        probes = [
            # closures do not have such names
            Probe(f"\0{i}", world, End(body, node, np.zeros(3), np.eye(3)), Fixed())
            for i, (body, node) in enumerate(ends)
        ]
        watched = system.closed_by([*system.closures.values(), *probes])
        watched._ready["extent"] = extent(system)
        system._ready[key] = watched
    return system._ready[key]


def _motion(
    watched: System, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: External | None = None
) -> tuple[Array, Array, Array]:
    """The result of `kernels.operational.motion`."""
    answer = ready_answer(watched, "motion", external, q, v, tau)
    if answer is None:
        answer = evaluated(
            watched, "operational_inertia", (q, v, tau), external=external, row="operational_motion",
            key=force_key("motion", external),
        )  # fmt: skip
    return answer  # type: ignore[return-value]


def _rows(components: str | Sequence[int], ends: int) -> np.ndarray:
    """Which of the 6 rows of each end are included, stacked."""
    if isinstance(components, str):
        if components not in COMPONENTS:
            raise ArgumentValueError(
                f'components must be "all", "angular", "linear" or a list of numbers from 0 to 5, got {components!r}.'
            )
        own = list(COMPONENTS[components])
    else:
        try:
            own = [integer(i) for i in components]  # type: ignore[misc]
        except TypeError:
            own = []
        if not own or len(set(own)) < len(own) or not all(i in range(6) for i in own):
            raise ArgumentTypeError(
                'components must be "all", "angular", "linear" or a list of different numbers from 0 to 5 (angular x, y, z, '
                f"linear x, y, z), got {shown(components)}."
            )
    return np.concatenate([6 * e + np.array(own, dtype=np.int64) for e in range(ends)])


def _scales(inverse: Array, sizes: Array, length: float) -> Array:
    """The square roots of the diagonal that the inverse inertia would have if nothing cancelled.

    They are equal in all directions of a rotation or translation, and zero for those of an end that does not rotate, or
    does not translate, except for rounding.

    sizes : those of the kernels, which do not see what cancels among the distances of an end from the axes of all
        joints.  The size of the system shows it.
    """
    largest = np.maximum(sizes, np.diagonal(inverse, axis1=-2, axis2=-1))
    parts = np.sqrt(largest.reshape(*sizes.shape[:-1], -1, 2, 3).sum(axis=-1))
    turn, shift = parts[..., 0], parts[..., 1]
    roots = np.stack(
        [
            np.where(turn > NOTHING * shift / length, turn, 0.0),
            np.where(shift > NOTHING * turn * length, shift, 0.0),
        ],
        axis=-1,
    )
    return np.repeat(roots, 3, axis=-1).reshape(sizes.shape)


def _inverted(inverse: Array, scale: Array) -> tuple[Array, np.ndarray]:
    """The inertia and its rank."""
    moves = scale > 0.0
    unit = np.where(moves, 1.0 / np.where(moves, scale, 1.0), 0.0)
    units = unit[..., :, None] * unit[..., None, :]
    values, vectors = np.linalg.eigh(inverse * units)
    kept = values > NONE
    rank = kept.sum(axis=-1)
    halves = vectors / np.where(kept, values, 1.0)[..., None, :]
    inertia = halves @ np.swapaxes(vectors, -1, -2) * units
    for i in np.argwhere(rank < inverse.shape[-1]):
        at = tuple(i)
        rows = np.flatnonzero(moves[at])
        inertia[at] = 0.0
        inertia[at][np.ix_(rows, rows)] = _pseudo_inverse(
            inverse[at][np.ix_(rows, rows)], unit[at][rows]
        )
    return 0.5 * (inertia + np.swapaxes(inertia, -1, -2)), rank[()]


def _pseudo_inverse(inverse: Array, unit: Array) -> Array:
    """The pseudo-inverse of one matrix, whose rank shows in the given units."""
    values, vectors = np.linalg.eigh(inverse * np.outer(unit, unit))
    null = vectors[:, values <= NONE] * unit[:, None]  # forces without effect
    moved = np.linalg.qr(null, mode="complete")[0][:, null.shape[1] :]
    return moved @ np.linalg.solve(moved.T @ inverse @ moved, moved.T)
