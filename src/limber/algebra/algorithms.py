"""Forward dynamics as in the sources, over the operators.

Each function takes the operators at a state, the generalized forces T (minus the `joint_force` of the
operators) and the force b (minus any external forces), and returns the accelerations vdot.  All of
them give the same result; the compiled kernels are the fast ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.algebra.closed_steps import closed
from limber.algebra.operator import Identity, Operator
from limber.algebra.operators import Operators, operators
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External
from limber.dynamics.forward import Method
from limber.errors import DynamicsError


def whitening(ops: Operators) -> Operator:
    """I - H Psi L: from forces to innovations (report, Eq. (4.15))."""
    return Identity(ops.speeds) - ops.H @ ops.Psi @ ops.L


def without_bias(ops: Operators, T: Array, b: Array) -> Array:
    """T' = T - H phi (M phi^T a + b) (report, Eq. (4.17))."""
    return T - ops.H @ (ops.phi @ (ops.M @ (ops.phi.T @ ops.a) + b))


def fd1(ops: Operators, T: Array, b: Array) -> Array:
    """Four sweeps: vdot = (I - H Psi L)^T D^{-1} (I - H Psi L) T' (report, Eqs. (4.17), (4.18))."""
    W = whitening(ops)
    return W.T @ (ops.D.inv() @ (W @ without_bias(ops, T, b)))


def fd2(ops: Operators, T: Array, b: Array) -> Array:
    """vdot of `fd2_with_accelerations`."""
    return fd2_with_accelerations(ops, T, b)[0]


def fd2_with_accelerations(ops: Operators, T: Array, b: Array) -> tuple[Array, Array]:
    """Four sweeps, with the accelerations of all bodies (report, Eqs. (5.5) to (5.7)).

    alpha = psi^T H^T nu + phi^T a, nu = D^{-1} (I - H Psi L) T'; B^T alpha is the acceleration of an end,
    except for the a(0) of the node.
    """
    nu = ops.D.inv() @ (whitening(ops) @ without_bias(ops, T, b))
    lam = ops.psi.T @ (ops.H.T @ nu)
    vdot = nu - ops.L.T @ (ops.S.T @ lam)
    return vdot, lam + ops.phi.T @ ops.a


def fd3(ops: Operators, T: Array, b: Array) -> Array:
    """Three sweeps (report, Eqs. (5.8) to (5.10))."""
    zeta = ops.phi.T @ ops.a
    eps = T - ops.H @ (ops.psi @ (ops.S @ (ops.L @ T) + ops.M @ zeta + b))
    return whitening(ops).T @ (ops.D.inv() @ eps)


def fd4(ops: Operators, T: Array, b: Array) -> Array:
    """Three sweeps without a bias sweep (report, Eqs. (5.16), (5.17)).

    z = Psi L T + (psi - I) P a + psi b, eps = T - H z, nu = D^{-1} eps,
    lambda = psi^T (H^T nu + (I - G H)^T a), vdot = nu - L^T S^T lambda - G^T a, with H P a taken from eps,
    which (5.14) leaves to the last term.
    """
    Pa = ops.P @ ops.a
    z = ops.Psi @ (ops.L @ T) + ops.psi @ (Pa + b) - Pa
    nu = ops.D.inv() @ (T - ops.H @ z)
    lam = ops.psi.T @ (ops.H.T @ nu + ops.tau_bar.T @ ops.a)
    return nu - ops.L.T @ (ops.S.T @ lam) - ops.G.T @ ops.a


def coupled(ops: Operators, T: Array, b: Array) -> Array:
    """Eliminate modes and joint of each body together (patent, Eqs. (51), (58))."""
    n = len(ops.parent)
    own, speeds = ops.bodies.part, ops.speeds.part
    z = [ops.P.of(k) @ ops.a[own(k)] + b[own(k)] for k in range(n)]
    nu: list[np.ndarray] = [np.empty(0)] * n
    for k in reversed(range(n)):
        eps = T[speeds(k)] - ops.H.of(k) @ z[k]
        nu[k] = np.linalg.solve(ops.D.of(k), eps)
        if ops.parent[k] >= 0:
            z[ops.parent[k]] = z[ops.parent[k]] + ops.Delta_phi.of(k) @ (z[k] + ops.G.of(k) @ eps)
    vdot, alpha = np.empty(ops.speeds.size), [np.empty(0)] * n
    for k in range(n):
        p = ops.parent[k]
        plus = ops.Delta_phi.of(k).T @ alpha[p] if p >= 0 else np.zeros(ops.bodies.sizes[k])
        vdot[speeds(k)] = nu[k] - ops.G.of(k).T @ plus
        alpha[k] = plus + ops.H.of(k).T @ vdot[speeds(k)] + ops.a[own(k)]
    return vdot


def split(ops: Operators, T: Array, b: Array) -> Array:
    """Treat every body as two, one with its modes and a massless one with its joint (patent, Eqs. (61), (62), (64))."""
    n = len(ops.parent)
    own, speeds = ops.bodies.part, ops.speeds.part
    modes = ops.bodies.sizes - 6
    P = [block.copy() for block in ops.M.blocks]
    z = [b[own(k)].copy() for k in range(n)]
    kept: list[list[tuple[np.ndarray, ...]]] = [[] for _ in range(n)]
    for k in reversed(range(n)):
        H, t, m = ops.H.of(k), T[speeds(k)], modes[k]
        for part in (slice(0, m), slice(m, None)):
            if (
                part.stop is None
            ):  # the massless body with the joint: the Coriolis acceleration enters here
                z[k] = z[k] + P[k] @ ops.a[own(k)]
            U = P[k] @ H[part].T
            D = H[part] @ U + ops._rotors[k][part, part]
            G = np.linalg.solve(D, U.T).T
            eps = t[part] - H[part] @ z[k]
            kept[k].append((G, np.linalg.solve(D, eps), H[part]))
            z[k] = z[k] + G @ eps
            P[k] = P[k] - G @ U.T
        p = ops.parent[k]
        if p >= 0:
            step = ops.Delta_phi.of(k)
            P[p] = P[p] + step @ P[k] @ step.T
            z[p] = z[p] + step @ z[k]
    vdot, alpha = np.empty(ops.speeds.size), [np.empty(0)] * n
    for k in range(n):
        p = ops.parent[k]
        x = ops.Delta_phi.of(k).T @ alpha[p] if p >= 0 else np.zeros(ops.bodies.sizes[k])
        (G_f, nu_f, H_f), (G_r, nu_r, H_r) = kept[k]
        beta_dot = nu_r - G_r.T @ x
        x = x + H_r.T @ beta_dot + ops.a[own(k)]
        eta_dd = nu_f - G_f.T @ x
        alpha[k] = x + H_f.T @ eta_dd
        vdot[speeds(k)] = np.concatenate([eta_dd, beta_dot])
    return vdot


def cg(ops: Operators, T: Array, b: Array) -> Array:
    """Conjugate gradients on the mass operator, which is applied and never formed.

    The preconditioner is the composite-body diagonal H R H^T + J_a.
    """
    blocks = [h @ r @ h.T + j for h, r, j in zip(ops.H.blocks, ops.R.blocks, ops._rotors)]
    C = type(ops.D).from_blocks("C", ops.speeds, ops.speeds, blocks).inv()
    right = without_bias(ops, T, b)
    x, r = np.zeros_like(right), right.copy()
    y = C @ r
    p, rho = y, r @ y
    goal = 1e-30 * rho
    for _ in range(20 * len(x) + 20):
        if rho <= goal:
            return x
        Ap = ops.mass @ p
        step = rho / (p @ Ap)
        x, r = x + step * p, r - step * Ap
        y = C @ r
        rho, old = r @ y, rho
        p = y + rho / old * p
    if rho <= 1e-24 * (right @ (C @ right)):
        return x
    raise DynamicsError(
        f"conjugate gradients did not converge for {ops.system.name!r}: the mass matrix is too badly conditioned. "
        'Use method="articulated".'
    )


@dataclass(frozen=True, eq=False)
class Denoc:
    """The decoupled natural orthogonal complement of Mohan & Saha and the factors of the mass matrix.

    N_l, N_d : the twists are N_l N_d v, N_l = phi^T and N_d = H^T.
    U, D : the mass matrix is U D U^T, U upper block triangular with unit diagonal (Eqs. (34) to (37)).
    composite, articulated : the mass matrices of the composite and of the articulated bodies (32), (38).
    """

    N_l: Operator
    N_d: Operator
    U: Operator
    D: Operator
    composite: list[Array]
    articulated: list[Array]


def denoc(system: System, q: ArrayLike) -> Denoc:
    """The DeNOC matrices of Mohan & Saha and the U D U^T factors of the mass matrix, as operators."""
    ops = operators(system, q)
    U = Identity(ops.speeds) + ops.H @ ops.phi @ ops.K
    return Denoc(ops.phi.T, ops.H.T, U, ops.D, ops.R.blocks, ops.P.blocks)


def denoc_steps(ops: Operators, T: Array, b: Array) -> Array:
    """Steps A to C of Mohan & Saha, Eqs. (39) to (42), body by body.

    In (39) the term is P_i^T eta_bar_i: eta_i, as printed, contains phi_hat_i itself.
    """
    n = len(ops.parent)
    own, speeds = ops.bodies.part, ops.speeds.part
    phi = without_bias(ops, T, b)
    Psi = ops.G.blocks  # Psi_i = M_hat_i P_i I_hat_i^{-1}
    hat = np.empty_like(phi)
    eta_bar = np.zeros(ops.bodies.size)
    for i in reversed(range(n)):
        hat[speeds(i)] = phi[speeds(i)] - ops.H.of(i) @ eta_bar[own(i)]
        if ops.parent[i] >= 0:
            eta = Psi[i] @ hat[speeds(i)] + eta_bar[own(i)]
            eta_bar[own(ops.parent[i])] += ops.Delta_phi.of(i) @ eta
    tilde = ops.D.inv() @ hat
    vdot, mu = np.empty_like(phi), np.zeros(ops.bodies.size)
    for i in range(n):
        p = ops.parent[i]
        mu_bar = ops.Delta_phi.of(i).T @ mu[own(p)] if p >= 0 else np.zeros(ops.bodies.sizes[i])
        vdot[speeds(i)] = tilde[speeds(i)] - Psi[i].T @ mu_bar
        mu[own(i)] = ops.H.of(i).T @ vdot[speeds(i)] + mu_bar
    return vdot


ALGORITHMS: dict[str, Callable[[Operators, Array, Array], Array]] = {
    "fd1": fd1,
    "fd2": fd2,
    "fd3": fd3,
    "fd4": fd4,
    "coupled": coupled,
    "split": split,
    "denoc": denoc_steps,
    "cg": cg,
}


def _as_method(algorithm: Callable[[Operators, Array, Array], Array]) -> Callable:
    """Make an algorithm a method of `forward_dynamics`; of a closed system it is step (A) of six (`closed_steps`)."""

    def method(system: System, q: Array, v: Array, tau: Array, external: External) -> Array:
        ops = operators(system, q, v)
        b = ops.b
        if external:
            b = b - ops.B(list(external)) @ np.concatenate(list(external.values()))
        vdot = algorithm(ops, tau - ops.joint_force, b)
        return closed(ops, vdot) if system.closures else vdot

    return method


#: The algorithms as methods of `lb.forward_dynamics`, which finds them through `limber.registry`.
METHODS: dict[str, Method] = {name: _as_method(algorithm) for name, algorithm in ALGORITHMS.items()}
