"""The dense truth of closed systems: closure rows, multipliers and closure forces.

Closure c joins frame a to frame b by a cut joint with the map H (6 x r, axes of b).  V, the twist of b relative to a in
axes of b at the origin of b, is H beta in every motion that the joint allows.  With N the orthonormal complement of H,

    N^T V = 0,                        the rows A v = 0,
    N^T (Vdot - (d/dt H) beta) = 0,   the rows A vdot + a0 = 0,      beta = the least-squares solution of H beta = V,
    M vdot + bias = tau + A^T lambda, the force on b is N lambda (axes of b, at the origin of b), its reaction acts on a.

A relation sum c theta = value has the row A = c, a0 = 0 and one multiplier.  V and Vdot come from `lb.pose`,
`lb.jacobian` and `lb.acceleration` of the two nodes; `differenced` computes both from poses alone, and `BruteForce` by
automatic differentiation of an independent model, which has its own M and bias too.

Where the fidelity is "ruthless", frames, A and a0 are those of the undeformed geometry, and the velocities in a0 are
those of the joints alone; the columns of the modes stay in A.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import casadi as ca
import numpy as np

import limber as lb
from constraints.cut_joints import (
    complement,
    compose,
    coordinates,
    inverse,
    joint_map,
    log,
    own_acceleration,
    tilde,
)
from helpers.reference import EYE, ZERO, Reference, local_spin
from helpers.reference import compose as compose_symbols
from limber.assembly.closures import Relation

DEPENDENT = 1e-9  # singular values of the scaled rows below this part of the largest are zero


@dataclass
class Rows:
    """The stacked rows of all closures at one state: A vdot + a0 = 0, A v = 0."""

    A: np.ndarray
    a0: np.ndarray
    residual: np.ndarray  # of the positions, zero where the closures are met
    parts: dict[str, slice]  # rows of every closure
    force: dict[str, np.ndarray]  # 6 x rows: wrench on b, world axes, at b, per multiplier
    theta: dict[str, np.ndarray] = field(default_factory=dict)  # coordinates of the cut joints


@dataclass
class Solution:
    """Accelerations and closure forces of one state.

    lam : the multipliers, of minimum norm if rows depend on each other.
    forces : wrench [moment, force] on end b in world axes at its frame's origin; of a relation, its multiplier (1,).
    null : orthonormal basis of the multipliers without effect, null(A^T), as columns.
    gap : how far the rows are from being satisfiable by any acceleration, relative.
    """

    vdot: np.ndarray
    lam: np.ndarray
    forces: dict[str, np.ndarray]
    rows: Rows
    rank: int
    null: np.ndarray
    gap: float
    singular_values: np.ndarray

    def unique_part(self, name, wrench) -> np.ndarray:
        """What of a closure's force is unique: its part across all forces that null(A^T) puts into this closure."""
        part, force = self.rows.parts[name], self.rows.force[name]
        free = force @ self.null[part]
        U, size, _ = np.linalg.svd(free, full_matrices=False)
        U = U[:, size > 1e-7]
        return wrench - U @ (U.T @ wrench)


@lru_cache(maxsize=32)
def opened(system) -> lb.System:
    """The tree of a closed system: the same without its closures."""
    items = tuple(system.attachments.values())
    return lb.System(system.name, items, system.gravity, system.fidelity)


# frames and their motion


def undeformed(system, q) -> np.ndarray:
    """q with the modes at rest."""
    q = np.array(q, dtype=float)
    for where in system.layout.values():
        q[where.q_modes] = 0.0
    return q


def of_joints(system, v) -> np.ndarray:
    """v without the speeds of the modes."""
    v = np.array(v, dtype=float)
    for where in system.layout.values():
        v[where.v_modes] = 0.0
    return v


def end_pose(system, q, end):
    """(R, p) of the frame of an end in the world."""
    node = np.eye(3), np.zeros(3)
    if end.body != "world":
        node = lb.pose(system, q, end.body, end.node)
    return compose(node, (end.rotation, end.offset))


def end_motion(system, q, v, end):
    """Pose, Jacobian (6, nv), twist and acceleration (at vdot = 0) of the frame of an end, world axes."""
    pose, n = end_pose(system, q, end), system.nv
    if end.body == "world":
        return pose, np.zeros((6, n)), np.zeros(6), np.zeros(6)
    J = np.array(lb.jacobian(system, q, end.body, end.node))
    a = np.array(lb.acceleration(system, q, v, np.zeros(n), end.body, end.node))
    r = pose[1] - lb.pose(system, q, end.body, end.node)[1]
    J[3:] -= tilde(r) @ J[:3]
    V = J @ v
    a[3:] += np.cross(a[:3], r) + np.cross(V[:3], np.cross(V[:3], r))
    return pose, J, V, a


def relative_pose(system, q, closure):
    """Frame b as frame a sees it."""
    a, b = (end_pose(system, q, end) for end in (closure.a, closure.b))
    return compose(inverse(a), b)


def relative_motion(system, q, v, closure):
    """Orientation of b, S with V = S v, and Vdot at vdot = 0: of b relative to a, axes of b at b."""
    (_, pa), Ja, Va, aa = end_motion(system, q, v, closure.a)
    (R, pb), Jb, Vb, ab = end_motion(system, q, v, closure.b)
    d = pb - pa
    S = Jb - Ja
    S[3:] += tilde(d) @ Ja[:3]
    V = S @ v
    a = ab - aa
    a[3:] -= np.cross(aa[:3], d) + np.cross(Va[:3], Vb[3:] - Va[3:])
    a -= np.concatenate([np.cross(Vb[:3], V[:3]), np.cross(Vb[:3], V[3:])])
    turn = np.kron(np.eye(2), R.T)
    return R, turn @ S, turn @ a


# rows


def rows(system, q, v, start=None, motion=relative_motion) -> Rows:
    """The rows of all closures; `start` maps closures to coordinates from which those of the joint are sought.

    motion : gives (R, S, Vdot) of a closure as `relative_motion` does.
    """
    if system.fidelity == "ruthless":
        slow, q0 = of_joints(system, v), undeformed(system, q)
    else:
        slow, q0 = np.asarray(v, dtype=float), np.asarray(q, dtype=float)
    A, a0, residual, found = [], [], [], Rows(*np.empty((3, 0)), {}, {})
    at = 0
    for name, closure in system.closures.items():
        if isinstance(closure, Relation):
            row, gap = np.zeros((1, system.nv)), -closure.value
            for (body, i), coefficient in closure.terms.items():
                where = system.layout[body]
                row[0, where.v_joint.start + i] = coefficient
                gap += coefficient * q[where.q_joint.start + i]
            A.append(row)
            a0.append(np.zeros(1))
            residual.append(np.array([gap]))
            found.force[name] = np.eye(1)
        else:
            joint = closure.joint
            R, S, a = motion(system, q0, slow, closure)
            pose = relative_pose(system, q0, closure)
            theta, error = coordinates(joint, pose, (start or {}).get(name))
            H = joint_map(joint, theta)
            N = complement(H)
            beta = np.linalg.lstsq(H, S @ slow, rcond=None)[0]
            A.append(N.T @ S)
            a0.append(N.T @ (a - own_acceleration(joint, theta, beta)))
            residual.append(N.T @ error)
            found.force[name] = np.kron(np.eye(2), R) @ N
            found.theta[name] = theta
        found.parts[name] = slice(at, at + len(A[-1]))
        at += len(A[-1])
    found.A = np.vstack([np.zeros((0, system.nv)), *A])
    found.a0, found.residual = (np.concatenate([np.empty(0), *x]) for x in (a0, residual))
    return found


# dynamics


def solve(system, q, v, tau, external=None, start=None, model=None) -> Solution:
    """The solution of M vdot + bias = tau + external + A^T lambda, A vdot + a0 = 0.

    model : a `BruteForce` that gives M, bias, external forces and rows in place of `lb`.
    """
    if model is None:
        found = rows(system, q, v, start)
        M = lb.mass_matrix(opened(system), q)
        rest = lb.inverse_dynamics(opened(system), q, v, np.zeros(system.nv), external=external)
    else:
        found = rows(system, q, v, start, model.relative_motion)
        M = model.mass_matrix(q)
        rest = model.inverse_dynamics(q, v, np.zeros(system.nv), external)
    # With M = L L^T and B = A L^-T the least change y = L^T (vdot - free) with B y = -(a0 + A free) is the answer.
    L = np.linalg.cholesky(M)
    free = np.linalg.solve(M, tau - rest)
    B = np.linalg.solve(L, found.A.T).T
    wanted = -(found.a0 + found.A @ free)
    U, size, Vt = np.linalg.svd(B, full_matrices=True)
    rank = int((size > DEPENDENT * size.max(initial=0.0)).sum())
    image = U[:, :rank].T @ wanted
    y = Vt[:rank].T @ (image / size[:rank])
    lam = U[:, :rank] @ (image / size[:rank] ** 2)
    gap = np.linalg.norm(U[:, rank:].T @ wanted) / max(1.0, np.linalg.norm(wanted))
    forces = {name: found.force[name] @ lam[part] for name, part in found.parts.items()}
    vdot = free + np.linalg.solve(L.T, y)
    return Solution(vdot, lam, forces, found, rank, U[:, rank:], gap, size)


def block_solution(system, q, v, tau, external=None, start=None):
    """(vdot, lambda) of the block system [[M, A^T], [A, 0]] as it stands, by least squares."""
    found = rows(system, q, v, start)
    tree, A = opened(system), found.A
    M, rest = lb.mass_matrix(tree, q), lb.inverse_dynamics(tree, q, v, 0.0 * v, external=external)
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    x = np.linalg.lstsq(K, np.concatenate([tau - rest, -found.a0]), rcond=1e-13)[0]
    return x[: system.nv], x[system.nv :]


def freedoms(system, q, start=None) -> np.ndarray:
    """A basis (nv, f) of the speeds that the closures allow, orthonormal."""
    A = rows(system, q, np.zeros(system.nv), start).A
    _, size, Vt = np.linalg.svd(A, full_matrices=True)
    rank = int((size > DEPENDENT * size.max(initial=0.0)).sum())
    return Vt[rank:].T


def projected(system, q, v, start=None) -> np.ndarray:
    """The speeds nearest to v that the closures allow."""
    F = freedoms(system, q, start)
    return F @ (F.T @ v)


def assembled(system, q, steps=30, start=None) -> np.ndarray:
    """q that meets the closures, by Newton's method from a rough one."""
    for _ in range(steps):
        found = rows(system, q, np.zeros(system.nv), start)
        if np.abs(found.residual).max(initial=0.0) < 1e-13:
            break
        q = lb.integrate(system, q, -np.linalg.lstsq(found.A, found.residual, rcond=1e-9)[0], 1.0)
    return q


# the same from poses alone

STEP = 0.02
STENCIL = {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}  # first derivative, sixth order


def derivative(f, step=STEP):
    """df/dt at 0 by central differences of order six, extrapolated once: order eight."""

    def once(h):
        return sum(w * (f(k * h) - f(-k * h)) for k, w in STENCIL.items()) / h

    return (64.0 * once(step / 2) - once(step)) / 63.0


def differenced_twist(system, q, v, closure, step=STEP) -> np.ndarray:
    """V of a closure from differences of the relative pose along `lb.integrate`."""
    back = inverse(relative_pose(system, q, closure))

    def moved(t):
        return log(compose(back, relative_pose(system, lb.integrate(system, q, v, t), closure)))

    return derivative(moved, step)


def differenced(system, q, v, closure):
    """(R, S, Vdot) of a closure from differences of poses; see `relative_motion`."""
    columns = [differenced_twist(system, q, e, closure) for e in np.eye(system.nv)]

    def twist(t):
        return differenced_twist(system, lb.integrate(system, q, v, t), v, closure)

    a = derivative(twist)
    return end_pose(system, q, closure.b)[0], np.array(columns).reshape(-1, 6).T, a


# the same from an independent model


class BruteForce(Reference):
    """The brute-force model of an assembly, with the motion of its closures by automatic differentiation."""

    def __init__(self, assembly):
        super().__init__(assembly)
        self._closures = {}

    def _end(self, end):
        pose = EYE, ZERO
        if end.body != "world":
            pose = compose_symbols(self._bodies[end.body][2], self._node(end.body, end.node))
        return compose_symbols(pose, (ca.DM(end.rotation), ca.DM(end.offset)))

    def relative_motion(self, system, q, v, closure):
        """(R, S, Vdot) of a closure; see the function of this name."""
        if closure.name not in self._closures:
            (Ra, pa), (Rb, pb) = self._end(closure.a), self._end(closure.b)
            R, p = Ra.T @ Rb, Ra.T @ (pb - pa)
            rates = self._along_motion(ca.horzcat(R, p))
            V = ca.vertcat(local_spin(R, rates[:, :3]), R.T @ rates[:, 3])
            self._closures[closure.name] = (
                ca.Function("motion", [self._q, self._v], [Rb, self._along_motion(V)]),
                ca.Function("twist", [self._q, self._v], [V]).map(self.nv),
            )
        motion, twist = self._closures[closure.name]
        R, a = motion(q, v)
        return R.full(), self._columns(twist, q), a.full().ravel()
