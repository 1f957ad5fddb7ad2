"""Natural frequencies, damping and shapes about a configuration at rest or a steady motion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import eigen
from limber.dynamics.closure_loads import closure_forces, closure_stiffness
from limber.dynamics.evaluate import External, evaluated
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.freedoms import modal_speeds
from limber.dynamics.inverse import forces_at_rest, mass_matrix
from limber.dynamics.kinematics import integrate
from limber.dynamics.limits import warn_outside_limits
from limber.dynamics.small_motions import SmallMotions, small_motions, warn_if_singular
from limber.dynamics.statics import STEADY, Statics, instants, refuse_broken, stated
from limber.dynamics.stiffness import (
    asymmetry,
    load_forces,
    load_stiffness,
    own_stiffness_and_damping,
    speed_slope,
    turned_with,
    uncertainty,
)
from limber.dynamics.theory import warn_of_axial_loads, warn_of_spins
from limber.errors import DynamicsError, ModelWarning, warn
from limber.notebook import table

#: The largest number of modes in a printed table.
LISTED = 40
#: The forces on the modes of bodies count as balanced up to this fraction of the forces present.
UNBALANCED = 1e-6
#: Damping and stiffness divided by mass are below this, so that their squares stay finite.
LARGEST = 1e150


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """The modes of a system; they print as a table.

    The directions in which the configuration falls (static instabilities) come first, the fastest first, then the other
    modes by increasing frequency.

    omega : (n,) natural frequencies, rad/s; zero for a rigid-body mode and for a direction of falling.
    damping : (n,) damping ratios, negative if an oscillation grows; nan where omega is zero.
    growth : (n,) growth rates, 1/s: the real part of the eigenvalue if it is positive, otherwise zero.
    shapes : (nv, n) mode shapes in v, v^T M v = 1; complex if damping or held forces couple the modes.
    eigenvalues : (n,) complex, -damping omega + i omega sqrt(1 - damping^2).  Of two real eigenvalues, the greater: the
        slower one of an overdamped mode, the growing one of a direction of falling.
    moves : what has the largest share of the kinetic energy of each mode, in words, and that share.  The modes of a
        body are counted from 1, as are those of the system.
    imbalance : the largest force by which an equilibrium is missed, in the degrees of freedom that nothing holds (the
        modes of bodies and, if tau was given, also the joints), as a fraction of the forces present.
    note : says so in words, under the table; empty for an equilibrium.
    """

    omega: Array
    damping: Array
    growth: Array
    shapes: np.ndarray
    eigenvalues: np.ndarray
    moves: tuple[tuple[str, float], ...]
    imbalance: float = 0.0
    note: str = ""

    @property
    def frequencies(self) -> Array:
        """The natural frequencies omega in Hz."""
        return self.omega / (2.0 * np.pi)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The heads and rows of the table, limited to the modes that are listed."""
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
        return heads, rows

    def __repr__(self):
        heads, rows = self._table()
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        lines = [
            "  ".join([*(x.rjust(w) for x, w in zip(row[:-1], widths)), row[-1]])
            for row in (heads, *rows)
        ]
        return "\n".join([*lines, *self._notes()])

    def _notes(self) -> list[str]:
        """The notes below the table."""
        more = [f"... and {len(self.omega) - LISTED} more"] if len(self.omega) > LISTED else []
        return [*more, *([self.note] if self.note else [])]

    def _repr_html_(self) -> str:
        heads, rows = self._table()
        title = f"{len(self.omega)} modes"
        return table(title, heads, rows, left=(len(heads) - 1,), notes=self._notes())


def modes(
    system: System,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    locked: Iterable[str] = (),
    *,
    tau: ArrayLike | None = None,
    external: External | None = None,
) -> Modes:
    """Natural modes of small motion about the configuration q at rest, or about a steady motion with the speeds v.

    Solves M x'' + D x' + K x = 0, where K is the stiffness due to bodies, joints, gravity and external forces, and tau
    is held at the value that keeps q in equilibrium.  D contains the derivative of the joint friction, which at rest is
    level / friction_speed: a joint with friction hardly moves.  If a force holds a spherical or free joint, this force
    follows the body, and K is not symmetric.  The result does not depend on the units.

    With speeds v, D includes the gyroscopic and K the centrifugal terms.  The frequencies are those in the coordinates
    of the system: for a body on a spinning hub, those in the frame of the hub.  An object that is at rest in space
    while a free body spins appears there with the frequency of the spin.  A `ModelWarning` says where the motion is not
    steady, or not in balance.

    No actuator holds the modes of a body.  If their forces do not balance, q is not an equilibrium, and the printed
    table says so (`note`); `lb.equilibrium` finds one.

    For a closed system, the motions are those that the closures allow, one mode for each degree of freedom of
    `lb.freedoms`.  The closure forces are held and count as loads, so the tension of a string between walls tunes it.
    Closures may be redundant; a `ModelWarning` says where they are singular.

    Parameters
    ----------
    q : (nq,) the configuration; by default the neutral one, or the one that `lb.assemble` finds from there.  It must
        satisfy the closures.
    v : (nv,) constant speeds of the joints; zero by default.
    locked : names of bodies whose joints do not move from q, or from the motion v.
    tau : (nv,) generalized forces; by default those that the joints need.  If given, only the imbalance depends on it.
        In a closed system the closure forces depend on it too; by default the joints have the least torques that hold
        q, where forces are multiplied by the size of the system as their arm.
    external : {("body", node): wrench}, constant in world axes, as in `forward_dynamics`.
    """
    problem, q = stated("modes", system, q, v, tau, external, locked)
    M = mass_matrix(system, q)
    refuse_indefinite(system, q, M)
    if problem.moving:
        refuse_broken(problem, q)
    lam = problem.multipliers(q, _balanced_first(system, tau is not None))
    warn_of_axial_loads(system, q, problem.v, problem.loads(q, lam))
    warn_of_spins(system, q, problem.v)
    warn_outside_limits(
        system,
        q,
        f"the configuration of {system.name!r} at which modes are requested",
        "these modes include the stiffness of the stops. Give a q within the limits.",
    )
    worst, note = _imbalance(problem, q, lam, tau is not None)
    if problem.moving:
        found = _about_motion(problem, q, M, lam)
        if note:
            warn(f"this motion of {system.name!r} is not in balance. {note}", ModelWarning)
    else:
        found = matrices_at_rest(problem, q, M, lam).solved()
    warn_if_singular([(problem, q)])
    falling = (found.growth > 0.0) & (found.omega == 0.0)
    equal = np.array([float(f"{x:.9g}") for x in found.omega])  # removes rounding differences
    order = np.lexsort([-found.growth, equal, ~falling])
    shapes = found.shapes[:, order]
    return Modes(
        found.omega[order],
        found.damping[order],
        found.growth[order],
        shapes,
        found.eigenvalues[order],
        _movers(system, M, shapes),
        worst,
        note,
    )


def refuse_indefinite(system: System, q: Array, M: Array) -> None:
    """Reject a configuration at which the mass matrix is not positive definite, as `forward_dynamics` does."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        zero = np.zeros(system.nv)
        forward_dynamics(system, q, zero, zero)


def _balanced_first(system: System, actuated: bool) -> np.ndarray:
    """For each speed, whether no actuator acts on it: all if the actuator forces are given, otherwise the modes."""
    return np.full(system.nv, True) if actuated else modal_speeds(system)


class Matrices(NamedTuple):
    """The matrices of M y'' + D y' + K y = 0 at rest, in the coordinates y of the allowed small motions.

    motions : the small motions; in their coordinates the diagonal of M is 1.
    elastic, loads : the two parts of K; for all degrees of freedom, `slopes` has K (nv, nv) and its elastic part.
    uncertain : a bound of the errors of zeros in `loads`.
    follows : whether a force that follows a body makes `loads` unsymmetric.
    """

    motions: SmallMotions
    M: Array
    D: Array
    elastic: Array
    loads: Array
    uncertain: Array
    follows: bool
    slopes: tuple[Array, Array]

    def solved(self) -> eigen.Solved:
        """The modes, with shapes (nv, n)."""
        solve = eigen.unsymmetric if self.follows else eigen.symmetric
        found = solve(self.M, self.D, self.elastic, self.loads, self.uncertain)
        return self.motions.whole(found)


def matrices_at_rest(problem: Statics, q: Array, M: Array, lam: Array | None) -> Matrices:
    """The matrices of small motion about q at rest, for the mass matrix M and the multipliers `lam` of the closures."""
    system, external = problem.system, problem.external
    elastic, damping = own_stiffness_and_damping(system, q)
    loads = load_forces(system, q, M, external=problem.loads(q, lam))
    stiffness = load_stiffness(system, q, external=external)
    held = forces_at_rest(system, q, problem.v, external)
    if lam is not None:
        stiffness = stiffness + closure_stiffness(system, q, lam)
        held = held - closure_forces(system, q, lam)
    moments = any(np.any(np.asarray(wrench)[:3]) for wrench in (external or {}).values())
    part = np.ix_(problem.free, problem.free)
    follows = moments or bool(asymmetry(system, held, loads)[part].any())
    K = elastic + stiffness
    motions = small_motions(problem, q, M, K)
    given = motions.all(M, damping, elastic, stiffness, uncertain=uncertainty(system, loads))
    if not follows:
        given[3] = 0.5 * (given[3] + given[3].T)
    _refuse_overflow(system, given)
    M_, D_, elastic_, loads_, uncertain_ = given
    return Matrices(motions, M_, D_, elastic_, loads_, uncertain_, follows, (K, elastic))


def _refuse_overflow(system: System, matrices: Sequence[Array]) -> None:
    """Reject numbers whose squares cannot be computed."""
    largest = max(float(np.abs(x).max()) for x in matrices)
    if not largest < LARGEST:
        raise DynamicsError(
            f"modes of {system.name!r}: damping or stiffness over mass is {largest:.1e} in SI units, too large to "
            "compute with. Look for a joint whose damping, stiffness or ratio friction/friction_speed is far too "
            "large."
        )


def _about_motion(problem: Statics, q: Array, M: Array, lam: Array | None) -> eigen.Solved:
    """The modes about a steady motion, with shapes (nv, n); a warning says if it is not steady."""
    system, v = problem.system, problem.v
    D, elastic, stiffness = _of_motion(problem, q, M, lam)
    reduced = small_motions(problem, q, M, elastic + stiffness)
    loads = load_forces(system, q, M, v, problem.loads(q, lam))
    given = reduced.all(M, D, elastic, stiffness, uncertain=uncertainty(system, loads))
    uncertain = given.pop()
    _refuse_overflow(system, given)
    square = max(np.abs(given[2]).max(), np.abs(given[3]).max(), 1e7 * uncertain.max())
    largest = (1.0, max(np.abs(given[1]).max(), np.sqrt(square)), square, square)
    changes = []
    for t in instants(system, v):
        there = integrate(system, q, v, t)
        mass = mass_matrix(system, there)
        later = reduced.all(mass, *_of_motion(problem, there, mass, lam))
        changes += [
            float(np.abs(x - y).max() / most) for x, y, most in zip(later, given, largest) if most
        ]
        changes.append(reduced.broken(there))
    if max(changes) > STEADY:
        warn(
            f"this motion of {system.name!r} is not steady: along it the equations of small motion change by "
            f"{max(changes):.2g} of their largest terms, because what the joints rotate or move is not symmetric "
            "about their motion, or because gravity or external forces rotate relative to it. These modes are "
            "those of the equations at q.",
            ModelWarning,
        )
    return reduced.whole(eigen.unsymmetric(*[*given, uncertain], steady=True))


def _of_motion(
    problem: Statics, q: Array, M: Array, lam: Array | None
) -> tuple[Array, Array, Array]:
    """D, and the elastic part and the rest of K, in M x'' + D x' + K x = 0 about a steady motion.

    With the force b that the state needs, minus constant closure forces, and dv = x' + A x,
    M dv' + (db/dv) dv + (db/dq) x = 0 becomes M x'' + (M A + db/dv) x' + (db/dv A + db/dq) x = 0.
    """
    system, v = problem.system, problem.v
    elastic, _ = own_stiffness_and_damping(system, q, v)
    _, by_v = evaluated(system, "joint_slopes", (q, v))
    by_speed = speed_slope(system, q, v) + np.diag(by_v)
    A = turned_with(system, v)
    stiffness = load_stiffness(system, q, v, problem.external)
    if lam is not None:
        stiffness = stiffness + closure_stiffness(system, q, lam)
    return M @ A + by_speed, elastic, by_speed @ A + stiffness


def imbalance_note(
    system: System, q: Array, tau: Array, external: External | None, locked: Iterable[str]
) -> str:
    """Describe the imbalance of a configuration at rest under these torques; empty for an equilibrium."""
    problem, q = stated("modes", system, q, None, tau, external, locked)
    lam = problem.multipliers(q, _balanced_first(system, True))
    return _imbalance(problem, q, lam, True)[1]


def _imbalance(problem: Statics, q: Array, lam: Array | None, actuated: bool) -> tuple[float, str]:
    """The largest unbalanced fraction of the forces present, and a note on it if it is more than rounding.

    The forces of joints count if the actuator forces were given.
    """
    system, free = problem.system, problem.free
    r, sizes = problem.residual(q, lam), problem.sizes(q, lam)
    at = free[_balanced_first(system, actuated)[free]]
    if not at.size:
        return 0.0, ""
    parts = np.where(r[at] == 0.0, 0.0, np.abs(r[at]) / np.where(sizes[at] > 0.0, sizes[at], 1.0))
    i = int(at[parts.argmax()])
    worst = float(parts.max())
    if worst <= UNBALANCED:
        return worst, ""
    return worst, (
        f"Not an equilibrium: {system.describe_v(i)} has an unbalanced generalized force of {r[i]:.3g}, "
        f"{worst:.2g} of the forces present. lb.equilibrium finds one."
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
