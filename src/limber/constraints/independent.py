"""Closure rows that are independent in general, so that code can be generated for them once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Closure, Relation
from limber.assembly.cut_joints import cut_joint_rows
from limber.assembly.system import System
from limber.checks import Array, listed
from limber.constraints.projection import assemble
from limber.dynamics.evaluate import evaluated, with_starts_at
from limber.dynamics.freedoms import locked_speeds, undeformed
from limber.dynamics.rows import DEPENDENT, closure_jacobian, row_space
from limber.errors import DynamicsError
from limber.joints import Fixed
from limber.kernels import layout as L

#: The number of configurations at which rows are looked at unless one is given.
CONFIGURATIONS = 3
#: How far one is from the next, in rad and m: tried in turn until there are enough.
MOVES = (0.4, 0.3, 0.2, 0.1, 0.4, 0.2, 0.1, 0.05)
#: Modal coordinates differ by this fraction of it.
DEFORMATION = 0.01
#: A twist within this of the span of the rows of a joint counts as one of them.
WITHIN = 1e-9


@dataclass(frozen=True, eq=False)
class Independent:
    """A system without redundant closure rows.

    system : the same system without them.
    left_out : how many rows each closure has lost, for closures that have lost any.
    """

    system: System
    left_out: dict[str, int]

    def __str__(self):
        n = self.system.rows
        if not self.left_out:
            return f"all of its {n} closure rows, which are independent"
        lost = sum(self.left_out.values())
        parts = ", ".join(f"{count} of {name!r}" for name, count in self.left_out.items())
        return (
            f"{n} independent closure rows of {n + lost}, fixed when it was made; left out: {parts}"
        )


@dataclass(frozen=True, eq=False)
class _Row:
    """A row that can be left out (`number`, see `Closure.left_out`), or that must stay (None)."""

    closure: str
    number: int | None
    of: list[Array]  # one entry for each moving speed, in each configuration


def independent_rows(
    system: System, q: Array | None = None, driven: Collection[str] = ()
) -> Independent:
    """Return the system without the rows that are redundant wherever the closures are satisfied.

    Rows are examined in some configurations that satisfy the closures: along the degrees of freedom from q, or from one
    that `assemble` finds.  Without q, they must have the same rank in configurations that violate the closures.  Rows
    that depend on each other only where the closures are satisfied may do so on one branch of the motion and not on
    another; q selects the branch.  O(N^3) in each configuration.

    driven : bodies whose joints have prescribed motion; the rows are then independent in the other speeds.
    """
    places = configurations(system, q)
    moving = np.flatnonzero(~locked_speeds(system, driven, "driven"))
    rows = _candidates(system, places, moving)
    ranks = [_rank([row.of[i] for row in rows]) for i in range(len(places))]
    rank = max(ranks)
    if driven and any(row_space(system, place).rank > rank for place in places):
        raise DynamicsError(
            f"more joints of {system.name!r} are driven than its closures leave free, {listed(driven)}: the forces needed "
            "for this are not unique. Drive fewer joints."
        )
    if q is None:
        elsewhere = _rank_elsewhere(system, moving)
        if elsewhere != rank:
            raise DynamicsError(
                f"{elsewhere} of the {system.rows} closure rows of {system.name!r} are independent in general, but "
                f"only {rank} in a configuration that satisfies the closures: the mechanism moves only because of its "
                "dimensions, or this configuration is singular. Give a configuration that satisfies the closures, "
                "about which the mechanism is to move, to find the independent rows."
            )
    used = [i for i, r in enumerate(ranks) if r == rank]
    kept = _chosen(rows, used, rank)
    out: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if i not in kept:
            assert row.number is not None
            out.setdefault(row.closure, []).append(row.number)
    closures: list[Closure | Relation] = []
    for closure in system.closures.values():
        numbers = tuple(out.get(closure.name, ()))
        span = system.closure_rows[closure.name]
        if len(numbers) == span.stop - span.start:
            continue
        if isinstance(closure, Closure) and numbers:
            closures.append(replace(closure, left_out=numbers))
        else:
            closures.append(closure)
    lost = {name: len(out[name]) for name in system.closures if name in out}
    left = with_starts_at(system, places[0], "compile")
    if lost:
        starts = {c.name: c.start for c in left.closures.values() if isinstance(c, Closure)}
        left = system.closed_by(
            [replace(c, start=starts[c.name]) if isinstance(c, Closure) else c for c in closures]
        )
    return Independent(left, lost)


def configurations(system: System, q: Array | None = None) -> list[Array]:
    """A few configurations that satisfy the closures: q, or one from `assemble`, and others reached from there."""
    found = [assemble(system) if q is None else q]
    random = np.random.default_rng(0)
    modes = _modes(system)
    for size in MOVES:
        if len(found) == CONFIGURATIONS:
            break
        basis = row_space(system, found[-1]).basis
        change = basis @ random.normal(size=basis.shape[1])
        change *= size / max(np.abs(change).max(initial=0.0), 1e-300)
        change = np.where(modes, DEFORMATION * change, change)
        guess = evaluated(system, "integrate", (found[-1], change, np.ones(1)))
        try:
            found.append(assemble(system, guess, trials=2))
        except DynamicsError:
            continue
    return found


def _modes(system: System) -> np.ndarray:
    """For each speed, whether it is that of a mode."""
    found = np.zeros(system.nv, dtype=bool)
    for where in system.layout.values():
        found[where.v_modes] = True
    return found


def _rank_elsewhere(system: System, moving: np.ndarray) -> int:
    """The rank of the rows in random configurations, which violate the closures."""
    random = np.random.default_rng(1)
    ranks = []
    for _ in range(CONFIGURATIONS):
        change = random.normal(size=system.nv) * np.where(_modes(system), DEFORMATION, 1.0)
        q = evaluated(system, "integrate", (system.neutral(), change, np.ones(1)))
        ranks.append(_rank(_scaled(system, system, q, moving)))
    return max(ranks)


def _candidates(system: System, places: list[Array], moving: np.ndarray) -> list[_Row]:
    """All rows, in the order of elimination; those of joints with changing rows are constant ones where they are."""
    found = []
    jacobians = [_scaled(system, system, q, moving) for q in places]
    for name, span in system.closure_rows.items():
        closure = system.closures[name]
        numbers = range(span.stop - span.start)
        if isinstance(closure, Relation) or cut_joint_rows(closure.joint).kind != L.COMPOUND:
            found += [_Row(name, j, [A[span.start + j] for A in jacobians]) for j in numbers]
        else:
            found += _changing(system, closure, places, moving)
    return found


def _changing(
    system: System, closure: Closure, places: list[Array], moving: np.ndarray
) -> list[_Row]:
    """The rows of a joint whose rows change: the unit twists that are always among them, and the others."""
    locked = system.closed_by([replace(closure, joint=Fixed())])
    alone = system.closed_by([closure])
    in_rows = [_maps(alone, locked, q) for q in places]
    whole = [
        i
        for i in range(6)
        if all(np.linalg.norm(N[:, i]) > 1.0 - WITHIN for N in in_rows)  # orthonormal rows
    ]
    constant = [_scaled(system, locked, q, moving) for q in places]
    found = [_Row(closure.name, i, [A[i] for A in constant]) for i in whole]
    others = []
    for q, N in zip(places, in_rows):
        # the combinations of rows that have no part in the constant ones
        combinations = np.linalg.svd(N[:, whole])[0][:, len(whole) :].T if whole else np.eye(len(N))
        others.append(_scaled(system, alone, q, moving, combinations))
    return found + [_Row(closure.name, None, [A[j] for A in others]) for j in range(len(others[0]))]


def _maps(alone: System, locked: System, q: Array) -> Array:
    """The rows (n, 6) of the only closure of `alone` in the axes of its end b, from the wrenches that they exert."""
    q = undeformed(alone, q) if alone.fidelity == "ruthless" else q
    wrenches = evaluated(alone, "wrenches", (q, np.eye(alone.rows)))[:, 0]
    axes = evaluated(locked, "wrenches", (q, np.eye(6)))[:, 0]
    return wrenches @ axes.T


def _scaled(
    system: System, closed: System, q: Array, moving: np.ndarray, combinations: Array | None = None
) -> Array:
    """Unit rows of `closed`, or combinations of them, each measured by the kinetic energy required to move it.

    Zero rows stay zero.  Only the `moving` speeds count.
    """
    A = closure_jacobian(closed, q)[:, moving]
    A = A if combinations is None else combinations @ A
    weights = np.linalg.cholesky(evaluated(system, "mass_matrix", (q,))[np.ix_(moving, moving)])
    weighed = np.linalg.solve(weights, A.T).T
    size = np.linalg.norm(weighed, axis=1, keepdims=True)
    return np.where(size > 1e-12 * size.max(initial=0.0), weighed / np.where(size > 0, size, 1), 0)


def _rank(rows: ArrayLike) -> int:
    s = np.linalg.svd(np.array(rows), compute_uv=False)
    return int((s > DEPENDENT * s.max(initial=0.0)).sum())


def _chosen(rows: list[_Row], used: list[int], rank: int) -> set[int]:
    """`rank` rows that are independent in the configurations `used`: those that must stay, then the longest others.

    The length of a row is that of the part independent of the rows already chosen, the least over all configurations.
    """
    rest = [np.array([row.of[i] for row in rows]) for i in used]
    kept: list[int] = []
    pending = [i for i, row in enumerate(rows) if row.number is None]
    while len(kept) < rank:
        length = np.min([np.linalg.norm(W, axis=1) for W in rest], axis=0)
        length[kept] = -1.0
        best = pending.pop(0) if pending else int(np.argmax(length))
        if length[best] <= DEPENDENT:
            raise DynamicsError(
                f"the closure rows of {rows[best].closure!r} depend on others in a way that changes with the "
                "configuration, so none of them can be left out for good."
            )
        kept.append(best)
        units = [W[best] / np.linalg.norm(W[best]) for W in rest]
        rest = [W - np.outer(W @ unit, unit) for W, unit in zip(rest, units)]
    if pending:
        raise DynamicsError(
            f"the closure rows of {rows[pending[0]].closure!r} depend on others in a way that changes with the "
            "configuration, so none of them can be left out for good."
        )
    return set(kept)
