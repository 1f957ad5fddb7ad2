r"""Closed systems under control: states from the readings of some joints, and torques from desired accelerations.

With the closure rows A vdot = -a0, the inertia M, the bias b and the torques u of the controlled joints, which are the
rows E of the speeds,

    vdot = c + N z,    A c = -a0,    A N = 0,    N^T M N = 1,    N^T M c = 0,    z + N^T b = G^T u,    G = E N

z has one entry for each degree of freedom. E vdot = a, the desired accelerations, gives z in three cases:

    rank G = controlled joints = DOFs        z is unique, and so are the torques
    fewer controlled joints than DOFs        the directions Z with G Z = 0 have no torque: Z^T z = -Z^T N^T b
    rank G < controlled joints               redundant drives: z gives the accelerations nearest to a that the closures
                                             allow, each weighed by the inertia that is felt at its joint, 1 / (G G^T)_ii;
                                             the torques are those with the least sum of weights * u^2

Joints that the closures lock have rows of G that are zero except for rounding: they count as zero, and so do their torques.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from limber.assembly.system import System
from limber.checks import Array, listed
from limber.control.joints import deformed
from limber.dynamics.closing import MET, gap, restored, searched
from limber.dynamics.difference import displacement
from limber.dynamics.equilibrium import equilibrium
from limber.dynamics.evaluate import evaluated
from limber.dynamics.inverse import inverse_dynamics, mass_matrix
from limber.dynamics.rows import DEPENDENT, RowSpace, row_space
from limber.errors import ArgumentValueError, DynamicsError
from limber.simulation.table import joint_speeds

#: Forces on what no torque moves count as balanced below this fraction of all forces, each by the inertia it acts on.
BALANCED = 1e-6
#: A speed is not chosen as an independent one if the others leave less than this fraction of the largest to it.
STUCK = 1e-3
#: The closures lock a joint if it moves less than this fraction of what the same energy would move it by itself.
LOCKED = 1e-6
#: Joints that hold a configuration may be away from it by this much, rad or m, where all else is in equilibrium.
MOVED = 1e-3


# --- states ---------------------------------------------------------------------------------------


def unread_joints(system: System, loop: Any) -> tuple[np.ndarray, np.ndarray]:
    """The places in v of the joints whose positions no sensor reads, and of those whose speeds none reads.

    A loop without sensors knows the state.
    """
    if not loop.sensors:
        return np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    read_q, read_v = (
        {int(i) for r in loop.readers if (x := getattr(r, name)) is not None for i in x}
        for name in ("q", "v")
    )
    positions: list[int] = []
    speeds: list[int] = []
    for where in system.layout.values():
        here = range(where.v_joint.start, where.v_joint.stop)
        if not read_q.issuperset(range(where.q_joint.start, where.q_joint.stop)):
            positions += here
        speeds += [i for i in here if i not in read_v]
    return np.array(positions, dtype=int), np.array(speeds, dtype=int)


def closed_configuration(system: System, q: Array, unread: np.ndarray, moving: np.ndarray) -> Array:
    """A configuration near q that satisfies the closures.

    unread : places in v of coordinates that are only guessed in q: they move first, and if the closures are satisfied
        then, nothing else does.
    moving : places in v of what may move, by the least change, where that is not enough.
    """
    if len(unread):
        guessed = np.zeros(system.nv, dtype=bool)
        guessed[unread] = True
        q = searched(system, q, guessed)
    if gap(system, evaluated(system, "violations", (q,))) <= MET:
        return q
    return restored(system, q, moving)


def closed_speeds(
    system: System, q: Array, v: Array, unread: np.ndarray, moving: np.ndarray, space: RowSpace
) -> Array:
    """Speeds near v that satisfy the closures; those at `unread` follow from the others.

    space : the rows of the `moving` speeds at q.
    """
    v = np.array(v)
    if len(unread):
        v[unread] = 0.0
        followers = row_space(system, q, unread)
        if followers.basis.shape[1]:
            raise DynamicsError(
                f"in this configuration of {system.name!r}, the measured joints do not determine the motion of "
                f"{listed(owners(system, unread))}. Measure more joints, with an Encoder and a Tachometer, or give an "
                "observer=..."
            )
        v[unread] = -followers.change(space.A @ v[moving])
    v[moving] -= space.change(space.A @ v[moving])
    return v


def at_rest(system: System, q: Array, held: np.ndarray) -> Array:
    """The configuration near q in which all that the joints at `held`, places in v, do not determine is in equilibrium.

    In an open system all joints stay, and the modes are in equilibrium.
    """
    if not system.closures:
        return deformed(system, q)
    followers = np.setdiff1d(joint_speeds(system), held)
    start = closed_configuration(system, q, followers, np.arange(system.nv))
    kept = independent_places(system, start, [held])
    if len(kept) == row_space(system, start).basis.shape[1]:
        return start
    found = equilibrium(system, start, locked=owners(system, kept))
    moved = np.abs(displacement(system, start, found)[held])
    if moved.max(initial=0.0) > MOVED:
        worst = int(held[moved.argmax()])
        raise ArgumentValueError(
            f"{system.name!r} is at or near a singular position, in which {system.describe_v(worst)} does not hold the rest: the next "
            f"equilibrium is {moved.max():.3g} rad or m away from there. Give a configuration farther from the singular position, or let other "
            "joints hold it, bodies=[...]."
        )
    return found


def independent_places(system: System, q: Array, groups: list[np.ndarray]) -> np.ndarray:
    """Places in v of speeds that are independent at q, as many as possible of the first group, then of the next."""
    rest = row_space(system, q).basis * np.sqrt(np.diag(mass_matrix(system, q)))[:, None]
    least = STUCK * np.linalg.norm(rest, axis=1).max(initial=0.0)
    found: list[int] = []
    for group in groups:
        while len(found) < rest.shape[1] and len(group):
            size = np.linalg.norm(rest[group], axis=1)
            best = int(size.argmax())
            if size[best] <= least:
                break
            found.append(int(group[best]))
            direction = rest[group[best]] / size[best]
            rest = rest - np.outer(rest @ direction, direction)
    return np.array(sorted(found), dtype=int)


def owners(system: System, places: np.ndarray) -> list[str]:
    """The bodies whose joints have speeds at these places."""
    wanted = set(places.tolist())
    return [
        body
        for body, where in system.layout.items()
        if wanted.intersection(range(where.v_joint.start, where.v_joint.stop))
    ]


# --- torques --------------------------------------------------------------------------------------


def accelerating_torques(
    system: System,
    q: Array,
    v: Array,
    wanted: Array,
    places: np.ndarray,
    moving: np.ndarray,
    weights: Array,
    space: RowSpace,
) -> Array:
    """The torques at `places`, in v, with which these speeds have the desired rates; the head of this file has the rules.

    moving : the speeds of the model: all of them, or only those of the joints.
    weights : of the squares of the torques, positive.
    space : the closure rows of the `moving` speeds at q.
    """
    zero, N = np.zeros(system.nv), space.basis
    c = -space.change(evaluated(system, "row_accelerations", (q, v, zero)))
    force = N.T @ inverse_dynamics(system, q, v, zero)[moving]
    driven = np.searchsorted(moving, places)
    alone = 1.0 / np.sqrt(np.diag(mass_matrix(system, q))[places])
    size = np.linalg.norm(N[driven], axis=1)
    moves = size > LOCKED * alone
    G = np.where(moves[:, None], N[driven], 0.0)
    scale = 1.0 / np.where(moves, size, 1.0)
    U, s, Vt = np.linalg.svd(scale[:, None] * G)
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    z = Vt[:rank].T @ ((U[:, :rank].T @ (scale * (wanted - c[driven]))) / s[:rank])
    undriven = Vt[rank:]
    z -= undriven.T @ (undriven @ force)
    return _least_torques(G, z + force, weights, rank)


def holding_torques(
    system: System, q: Array, places: np.ndarray, argument: str, near: Array | None = None
) -> Array:
    """The torques at `places`, in v, that hold a closed system at rest in q; of several, those nearest to `near`.

    argument : the name of q, for the message if nothing holds it.
    near : (places,) zero by default.
    """
    space, zero = row_space(system, q), np.zeros(system.nv)
    weight = inverse_dynamics(system, q, zero, zero)
    force, G = space.basis.T @ weight, space.basis[places]
    s = np.linalg.svd(G, compute_uv=False)
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    torque = np.zeros(len(places)) if near is None else near
    torque = torque + _least_torques(G, force - G.T @ torque, np.ones(len(places)), rank)
    left = force - G.T @ torque
    everything = np.sqrt(weight @ np.linalg.solve(mass_matrix(system, q), weight))
    if np.linalg.norm(left) > BALANCED * everything:
        moved = space.basis @ left
        worst = system.describe_v(int(np.abs(moved).argmax()))
        raise ArgumentValueError(
            f"{argument} is not an equilibrium of {system.name!r} that the torques of {listed(owners(system, places))} "
            f"could hold: {worst} would accelerate by {np.abs(moved).max():.3g}. lb.equilibrium(system, q, locked=[...]), "
            "with these bodies locked, "
            "finds one."
        )
    return torque


def _least_torques(G: Array, force: Array, weights: Array, rank: int) -> Array:
    """u with G^T u = force of the least sum of weights * u^2; `rank` is that of G."""
    root = np.sqrt(weights)
    U, s, Vt = scipy.linalg.svd((G / root[:, None]).T, full_matrices=False)
    return (Vt[:rank].T @ ((U[:, :rank].T @ force) / s[:rank])) / root
