"""Small motions of closed systems in independent coordinates, and the derivatives of closure forces.

As many coordinates as there are degrees of freedom are chosen as the independent ones, y. With the closure rows A and a
motion v that satisfies them, A v = 0,

    dq = T dy,    dv = T dz + S dy,    A T = 0,    A S dy = -(dA) v

where T has the unit matrix in the rows of y, and S has zeros there: y and z = dy/dt are entries of dq and dv.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from limber.assembly.closures import Closure, End
from limber.assembly.system import System
from limber.checks import Array
from limber.constraints.topology import locks_of
from limber.control.kernel_slopes import Moving, along_tangent, slopes_of
from limber.dynamics.evaluate import evaluated
from limber.dynamics.freedoms import undeformed
from limber.dynamics.kinematics import jacobian, pose
from limber.dynamics.refusals import of_batch
from limber.dynamics.rows import row_space
from limber.errors import ArgumentValueError

#: A closure row that is off by more than this, in m or rad, or moves by more than this fraction of its terms, is
#: broken.
BROKEN = 1e-6
#: Independent coordinates may move the others by at most this many times themselves, each in the unit of its inertia.
LARGEST = 1e6


def refuse_broken(system: System, q: Array, v: Array) -> None:
    """Reject states (n, ...) that violate the closures.

    A ruthless system may satisfy them with its bodies deformed, as `lb.project` does, or undeformed, as its dynamics
    does.
    """
    places = [q] if system.fidelity == "full" else [q, undeformed(system, q)]
    off = [np.abs(evaluated(system, "violations", (x,))).max(axis=1) for x in places]
    rates = [np.abs(evaluated(system, "row_rates", (x, v))).max(axis=1) for x in places]
    for i, (x, rate) in enumerate(zip(np.min(off, axis=0), np.min(rates, axis=0))):
        if x > BROKEN or rate > BROKEN * max(1.0, float(np.abs(v[i]).max())):
            what = f"are off by {x:.2g}" if x > BROKEN else f"move by {rate:.2g} per s"
            raise ArgumentValueError(
                f"the state does not satisfy the closures of {system.name!r}{of_batch(i, len(q))}: their rows {what}. "
                "q, v = lb.project(system, q, v) gives one that does."
            )


def independent_speeds(system: System, q: Array) -> np.ndarray:
    """The numbers of the speeds chosen as independent at q: those that the rows determine least, by pivoting."""
    space = row_space(system, rows_at(system, q))
    if space.basis.shape[1] == 0:
        raise ArgumentValueError(
            f"the closures of {system.name!r} leave nothing that could move: lb.freedoms gives details."
        )
    unit = np.sqrt(np.diag(evaluated(system, "mass_matrix", (q,))))
    _, _, order = scipy.linalg.qr(space.A / unit, mode="economic", pivoting=True)
    return np.sort(order[space.rank :])


@dataclass(frozen=True, eq=False)
class ClosedMotions:
    """T and S (nv, n) of one state; `independent` has the numbers of y."""

    independent: np.ndarray
    T: Array
    S: Array


def closed_motions(
    system: System, q: Array, v: Array, independent: np.ndarray, which: str
) -> ClosedMotions:
    """T and S at one state; `which` identifies it within a batch, for messages."""
    where = rows_at(system, q)
    space = row_space(system, where)
    if system.nv - space.rank != len(independent):
        raise ArgumentValueError(
            f"the closures of {system.name!r} leave {system.nv - space.rank} degrees of freedom{which}, but "
            f"{len(independent)} at the first state: one of the two states is singular. Linearize the states between "
            "singular ones separately."
        )
    others = np.setdiff1d(np.arange(system.nv), independent)
    inverse = np.linalg.pinv(space.A[:, others], rcond=1e-10)
    T = np.zeros((system.nv, len(independent)))
    T[independent, np.arange(len(independent))] = 1.0
    T[others] = -inverse @ space.A[:, independent]
    unit = np.sqrt(np.diag(evaluated(system, "mass_matrix", (q,))))
    if np.abs(unit[:, None] * T / unit[independent]).max() > LARGEST:
        raise ArgumentValueError(
            f"the independent coordinates of the first state do not determine the motion of {system.name!r}{which}: the "
            "motion passes a position where they are stuck. Linearize such states separately."
        )
    S = np.zeros_like(T)
    if v.any():
        given = {"q": moving_rows(system, q, T), "v": (v, np.zeros_like(T))}
        _, rates = slopes_of(system, "row_rates", given)["rates"]
        S[others] = -inverse @ rates
    return ClosedMotions(independent, T, S)


def all_freedoms(system: System, q: Array, v: Array, independent: np.ndarray, which: str) -> Array:
    """(2 nv, 2 n): maps independent coordinates and speeds to [dq, dv]."""
    motions = closed_motions(system, q, v, independent, which)
    return np.block([[motions.T, np.zeros_like(motions.T)], [motions.S, motions.T]])


def multipliers(system: System, q: Moving, force: Moving) -> Moving:
    """The Lagrange multipliers of least norm with A^T lambda = force at one state, with their derivatives.

    lambda = X^+ force with X = A^T. The derivative of a pseudoinverse has a part along N, the combinations of rows
    without effect:  dlambda = X^+ (dforce - dX lambda) + N N^T dX^T X^{+T} lambda.
    """
    value, along = q
    nv, count = along.shape[0], along.shape[1]
    at = rows_at(system, value)
    space = row_space(system, at)
    start, slopes = moving_rows(system, value, along)
    every = {
        "q": (np.tile(start, (nv, 1)), np.tile(slopes, (nv, 1, 1))),
        "v": (np.eye(nv), np.zeros((nv, nv, count))),
    }
    _, dX = slopes_of(system, "row_rates", every)["rates"]  # (nv, rows, directions)
    lam = space.multipliers(force[0])
    columns = force[1] - np.einsum("irj,r->ij", dX, lam)
    dlam = np.stack([space.multipliers(column) for column in columns.T], axis=1)
    if space.null.size:
        N = space.null
        turned = np.linalg.lstsq(space.A, lam, rcond=1e-10)[0]  # X^{+T} lambda
        dlam += N @ (N.T @ np.einsum("irj,i->rj", dX, turned))
    return lam, dlam


def closure_wrenches(system: System, q: Moving, lam: Moving) -> dict[str, Moving]:
    """The wrench (6,) of each closure on its end b, in world axes, at one state, with derivatives."""
    where = moving_rows(system, *q)
    value, slope = slopes_of(system, "wrenches", {"q": where, "rows": lam})["wrenches"]
    return {
        name: (value[6 * i : 6 * i + 6], slope[6 * i : 6 * i + 6])
        for i, name in enumerate(system.closure_rows)
    }


def with_closure_loads(
    system: System, q: Moving, wrenches: Mapping[str, Moving], external: Mapping
) -> dict[tuple[str, int | None], Moving]:
    """External wrenches plus those of the closures on the nodes of their ends, at one state, with derivatives.

    A closure that locks a joint is part of that joint, and is left out.
    """
    found = dict(external)
    for name, (value, slope) in wrenches.items():
        closure = system.closures[name]
        if not isinstance(closure, Closure) or name in locks_of(system, closure.b.body):
            continue
        place = _end(system, q, closure.b)[1]
        for end, sign in ((closure.b, 1.0), (closure.a, -1.0)):
            if end.body == "world":
                continue
            node = _end(system, q, end)[0]
            arm, d_arm = place[0] - node[0], place[1] - node[1]
            moved, d_moved = value.copy(), slope.copy()
            moved[:3] += np.cross(arm, value[3:])
            d_moved[:3] += np.cross(d_arm.T, value[3:]).T + np.cross(arm, slope[3:].T).T
            at = end.body, system.node_number(end.body, end.node)
            before = found.get(at, (np.zeros(6), np.zeros_like(slope)))
            found[at] = before[0] + sign * moved, before[1] + sign * d_moved
    return found


def _end(system: System, q: Moving, end: End) -> tuple[Moving, Moving]:
    """The node of an end and the origin of its frame in the world, with derivatives (3, directions)."""
    value, along = q
    if end.body == "world":
        still = end.offset, np.zeros((3, along.shape[1]))
        return still, still
    if system.fidelity == "ruthless":
        value, along = undeformed(system, value), _without_modes(system, along)
    R, p = pose(system, value, end.body, end.node)
    J = jacobian(system, value, end.body, end.node) @ along
    arm = R @ end.offset
    return (p, J[3:]), (p + arm, J[3:] + np.cross(J[:3].T, arm).T)


def rows_at(system: System, q: Array) -> Array:
    """q, or for ruthless systems q undeformed, where their rows are evaluated."""
    return undeformed(system, q) if system.fidelity == "ruthless" else q


def moving_rows(system: System, q: Array, along: Array) -> Moving:
    """q and its derivatives along tangent directions, as used for the closure rows."""
    if system.fidelity == "ruthless":
        along = _without_modes(system, along)
    return along_tangent(system, rows_at(system, q), along)


def _without_modes(system: System, along: Array) -> Array:
    along = np.array(along)
    for where in system.layout.values():
        along[where.v_modes] = 0.0
    return along
