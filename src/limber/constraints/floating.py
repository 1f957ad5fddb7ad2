"""Free-floating manipulators, whose base moves by reaction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Closure
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.ends import Ends, checked_ends
from limber.dynamics.evaluate import check_system, evaluated
from limber.dynamics.kinematics import jacobian
from limber.errors import ArgumentValueError
from limber.joints import Free


def generalized_jacobian(system: System, q: ArrayLike, ends: Ends) -> Array:
    """The generalized Jacobian (..., 6 ends, nv) of a manipulator on a free-floating base with zero momentum.

    The velocities of the ends, [angular; linear] in world axes, are J_g v for all speeds v of zero momentum.  The
    columns of the base are zero, because its speeds follow from the others: J_g = J - J_b H_b^{-1} [H_b, H_bm], where
    J_b are the columns of the base in J and [H_b, H_bm] its rows of the mass matrix (Umetani & Yoshida).  Modes,
    including those of the base, move the ends as joints do.  O(N^2), for the mass matrix.

    q : (..., nq); leading dimensions are a batch.
    ends : ("body", node), or a list of them.  The body on the world that carries an end must have a `Free` joint.
    """
    check_system(system)
    found = checked_ends(system, ends)
    bases = sorted({_base(system, body) for body, _ in found}, key=list(system.layout).index)
    _refuse_anchors(system, bases)
    J = jacobian(system, q, list(found))
    M = evaluated(system, "mass_matrix", (q,))
    out = J.copy()
    for base in bases:
        at = system.layout[base].v_joint
        H = M[..., at, :]
        out -= J[..., at] @ np.linalg.solve(H[..., at], H)
        out[..., at] = 0.0
    return out


def _root(system: System, body: str) -> str:
    """The body on the world that carries `body`; the world itself for the world."""
    while body != "world" and system.parents[body] != "world":
        body = system.parents[body]
    return body


def _base(system: System, body: str) -> str:
    """The body on the world that carries `body`; an error if it does not float."""
    base = _root(system, body)
    if not isinstance(system.joints[base], Free):
        raise ArgumentValueError(
            f"generalized_jacobian: the end on {body!r} is carried by {base!r}, which a "
            f"{type(system.joints[base]).__name__} joint attaches to the world: momentum is conserved only if the base "
            "floats on a Free joint. For a fixed base, use lb.jacobian."
        )
    return base


def _refuse_anchors(system: System, bases: list[str]) -> None:
    """Reject closures that connect a floating tree to the world or to another tree."""
    for name, closure in system.closures.items():
        if not isinstance(closure, Closure):
            continue
        roots = [_root(system, end.body) for end in (closure.a, closure.b)]
        if roots[0] != roots[1] and set(roots) & set(bases):
            raise ArgumentValueError(
                f"generalized_jacobian: the closure {name!r} connects {roots[1]!r} to {roots[0]!r}, and its force changes "
                "the momentum of the manipulator. Only closures between bodies of one floating tree conserve it."
            )
