"""Joints in SymPy: any constant joint map, simple or compound (Kwatny & Blankenship, Section II)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
import sympy as sp

from limber.checks import free_symbols, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints.base import Group, Joint, bracket
from limber.joints.physics import JointOptions, JointPhysics
from limber.kernels import layout
from limber.symbolic.exact import DENOMINATOR, exact_expression, exact_number, matrix
from limber.symbolic.kinematics import JointKinematics


@dataclass(frozen=True, eq=False)
class ScrewGroup(Group):
    """A simple joint: screws with the constant joint map H (6 x r, SymPy entries)."""

    @property
    def has_rates(self) -> bool:
        """Whether the speeds are the rates of the coordinates, one by one: screws that commute."""
        return all(
            sp.simplify(x) == 0
            for i in range(self.dofs)
            for j in range(i)
            for x in bracket(self.H[:, i], self.H[:, j])
        )

    def screws(self) -> list[np.ndarray]:
        """The screw records of the group (`kernels.layout`)."""
        return [screw_constants(sp.Matrix(h)) for h in self.H.T]


def screw_constants(h: sp.Matrix) -> np.ndarray:
    """exp(h theta) of one column as constants, Eq. (12b), for an axis of any length."""
    h1, h2 = h[:3, :], h[3:, :]
    zero = sp.zeros(3, 1)
    turning = [x for x in h1 if x != 0]
    if not turning:
        rate, u, along, sine, versine = sp.Integer(0), zero, h2, zero, zero
    else:
        square = sp.simplify(h1.dot(h1))
        if (
            square.is_Rational and square.q > DENOMINATOR**2
        ):  # of rounded numbers: no exact root is meant
            square = exact_number(math.sqrt(square)) ** 2
        # along a coordinate axis the rate keeps the sign of h1 and no root is needed
        rate = turning[0] if len(turning) == 1 else sp.sqrt(square)
        u = h1.applyfunc(lambda x: sp.cancel(x / rate))
        along = h1.applyfunc(lambda x: sp.cancel(x * h1.dot(h2) / square))
        sine = (h2 - along) / rate
        versine = (h1.cross(h2) / square).applyfunc(sp.cancel)
    return np.array([rate, *u, *along, *sine, *versine], dtype=object)


class SymbolicJoint(Joint):
    """A joint of the symbolic paper; `simple_joint` and `compound_joint` make one.

    `X` is its 4 x 4 configuration matrix [R, p; 0, 1], inboard from outboard (Eqs. (15), (26)); `Gamma` its
    kinematic matrix, qdot = Gamma p (Eqs. (16), (25)); `H` its 6 x r joint map in outboard axes, constant for
    a simple joint (Eqs. (27), (28) for a compound one); `q` its coordinates; `physics` its physics, in
    the order of `q`.
    """

    symbolic = True

    def __init__(
        self,
        columns: Sequence[int],
        H: sp.Matrix,
        q: tuple[sp.Symbol, ...],
        outermost_first: bool = True,
        physics: JointPhysics | JointOptions | None = None,
    ):
        self.columns, self.outermost_first = tuple(columns), outermost_first
        self.map = sp.ImmutableMatrix(H)
        self.q = q
        entries = np.array(H.tolist(), dtype=object).reshape(6, len(q))
        self.groups = tuple(
            ScrewGroup(layout.SCREWS, entries[:, part], len(part), len(part))
            for part in self._speeds_of_groups
        )
        self._finish(physics or {})
        _refuse_coordinates(self)

    @cached_property
    def _speeds_of_groups(self) -> list[list[int]]:
        """The numbers of the speeds of each group, inboard to outboard."""
        ends = [int(x) for x in np.cumsum([0, *self.columns])]
        parts = [list(range(a, b)) for a, b in pairwise(ends)]
        return parts[::-1] if self.outermost_first else parts

    @cached_property
    def order(self) -> list[int]:
        """The numbers of the speeds in the order of the kernels, with groups from inboard to outboard."""
        return [i for part in self._speeds_of_groups for i in part]

    @cached_property
    def kernel_kind(self) -> tuple[int, int]:
        """The (kind, axis) of this joint in the kernels."""
        if not self.groups:
            return layout.FIXED, 0
        if self.map.shape[1] == 1:
            for axis in range(6):
                if self.map == sp.eye(6)[:, axis]:
                    return (layout.REVOLUTE if axis < 3 else layout.PRISMATIC), axis
        return layout.GENERAL, 0

    @property
    def free_symbols(self) -> frozenset:
        """The symbols in the joint map and in the physics."""
        return frozenset(self.map.free_symbols) | self.physics.free_symbols

    @cached_property
    def kinematics(self) -> JointKinematics:
        """X, Gamma and H as derived."""
        return JointKinematics(self)

    @property
    def X(self) -> sp.Matrix:
        """The 4 x 4 configuration matrix, inboard from outboard."""
        return self.kinematics.X

    @property
    def Gamma(self) -> sp.Matrix:  # type: ignore[override]
        """The kinematic matrix Gamma in qdot = Gamma p."""
        return self.kinematics.Gamma

    @property
    def H(self) -> sp.Matrix:  # type: ignore[override]
        """The 6 x r joint map in outboard axes."""
        return self.kinematics.H

    def __repr__(self):
        names = [str(x) for x in self.q]
        return self._written(f"r={list(self.columns)}", f"q={names}", f"H={self.map.tolist()}")


def simple_joint(
    H: Any, names: Sequence[str | sp.Symbol] | str, **physics: Unpack[JointOptions]
) -> SymbolicJoint:
    """A simple kinematic joint: relative velocity H p in outboard axes, with constant H.

    Parameters
    ----------
    H : 6 x r, rows [angular; linear], numbers or SymPy expressions; column 1 is the outboard-most of
        lambda = lambda_r ... lambda_1, lambda_i = exp(h_i q_i).  Axes need not be unit vectors.
    names : r names of the coordinates, strings or SymPy symbols, used as given.
    physics : armature, stiffness, damping and the other options that every joint takes (`lb.Joint`); one number
        or expression, or one for every column of H.

    The kinematic matrix is Gamma = (B^T B)^-1 B^T H (Kwatny & Blankenship, Proposition 2).  For a map whose
    columns are not closed under the Lie bracket, such as two body-fixed axes, no joint with r coordinates
    has this motion; X and Gamma are then only the formulas of the paper.

    Example: `simple_joint([[0], [0], [1], [0], [0], [s]], ["z"])` is a screw of pitch s along z.
    """
    H = _map(H)
    _refuse_dependent(H, "H")
    return SymbolicJoint([H.shape[1]], H, _names(names, H), physics=physics)


def compound_joint(
    r: Sequence[int],
    H: Any,
    names: Sequence[str | sp.Symbol] | str,
    **physics: Unpack[JointOptions],
) -> SymbolicJoint:
    """Simple joints in series as one joint with a variable map H(q) (Kwatny & Blankenship, Proposition 3).

    Parameters
    ----------
    r : how many columns of H each simple joint takes, the outboard-most joint first.
    H : 6 x sum(r), the constant maps side by side, each in its own outboard axes.
    names : sum(r) names of the coordinates, strings or SymPy symbols, used as given.
    physics : as for `simple_joint`, in the order of the columns of H.
    """
    H = _map(H)
    counts = _counts(r, H.shape[1])
    for start, end in pairwise(np.cumsum([0, *counts])):
        _refuse_dependent(H[:, int(start) : int(end)], f"columns {start} to {end - 1} of H")
    return SymbolicJoint(counts, H, _names(names, H), physics=physics)


def _refuse_coordinates(joint: SymbolicJoint) -> None:
    """Reject a coordinate among the symbols of the physics."""
    for option, value in vars(joint.physics).items():
        both = sorted(str(x) for x in set(joint.q) & free_symbols(value))
        if both:
            raise ArgumentValueError(
                f"{option} has {', '.join(both)}, which names a coordinate of the joint: {option} is constant, so give "
                "one of the two another name."
            )


def _map(H: Any) -> sp.Matrix:
    """H as a 6 x r SymPy matrix of exact entries."""
    try:
        found = matrix(H, exact_expression)  # a flat list is one column
    except (TypeError, ValueError, AttributeError):
        raise ArgumentTypeError(
            f"H must be a 6 x r matrix of numbers or SymPy expressions, got {shown(H)}. Give six rows, "
            "[angular; linear], with one entry per speed, as in [[0], [0], [1], [0], [0], [0]]."
        ) from None
    rows, columns = found.shape
    if rows != 6 or columns == 0:
        raise ArgumentValueError(
            f"H must have shape (6, r), r from 1 to 6, got {found.shape}. It has one row per component "
            "[angular; linear] and one column per speed."
        )
    for j in range(columns):
        if all(x == 0 for x in found[:, j]):
            raise ArgumentValueError(
                f"column {j} of H is zero: such a speed moves nothing. Leave it out."
            )
    if columns > 6:
        raise ArgumentValueError(
            f"H has {columns} columns: two bodies have at most 6 relative speeds."
        )
    return found


def _refuse_dependent(H: sp.Matrix, what: str) -> None:
    """Reject a simple joint two of whose speeds move the same way."""
    rank = H.rank()
    if rank < H.shape[1]:
        raise ArgumentValueError(
            f"{what}: a simple joint needs independent columns, got {H.shape[1]} of rank {rank}. Remove the "
            "dependent ones, or put them into joints of their own with compound_joint."
        )


def _counts(r: Any, columns: int) -> list[int]:
    """Column counts of the simple joints, checked."""
    try:
        counts = [int(n) for n in r]
        whole = all(n == given and not isinstance(given, bool) for n, given in zip(counts, r))
    except (TypeError, ValueError):
        counts, whole = [], False
    if not whole or not counts or min(counts) < 1:
        raise ArgumentValueError(
            f"r must be a list of column counts, each 1 or more, outermost joint first, got {shown(r)}."
        )
    if sum(counts) != columns:
        raise ArgumentValueError(
            f"r = {counts} takes {sum(counts)} columns, but H has {columns}. Every column of H belongs to one "
            "simple joint."
        )
    return counts


def _names(names: Any, H: sp.Matrix) -> tuple[sp.Symbol, ...]:
    """A symbol for every column of H."""
    count = H.shape[1]
    found = symbols("names", names, count, f"H has {count} columns; one coordinate for each.")
    both = sorted(str(x) for x in set(found) & H.free_symbols)
    if both:
        raise ArgumentValueError(
            f"names has {', '.join(both)}, which H contains: H is constant, so give the coordinate another name."
        )
    return found


def symbols(argument: str, names: Any, count: int, hint: str) -> tuple[sp.Symbol, ...]:
    """`count` different symbols from strings or symbols; `argument` and `hint` are for the message."""
    if isinstance(names, (str, sp.Symbol)):
        names = [names]
    try:
        listed = list(names)
    except TypeError:
        listed = [None]
    for name in listed:
        if not isinstance(name, (str, sp.Symbol)) or not str(name):
            raise ArgumentTypeError(
                f"{argument} must be strings or SymPy symbols, got {shown(names)}. {hint}"
            )
    found = tuple(sp.Symbol(n) if isinstance(n, str) else n for n in listed)
    if len(found) != count:
        raise ArgumentValueError(
            f"{argument} must have {count} entries, got {len(found)}: {shown(listed)}. {hint}"
        )
    if len(set(found)) != count:
        raise ArgumentValueError(
            f"{argument} has duplicates: {shown(listed)}. Every coordinate needs its own name."
        )
    return found
