"""Equilibrium configurations, at rest or in a steady motion.

Solves    r(q) = bias(q, v) - J^T external - tau = 0 in the degrees of freedom that are not locked
Step      K x = -r with the exact derivative K of r along `integrate`; q moves by x on the configuration manifold
Descent   Negative eigenvalues of the symmetric part of K are made positive.  At rest, r is the gradient of the energy
          E, so x points downhill, and a step is accepted if its own slope dE/ds = x . r confirms this.
          K is increased by the imbalance of the forces, so that the step stays finite in directions without stiffness;
          it still converges quadratically, even to one of many solutions (Yamashita & Fukushima 2001).
Closures  r contains their forces -A^T lambda, chosen to minimize r; steps are in the null space of A, K is that of
          constant lambda (`small_motions`), and after each step the closures are satisfied again
Scaling   Each coordinate is measured in a unit in which its elastic stiffness, or that of the loads, is 1.
Cost      16 inverse dynamics per degree of freedom and an eigenvalue problem of all of them, about ten times
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External
from limber.dynamics.kinematics import integrate
from limber.dynamics.reach import coordinate_reach, reach
from limber.dynamics.rows import row_space
from limber.dynamics.statics import STEADY, Statics, instants, refuse_broken, stated
from limber.dynamics.stiffness import (
    DIFFERENCES,
)
from limber.dynamics.theory import warn_of_axial_loads, warn_of_rotations
from limber.errors import DynamicsError, ModelWarning, warn

#: The largest imbalance of an equilibrium, as a fraction of the forces present.
BALANCED = 1e-9
#: No step rotates a body by much more than this, rad, or moves it by more than this fraction of the system's size.
LARGEST_STEP = 0.5
#: The largest number of steps of a search, and of trials in each step.
STEPS, TRIALS = 200, 30
#: A search this far from its start, in radians and fractions of the system's size, and still without stiffness, falls.
FARTHEST = 20.0


def equilibrium(
    system: System,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    tau: ArrayLike | None = None,
    external: External | None = None,
    locked: Iterable[str] = (),
) -> Array:
    """Find the configuration (nq,) in which all forces balance: vdot = 0 at rest, or at constant joint speeds v.

    The search starts at q and goes downhill, as the system would if it settled slowly.  If q itself is an equilibrium,
    it is returned, whether stable or not.  Because of symmetry the search may end at an unstable equilibrium; a
    `ModelWarning` says so.  A degree of freedom on which no force acts stays at its value in q.  Friction is zero at
    rest, so a joint that could stick slides.  The closures of a closed system are satisfied, and carry what they can.

    Parameters
    ----------
    q : (nq,) initial guess; the neutral configuration by default.  If it violates the closures, the search starts at
        the configuration that `lb.assemble` finds from there.
    v : (nv,) constant speeds of the joints, for an equilibrium in a steady spin; speeds of modes must be zero.  The
        motion of these joints should not change the forces, as for a spinning hub or a symmetric rotor; a
        `ModelWarning` says where it does.
    tau : (nv,) constant generalized forces; zero by default.
    external : {("body", node): wrench}, as in `forward_dynamics`.
    locked : names of bodies whose joints keep their coordinates (and their speeds), whatever force that takes.
        Their flexible modes are free.

    Raises `DynamicsError` if there is no equilibrium: nothing balances the weight of a free body, or the load is more
    than the system can carry.  The message says which degree of freedom is out of balance, and by how much, or which
    closure cannot be satisfied.
    """
    problem, start = stated("equilibrium", system, q, v, tau, external, locked, guess=True)
    found = settled(problem, start)
    if not found.balanced:
        refuse_unbalanced(problem, found)
    if problem.moving:
        refuse_broken(problem, found.q)
        _warn_of_change(problem, found)
    elif not np.array_equal(found.q, start):
        _warn_of_instability(problem, start, found)
    loads = problem.loads(found.q, found.multipliers)
    warn_of_axial_loads(problem.system, found.q, problem.v, loads)
    warn_of_rotations(problem.system, found.q)
    return found.q


class Point(NamedTuple):
    """A configuration during the search, and its unbalanced forces.

    The largest unbalanced force is given as a fraction of the forces present.

    multipliers : of the closures, if there are any.
    """

    q: Array
    residual: Array
    imbalance: float
    multipliers: Array | None = None

    @property
    def balanced(self) -> bool:
        """Whether it is an equilibrium."""
        return self.imbalance <= BALANCED


def point(problem: Statics, q: Array) -> Point:
    """Return a configuration with its unbalanced forces."""
    lam = problem.multipliers(q)
    r = problem.residual(q, lam)
    free, sizes = problem.free, problem.sizes(q, lam)
    with np.errstate(invalid="ignore"):
        parts = np.where(r[free] == 0.0, 0.0, np.abs(r[free]) / sizes[free])
    return Point(q, r, float(parts.max()), lam)


def settled(problem: Statics, start: Array, farthest: float = FARTHEST) -> Point:
    """Return the point of least imbalance on the downhill path of Newton's method."""
    here = best = point(problem, start)
    for _ in range(STEPS):
        if here.imbalance == 0.0:
            break
        directions = principal(problem, here)
        if not directions.values.size:  # closures leave nothing to move
            break
        if not directions.holds and apart(problem.system, start, here.q) > farthest:
            break
        there = _stepped(problem, here, directions)
        if there is None:
            break
        best = min(best, there, key=lambda x: x.imbalance)
        if here.balanced and there.imbalance > 0.5 * here.imbalance:  # only rounding is left
            break
        here = there
    return best


def apart(system: System, a: Array, b: Array) -> float:
    """How far two configurations are apart, in radians and fractions of the system's size."""
    return float(np.abs((b - a) / coordinate_reach(system)).max(initial=0.0))


class Directions(NamedTuple):
    """The stiffness at a point and its principal directions among those that closures allow.

    The units are such that the stiffness is about 1.

    units : of the coordinates, (nv,): the elastic stiffness, or that of the loads on it, is 1 in them.
    stiffness : over the free degrees of freedom, (n, n).
    vectors, values : the principal directions of its symmetric part, columns.
    stiff, loaded : whether a direction has a stiffness, and an unbalanced force.
    """

    units: Array
    stiffness: Array
    vectors: Array
    values: Array
    stiff: np.ndarray
    loaded: np.ndarray

    @property
    def convex(self) -> bool:
        """Whether all stiffnesses are positive."""
        return bool((self.values[self.stiff] > 0.0).all())

    @property
    def holds(self) -> bool:
        """Whether every force meets a positive stiffness."""
        return self.convex and not (~self.stiff & self.loaded).any()


def principal(
    problem: Statics, here: Point, slopes: tuple[Array, Array] | None = None
) -> Directions:
    """Return the directions at a point.

    `slopes` are the stiffness and its elastic part, if they are known at least approximately.
    """
    free, lengths = problem.free, reach(problem.system)
    part = np.ix_(free, free)
    K, elastic = slopes or problem.stiffness(here.q, here.multipliers)
    sizes = problem.sizes(here.q, here.multipliers)
    own = np.abs(np.diag(elastic)) + sizes / lengths
    units = 1.0 / np.sqrt(np.where(own > 0.0, own, 1.0))
    scale = np.outer(units[free], units[free])
    K = K[part] * scale
    each = np.outer(sizes[free], 1.0 / lengths[free])
    error = (1e-13 * np.abs(elastic[part]) + DIFFERENCES * (each + each.T)) * scale
    if problem.carried:
        allowed = row_space(problem.system, here.q, free).basis / units[free, None]
        Z = np.linalg.qr(allowed)[0]
        values, columns = np.linalg.eigh(Z.T @ (0.5 * (K + K.T)) @ Z)
        columns = Z @ columns
    else:
        values, columns = np.linalg.eigh(0.5 * (K + K.T))
    shares = np.abs(columns)
    # ten times the errors: they also reach the directions
    stiff = np.abs(values) > 10.0 * np.einsum("ki,kl,li->i", shares, error, shares)
    force = columns.T @ (units * here.residual)[free]
    loaded = np.abs(force) > BALANCED * (shares.T @ (units * sizes)[free])
    return Directions(units, K, columns, values, stiff, loaded)


def _stepped(problem: Statics, here: Point, directions: Directions) -> Point | None:
    """Return the next configuration, or None if no step makes progress."""
    step, convex = _step(problem, here, directions), directions.convex
    if not np.isfinite(step).all():
        return None
    free, units = problem.free, directions.units
    slope = float(step @ here.residual)
    norm = float(np.linalg.norm((units * here.residual)[free]))
    # fractions of the step: the longest that goes down, the shortest that goes up too far, and the one to try
    down, up, part = 0.0, 0.0, 1.0
    lowest = here.q
    for _ in range(TRIALS):
        try:
            q = problem.moved(here.q, step, part)
            r = problem.residual(q, problem.multipliers(q))
        except DynamicsError:
            up, part = part, 0.25 * part
            continue
        closer = float(np.linalg.norm((units * r)[free])) < 0.9 * norm
        new_slope = float(step @ r)
        if (convex and closer) or here.balanced or (part == 1.0 and new_slope <= 0.0 > slope):
            return point(problem, q)
        if slope < 0.0 and new_slope <= -0.5 * slope:
            if new_slope >= 0.5 * slope:
                return point(problem, q)
            down, lowest = part, q
        else:
            up = part
        if down > 0.8 * up:
            break
        part = 0.5 * (down + up) if down > 0.0 else 0.2 * up
    return point(problem, lowest) if down > 0.0 else None


def _step(problem: Statics, here: Point, found: Directions) -> Array:
    """Return Newton's step (nv,), made to point downhill."""
    free, stiff, soft = problem.free, found.stiff, here.imbalance
    force = found.vectors.T @ (found.units * here.residual)[free]
    amount = np.zeros(found.vectors.shape[1])
    if found.convex:
        V = found.vectors[:, stiff]
        K = V.T @ found.stiffness @ V
        amount[stiff] = -np.linalg.solve(K + soft * np.eye(len(K)), force[stiff])
    else:
        amount[stiff] = -force[stiff] / (np.abs(found.values[stiff]) + soft)
    slack = ~stiff & found.loaded
    amount[slack] = -force[slack] / soft
    # how far each direction goes, in radians and fractions of the system's size
    relative = (found.units / reach(problem.system))[free, None]
    most = LARGEST_STEP / np.abs(found.vectors * relative).max(axis=0)
    step = np.zeros(problem.system.nv)
    step[free] = found.units[free] * (found.vectors @ np.clip(amount, -most, most))
    return step


def _warn_of_instability(problem: Statics, start: Array, found: Point) -> None:
    """Warn of an unstable equilibrium at rest, unless the search started there."""
    directions = principal(problem, found)
    if directions.convex or point(problem, start).balanced:
        return
    falling = np.where(directions.stiff, directions.values, np.inf).argmin()
    i = int(problem.free[np.abs(directions.vectors[:, falling]).argmax()])
    warn(
        f"the equilibrium found for {problem.system.name!r} is unstable: after a small disturbance the system "
        f"moves away, mostly in {problem.system.describe_v(i)} (lb.modes gives the growth rate). No force "
        "acts in that direction, which is why the search stays there. For a stable equilibrium, start from "
        "another q or apply a small force; if there is none, the load exceeds what the system can carry.",
        ModelWarning,
    )


def refuse_unbalanced(problem: Statics, found: Point) -> None:
    """Raise an error that says which degree of freedom is out of balance, and what to do."""
    s, free = problem.system, problem.free
    directions = principal(problem, found)
    slack = np.flatnonzero(~directions.stiff & directions.loaded)
    if slack.size:
        V = directions.vectors[:, slack]
        force = V @ (V.T @ (directions.units * found.residual)[free])
        i = int(free[np.abs(force).argmax()])
        why = "a force acts on it and nothing balances it"
    else:
        parts = np.abs(found.residual[free]) / problem.sizes(found.q, found.multipliers)[free]
        i = int(free[parts.argmax()])
        why = "the search ended without a balance"
        if not directions.convex:
            why += ", where the stiffness is not positive: the load may exceed what the system can carry"
    locking = next(name for name, w in s.layout.items() if w.v_modes.start <= i < w.v_joint.stop)
    lock = [f"lock the joint (locked=[{locking!r}])"]
    moves = np.arange(s.nv)[s.layout[locking].v_joint]
    if not np.isin(moves, free).any():  # it has none, or is locked
        lock = []
    remedies = [*lock, "give the torque that balances it in tau"]
    if problem.moving and problem.v[i] != 0.0:
        why += f" at its speed {problem.v[i]:.6g}"
    if not slack.size:
        remedies = ["start nearer to it (q)", "apply the load in steps (lb.follow)", *lock]
    raise DynamicsError(
        f"{s.name!r} has no equilibrium near this q: {s.describe_v(i)} has an unbalanced generalized force of "
        f"{found.residual[i]:.4g} ({found.imbalance:.1g} of the forces present); {why}. Possible remedies: "
        f"{', '.join(remedies)}."
    )


def _warn_of_change(problem: Statics, found: Point) -> None:
    """Warn if the forces change during the motion."""
    s, free, lam = problem.system, problem.free, found.multipliers
    sizes = problem.sizes(found.q, lam)
    times = instants(s, problem.v)
    ahead = np.array([integrate(s, found.q, problem.v, t) for t in times])
    change = np.abs(problem.residual(ahead, lam) - found.residual)[:, free] / sizes[free]
    if change.max() > STEADY:
        at, i = np.unravel_index(int(change.argmax()), change.shape)
        warn(
            f"this motion of {s.name!r} is not steady: {times[at]:.3g} s later the force on "
            f"{s.describe_v(int(free[i]))} has changed by {change.max():.2g} of the forces present, because what "
            "the joints rotate or move is not symmetric about their motion. The forces balance only at q.",
            ModelWarning,
        )
