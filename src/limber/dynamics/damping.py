"""Damping of a whole system, given by the damping ratios of its modes.

To first order, a damping matrix D of the system gives mode i the damping ratio x_i^T D x_i/(2 omega_i), with
x_i^T M x_i = 1.  The matrix that gives all ratios and couples no modes, M X diag(2 ratio omega) X^T M, connects bodies
with each other and with joints, which no body of a model can do.  So each body gets a symmetric positive semidefinite
matrix of its own, D = L L^T, and these are fitted:

    minimize    sum_ij w_ij (c_ij - delta_ij)^2,      c_ij = x_i^T D x_j / (2 sqrt(ratio_i omega_i ratio_j omega_j))

The problem is convex in D.  The diagonal terms are the ratios.  The other terms change the ratios only to second order,
so their weight is small, unless two frequencies are as close as their widths ratio omega.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, numbers
from limber.dynamics import eigen
from limber.dynamics.closure_loads import closure_stiffness
from limber.dynamics.freedoms import modal_speeds
from limber.dynamics.inverse import mass_matrix
from limber.dynamics.modes import modes
from limber.dynamics.small_motions import small_motions, warn_if_singular
from limber.dynamics.statics import Statics, stated
from limber.dynamics.stiffness import (
    load_forces,
    load_stiffness,
    own_stiffness_and_damping,
    uncertainty,
)
from limber.errors import ArgumentValueError, ModelWarning, warn
from limber.notebook import as_text

#: The weights of modal coupling: in the first fit, which chooses among many solutions, and in the last.
COUPLING = (1e-2, 1e-8)
#: A ratio with a larger relative error than this gives a warning.
MISSED = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class ModalDamping:
    """A system damped by modal damping ratios, with the ratios achieved; it prints as a table.

    system : the system with the new damping of its bodies; `lb.save` accepts it.
    omega : (n,) frequencies of the oscillating modes, rad/s.
    asked, achieved : (n,) the damping ratios requested, and those that `lb.modes` finds for the new system.
    matrix : (nv, nv) the damping matrix over all degrees of freedom that gives the ratios exactly at this
        configuration.  Bodies cannot hold it, but it can act as a generalized force: without other damping, tau =
        -matrix @ v.
    """

    system: System
    omega: Array
    asked: Array
    achieved: Array
    matrix: Array

    def __repr__(self):
        lines = [f"{'mode':>4}  {'Hz':>10}  {'requested':>10}  {'achieved':>10}"]
        for i, row in enumerate(zip(self.omega / (2 * np.pi), self.asked, self.achieved)):
            hertz, asked, achieved = row
            lines.append(f"{i + 1:4}  {hertz:10.5g}  {asked:10.4g}  {achieved:10.4g}")
        return "\n".join(lines)

    _repr_html_ = as_text


def modal_damping(
    system: System,
    ratios: ArrayLike,
    q: ArrayLike | None = None,
    *,
    locked: Iterable[str] = (),
    weights: ArrayLike | None = None,
) -> ModalDamping:
    """Replace the damping of the bodies so that the modes of the system have given damping ratios at a configuration.

    A damping ratio given to a body is that of the body alone, clamped at its joint.  In a system the same matrices give
    different ratios, larger or smaller by factors of ten and more.  This function finds matrices for the bodies with
    which the modes of the system have the requested ratios, as closely as possible for matrices that do not connect
    bodies with each other.  `achieved` has the resulting ratios, and a `ModelWarning` reports a ratio that is off by
    more than 5 %.  At other configurations the ratios are different again.  Damping and friction of joints are
    unchanged, and contribute to the ratios.

    Parameters
    ----------
    ratios : one ratio for all modes, or (n,) one for each oscillating mode, by increasing frequency.
    q : (nq,) the configuration; by default the neutral one, or the one that `lb.assemble` finds from there.
    locked : names of bodies whose joints do not move, as in `lb.modes`.
    weights : (n,) the weight of each of these modes if not all ratios can be achieved; equal by default.
    """
    problem, q = stated("modal_damping", system, q, None, None, None, locked)
    held = list(locked)
    flexible = [name for name in system.layout if system.bodies[name].modes]
    if not flexible:
        raise ArgumentValueError(
            f"{system.name!r} has no flexible bodies whose modes could be damped."
        )
    M = mass_matrix(system, q)
    omega, X = _undamped(problem, q, M)
    asked, counts = _checked(ratios, weights, omega)
    rates = 2.0 * asked * omega
    Y = X / np.sqrt(rates)
    _, joints = own_stiffness_and_damping(system, q)
    target = M @ (X * rates) @ X.T @ M
    blocks = {}
    for name in flexible:
        at = system.layout[name].v_modes
        joints[at, at] = 0.0
        blocks[name] = (Y[at], target[at, at])
    close_by = 0.5 * (rates[:, None] + rates) / np.maximum(np.abs(omega[:, None] - omega), 1e-300)
    coupled = np.minimum(close_by, 1.0) ** 2 * np.sqrt(np.outer(counts, counts))
    found = _fitted(list(blocks.values()), Y.T @ joints @ Y, coupled)
    damped = _with_damping(system, dict(zip(flexible, found)))
    seen = modes(damped, q, locked=held)
    achieved = seen.damping[seen.omega > 0.0]
    result = ModalDamping(damped, omega, asked, achieved, target)
    off = np.abs(achieved - asked) / asked
    if off.max() > MISSED:
        i = int(off.argmax())
        warn(
            f"modal_damping: mode {i + 1} of {system.name!r}, at {omega[i] / (2 * np.pi):.4g} Hz, has the ratio "
            f"{achieved[i]:.4g} where {asked[i]:.4g} was requested: damping inside the bodies cannot produce all "
            "of these ratios. Print the result to see all of them; the joints may have too little or too much "
            "damping.",
            ModelWarning,
        )
    return result


def _undamped(problem: Statics, q: Array, M: Array) -> tuple[Array, Array]:
    """Frequencies, increasing, and shapes (nv, n), X^T M X = 1, of the modes that oscillate without damping."""
    system = problem.system
    lam = problem.multipliers(q, modal_speeds(system))
    elastic, _ = own_stiffness_and_damping(system, q)
    stiffness = load_stiffness(system, q)
    if lam is not None:
        stiffness = stiffness + closure_stiffness(system, q, lam)
    uncertain = uncertainty(system, load_forces(system, q, M, external=problem.loads(q, lam)))
    reduced = small_motions(problem, q, M, elastic + stiffness)
    given = reduced.all(M, np.zeros_like(M), elastic, stiffness, uncertain=uncertain)
    given[3] = 0.5 * (given[3] + given[3].T)
    found = reduced.whole(eigen.symmetric(*given))
    warn_if_singular([(problem, q)])
    order = np.argsort(found.omega)
    order = order[found.omega[order] > 0.0]
    return found.omega[order], found.shapes[:, order].real


def _checked(ratios: ArrayLike, weights: ArrayLike | None, omega: Array) -> tuple[Array, Array]:
    """The ratio and the weight of each mode."""
    found = []
    for name, value in (("ratios", ratios), ("weights", 1.0 if weights is None else weights)):
        given = numbers(name, value, "() or (n,)")
        if given.ndim > 1 or (given.ndim == 1 and given.shape != omega.shape):
            raise ArgumentValueError(
                f"{name} must be one number or {len(omega)}, one for each mode that oscillates, got shape {given.shape}."
            )
        found.append(np.broadcast_to(given, omega.shape).astype(float))
    asked, counts = found
    for name, x, most in (("ratios", asked, 1.0), ("weights", counts, np.inf)):
        wrong = ~((x > 0.0) & (x < most))
        if wrong.any():
            below = " and below 1 (critical damping)" if most == 1.0 else " and finite"
            raise ArgumentValueError(f"{name} must be above 0{below}, got {x[wrong][0]:g}.")
    return asked, counts / counts.max()


def _fitted(blocks: list[tuple[Array, Array]], rest: Array, weights: Array) -> list[Array]:
    """Fit the damping matrices of the bodies, from their rows of the shapes and a first guess.

    The shapes are scaled so that the sum of Y^T D Y over the bodies, and `rest`, should be 1.  COUPLING is a lower
    bound of the weights of modal coupling.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 (slow to import)

    n, scales, factors = len(rest), [], []
    for _, guess in blocks:
        scale = np.sqrt(np.maximum(np.diag(guess), 1e-300))
        values, vectors = np.linalg.eigh(guess / np.outer(scale, scale))
        scales.append(scale)
        factors.append(vectors * np.sqrt(np.maximum(values, 1e-6)))
    rows = [scale[:, None] * Y for scale, (Y, _) in zip(scales, blocks)]
    ends = np.cumsum([0, *(f.size for f in factors)])

    def parts(x: Array) -> list[Array]:
        return [x[a:b].reshape(f.shape) for a, b, f in zip(ends, ends[1:], factors)]

    x = np.concatenate([f.ravel() for f in factors])
    for coupling in COUPLING:
        weight = np.maximum(weights, coupling)
        np.fill_diagonal(weight, np.diag(weights))

        def error(x: Array, weight: Array = weight) -> tuple[float, Array]:
            L = parts(x)
            E = rest - np.eye(n)
            for Z, l in zip(rows, L):
                half = l.T @ Z
                E = E + half.T @ half
            G = 2.0 * weight * E
            slope = [2.0 * (Z @ G @ Z.T) @ l for Z, l in zip(rows, L)]
            return float((weight * E**2).sum()), np.concatenate([s.ravel() for s in slope])

        x = minimize(
            error,
            x,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 50},
        ).x
    return [scale[:, None] * (l @ l.T) * scale for scale, l in zip(scales, parts(x))]


def _with_damping(system: System, matrices: dict[str, Array]) -> System:
    """The system with these damping matrices of its bodies."""
    items = tuple(
        replace(item, body=item.body.with_damping(matrices[name])) if name in matrices else item
        for name, item in system.attachments.items()
    )
    closures = tuple(system.closures.values())
    return System(system.name, items, system.gravity, system.fidelity, closures)
