"""Forward dynamics of closed systems over the operators, as in the framework paper.

Steps (A) to (F) of Rodriguez, Jain & Kreutz-Delgado, Sec. 3.  The tree holds their primary and secondary system side by
side, so the sums over the two in (D) are products here.  Relations of joint coordinates, which the paper does not
have, are rows C on the speeds in addition to A J.
"""

from __future__ import annotations

from limber.algebra.operators import Operators
from limber.checks import Array


def closure_forces(ops: Operators, free: Array) -> Array:
    """Steps (B) to (D): the closure forces f, given the accelerations `free` of the open tree, step (A).

    (B) alpha = J free; (C) Lambda = B^T Omega B; (D) A Lambda A^T f = A alpha - U.  The closures exert -J^T A^T f.  Of
    redundant closures, f is the one of least norm, each row being measured by its admittance.
    """
    loops = ops.loops
    return loops.admittance.inv() @ (loops.rows @ free - loops.U)


def correction(ops: Operators, f: Array) -> Array:
    """Step (E): what the closure forces do to the accelerations, -(I - H psi K)^T D^{-1} H psi B A^T f (3.12)."""
    return -(ops.whitening.T @ (ops.D_root.T @ (ops.loops.b @ f)))


def closed(ops: Operators, free: Array) -> Array:
    """Step (F): the accelerations of the closed system, given those of the open tree."""
    return free + correction(ops, closure_forces(ops, free))
