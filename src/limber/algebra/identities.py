"""The operator identities of the sources, each as two expressions to compare.

The armature J_a of the joints adds to D and to the mass operator.  With it P_plus H^T = G J_a, which is zero
only without armature.  So (a.47) and (66), which write P_plus as tau_bar P tau_bar^T, have a term in J_a if some
joint has an armature.

Keys name source and equation: "report" is Rodriguez & Kreutz (Appendix A), "patent" Jain & Rodriguez,
"framework" Rodriguez, Jain & Kreutz.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
from numpy.typing import ArrayLike

from limber.algebra.leaves import BlockDiagonal, Matrix, Named
from limber.algebra.operator import Identity, Operator, Sum, Zero
from limber.algebra.operators import Operators, operators
from limber.assembly.system import System
from limber.dynamics.ends import Ends
from limber.dynamics.kinematics import jacobian
from limber.dynamics.rows import closure_jacobian
from limber.notebook import as_text

Sides = tuple[Operator, Operator]


def _letters(ops: Operators) -> SimpleNamespace:
    """The operators under the letters of the sources; `t` is a transpose, phi_ and psi_ are phi - I, psi - I."""
    names = (
        "H phi M P D G L K S Phi Psi psi R tau_bar Delta_phi Delta_psi E_phi E_psi Upsilon Omega"
    )
    o = SimpleNamespace(**{name: getattr(ops, name) for name in names.split()})
    o.I, o.Iv, o.Ip = ops.I, Identity(ops.speeds), Identity(ops.parents)
    o.phi_, o.psi_ = o.phi - o.I, o.psi - o.I
    o.Di = o.D.inv()
    o.W = ops.whitening
    o.V = o.Iv + o.H @ o.phi @ o.K  # I + H phi K
    o.mass = ops.mass.expression
    return o


def siblings(ops: Operators) -> Operator:
    """psi^T X psi with X the blocks of E_psi^T Upsilon E_psi between children of one parent.

    It is zero on a serial chain; on a tree, Lemma 5 of the framework paper needs it.
    """
    full = ops.E_psi.T @ ops.Upsilon @ ops.E_psi
    blocks = []
    for k, p in enumerate(ops.parent):
        step = ops.Delta_psi.of(k)
        own = step.T @ ops.Upsilon.of(p) @ step if p >= 0 else np.zeros((len(step.T),) * 2)
        blocks.append(own)
    diagonal = BlockDiagonal.from_blocks("X", ops.bodies, ops.bodies, blocks)
    return Named("siblings", ops.psi.T @ (full - diagonal) @ ops.psi)


def some_ends(ops: Operators) -> list[tuple[str, None]]:
    """The frames of up to three bodies that carry no other."""
    carriers = set(ops.system.parents.values())
    return [(body, None) for body in ops.bodies.labels if body not in carriers][-3:]


def end_identities(ops: Operators) -> dict[str, Sides]:
    """Those of ends: the ends that the operators were given, or tips of the tree."""
    o = _letters(ops)
    e = ops.at(some_ends(ops)) if ops._ends is None else ops.ends
    kinematic = np.vstack([jacobian(ops.system, ops.geometry, *end) for end in e.ends])
    inverse = ops.mass.inv()
    return {
        "2.14": (
            Matrix("J", e.space, ops.speeds, kinematic, meaning=e.J),
            e.B.T @ o.phi.T @ o.H.T,
        ),
        "3.10": (e.J @ inverse @ e.J.T, e.B.T @ o.Omega @ e.B),
        "A.5": (e.Lambda_recursive, e.B.T @ o.Omega @ e.B),
        "3.12": (inverse @ e.J.T, o.W.T @ o.Di @ o.H @ o.psi @ e.B),
        # with z = psi B f and eps = H z; as printed, its z has K in place of the identity
        "A.6": (
            inverse @ e.J.T,
            o.Di @ o.H @ o.psi @ e.B - o.K.T @ o.psi.T @ o.H.T @ o.Di @ o.H @ o.psi @ e.B,
        ),
    }


def closure_identities(ops: Operators) -> dict[str, Sides]:
    """Those of the closures of a closed system, where rows may depend on each other."""
    c, inverse = ops.loops, ops.mass.inv()
    rows = closure_jacobian(ops.system, ops.geometry)
    admittance = c.admittance
    reaction = inverse @ c.rows.T @ admittance.inv() @ c.rows @ inverse
    return {
        "2.16": (Matrix("rows", c.row_space, ops.speeds, rows, meaning=c.rows), c.rows),
        "2.17": (c.rows @ inverse @ c.rows.T, admittance),
        "2.17b": (admittance @ admittance.inv() @ c.rows @ inverse, c.rows @ inverse),
        # b is D^{-1/2} H psi B A^T; the paper prints it without D^{-1/2}
        "3.13": (c.inverse, inverse - reaction),
    }


def identities(ops: Operators) -> dict[str, Sides]:
    """Every identity of the sources as (left, right), by source and equation number."""
    o = _letters(ops)
    H, phi, M, P, D, G, L, K, S = o.H, o.phi, o.M, o.P, o.D, o.G, o.L, o.K, o.S
    Phi, Psi, psi, R, I, Iv, Ip = o.Phi, o.Psi, o.psi, o.R, o.I, o.Iv, o.Ip

    def without(expression: Operator, X: Operator) -> Operator:
        """expression - X J_a X^T."""
        J_a = ops.armature
        return expression if isinstance(J_a, Zero) else expression - X @ J_a @ X.T

    report: dict[str, Sides] = {
        "a.6": (Phi, phi @ S),
        "a.7": (Psi, psi @ S),
        "a.8": (Psi @ o.Delta_psi, o.psi_),
        "a.9": (Phi @ o.Delta_phi, o.phi_),
        "a.10": (psi @ (I - S @ o.Delta_psi), I),
        "a.11": (phi @ (I - S @ o.Delta_phi), I),
        "a.12": (L, o.Delta_phi @ G),
        "a.13": (o.phi_ @ G, Phi @ L),
        "a.14": (phi, psi @ (I + S @ L @ H @ phi)),
        "a.15": (psi, (I - Psi @ L @ H) @ phi),
        "a.16": (Phi, Psi @ (Ip + L @ H @ Phi)),
        "a.17": (Psi, (I - Psi @ L @ H) @ Phi),
        "a.22": (phi, (I + Phi @ L @ H) @ psi),
        "a.23": (psi, phi @ (I - S @ L @ H @ psi)),
        "a.24": (Phi, (I + Phi @ L @ H) @ Psi),
        "a.25": (Psi, Phi @ (Ip - L @ H @ Psi)),
        "a.26": (Phi @ L @ H @ psi, Psi @ L @ H @ phi),
        "a.27": (Phi @ L @ H @ Psi, Psi @ L @ H @ Phi),
        "a.32": (H @ phi, (Iv + H @ Phi @ L) @ H @ psi),
        "a.33": (H @ Phi, (Iv + H @ Phi @ L) @ H @ Psi),
        "a.34": (H @ Psi, H @ Phi @ (Ip - L @ H @ Psi)),
        "a.35": (H @ psi, (Iv - H @ Psi @ L) @ H @ phi),
        "a.36": (H @ Psi, (Iv - H @ Psi @ L) @ H @ Phi),
        "a.37": (H @ Phi, H @ Psi @ (Ip + L @ H @ Phi)),
        "a.38": (H @ Phi @ L @ H @ Psi, H @ Psi @ L @ H @ Phi),
        "a.39": (Phi @ L, Psi @ L @ (Iv + H @ Phi @ L)),
        "a.40": (Psi @ L, (I - Psi @ L @ H) @ Phi @ L),
        "a.41": (Psi @ L, Phi @ L @ (Iv - H @ Psi @ L)),
        "a.42": (Phi @ L, (I + Phi @ L @ H) @ Psi @ L),
        "a.43": (Psi @ L @ H @ Phi @ L, Phi @ L @ H @ Psi @ L),
        "a.45": (psi @ M @ phi.T, P + o.psi_ @ P + P @ o.phi_.T),
        "a.46": (psi @ M @ phi.T, psi @ P + P @ o.phi_.T),
        "a.47": (
            psi @ M @ psi.T,
            without(P + o.psi_ @ P + P @ o.psi_.T, psi @ K),
        ),
        "a.48": (
            phi @ M @ phi.T,
            P + o.phi_ @ P + P @ o.phi_.T + o.phi_ @ P @ H.T @ o.Di @ H @ P @ o.phi_.T,
        ),
        "a.50": (
            (Iv - H @ Psi @ L).T @ o.Di @ H @ psi @ M @ phi.T,
            (Iv - H @ Psi @ L).T @ o.Di @ H @ o.psi_ @ P + L.T @ Psi.T @ (I - G @ H).T + G.T,
        ),
        "fact 4.1": (o.mass, (Iv + H @ Phi @ L) @ D @ (Iv + H @ Phi @ L).T),
        "fact 4.2": ((Iv + H @ Phi @ L) @ (Iv - H @ Psi @ L), Iv),
        "theorem 4.1": (
            (Iv - H @ Psi @ L).T @ o.Di @ (Iv - H @ Psi @ L) @ o.mass,
            Iv,
        ),
    }
    patent: dict[str, Sides] = {
        "14": (o.Delta_phi, ops.A @ ops.B_hinge),
        "19": (phi @ (I - o.E_phi), I),
        "48, lemma 5.1": (phi @ M @ phi.T, R + o.phi_ @ R + R @ o.phi_.T),
        "53": (psi @ (I - o.E_psi), I),
        "54, lemma 6.1": (o.mass, o.V @ D @ o.V.T),
        "55, lemma 6.2": (o.V @ o.W, Iv),
        "56, lemma 6.3": (o.W.T @ o.Di @ o.W @ o.mass, Iv),
        "65": (M, R - o.E_phi @ R @ o.E_phi.T),
        "66": (M, without(P - o.E_psi @ P @ o.E_psi.T, K)),
        "66b": (M, P - o.E_psi @ P @ o.E_phi.T),
        "66c": (M, P - o.E_phi @ P @ o.E_phi.T + K @ D @ K.T),
        "68": (I - o.E_psi, I - o.E_phi + K @ H),
        "70": (o.W @ H @ phi, H @ psi),
        "72": (psi @ M @ phi.T, psi @ P + P @ o.phi_.T),
        "74": (o.W.T @ o.Di @ H @ P @ o.phi_.T, K.T @ psi.T),
    }
    framework: dict[str, Sides] = {
        "3.1": (M, P - o.E_phi @ (P - P @ H.T @ o.Di @ H @ P) @ o.E_phi.T),
        "3.2": (o.E_psi, o.E_phi @ o.tau_bar),
        "3.4, lemma 1": (o.mass, o.V @ D @ o.V.T),
        "3.5, lemma 2": (o.W @ o.V, Iv),
        "3.6, lemma 3": (o.mass @ o.W.T @ o.Di @ o.W, Iv),
        "3.9, lemma 4": (o.W @ H @ phi, H @ psi),
        "A.4, lemma 5": (
            o.Omega,
            o.Upsilon + o.psi_.T @ o.Upsilon + o.Upsilon @ o.psi_ + siblings(ops),
        ),
    }
    framework |= end_identities(ops)
    if ops.system.closures:
        framework |= closure_identities(ops)
    named = {"report": report, "patent": patent, "framework": framework}
    return {f"{who} ({eq})": sides for who, table in named.items() for eq, sides in table.items()}


def residual(left: Operator, right: Operator, rng: np.random.Generator) -> float:
    """The largest difference of the two sides on a few random vectors, relative to the largest term of either side.

    A side may be zero as the difference of terms that are not, as psi - I is beyond a free joint that carries nothing.
    """
    x = rng.standard_normal((left.domain.size, 3))
    left_terms, right_terms = ([term @ x for term in _terms(side)] for side in (left, right))
    scale = max(np.abs(term).max(initial=0.0) for term in (*left_terms, *right_terms))
    error = np.abs(sum(left_terms) - sum(right_terms)).max(initial=0.0)
    return float(error / scale) if error else 0.0


def _terms(side: Operator) -> tuple[Operator, ...]:
    return side.terms if isinstance(side, Sum) else (side,)


class Residuals(dict[str, float]):
    """{source (equation): relative residual}; `formulas` has the equations, and printing shows them side by side."""

    def __init__(self, residuals: Mapping[str, float], formulas: Mapping[str, str]):
        super().__init__(residuals)
        self.formulas = dict(formulas)

    def __repr__(self) -> str:
        wide = max(map(len, self), default=0)
        return "\n".join(
            f"{key:{wide}s}  {x:7.1e}  {self.formulas.get(key, '')}" for key, x in self.items()
        )

    _repr_html_ = as_text

    def __reduce__(self):
        return Residuals, (dict(self), self.formulas)


def verify_identities(system: System, q: ArrayLike, *, ends: Ends | None = None) -> Residuals:
    """Check every operator identity of the sources on a system: {source (equation): relative residual}.

    Each side is applied to random vectors by its sweeps; no dense matrix is formed, except the small matrices of ends
    and closures.  `formulas` of the result holds the equations.  The result prints as a table of keys, residuals and
    formulas.

    ends : ("body", node), or a list of them, for the equations of ends; by default up to three tips.
    """
    rng = np.random.default_rng(0)
    sides = identities(operators(system, q, ends=ends))
    found = {name: residual(left, right, rng) for name, (left, right) in sides.items()}
    return Residuals(found, {name: f"{left} = {right}" for name, (left, right) in sides.items()})
