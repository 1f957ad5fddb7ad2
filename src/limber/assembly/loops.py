"""Packing of closures and of the fronts that their rows pass through (`limber.kernels.closures`, `fronts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from limber.assembly.closures import Closure, End, Probe, Relation
from limber.assembly.cut_joints import CutJoint, cut_joint_rows, random_position
from limber.assembly.packed import Packed, whole_rows
from limber.joints import Joint
from limber.joints.packing import Constants, lay_out_joint, pack_groups, place_blocks
from limber.kernels import layout as L


@dataclass(frozen=True, eq=False)
class Loop:
    """A closure, its rows and the way of these rows through the tree."""

    closure: Closure | Relation
    cut: CutJoint | None  # None for a relation
    bodies: tuple[int, ...]  # that the rows enter at, by number
    site: int  # the body where they are eliminated

    @property
    def rows(self) -> int:
        """The number of its scalar rows."""
        return 1 if self.cut is None else len(self.cut.rows)


class Loops:
    """The closures of a system, their rows in the order of elimination.

    order : the closures, those first whose rows are eliminated first.
    first : the first row of each closure, by name.
    """

    def __init__(
        self, closures: Sequence[Closure | Relation], parents: Sequence[int], number: Mapping
    ):
        found = [_loop(closure, parents, number) for closure in closures]
        self.order = sorted(found, key=lambda loop: -loop.site)
        self.first: dict[str, int] = {}
        #: for each body that rows pass through, these rows
        self.open: dict[int, list[int]] = {}
        self.site: list[int] = []  # of each row
        self._parents = parents
        at = 0
        for loop in self.order:
            self.first[loop.closure.name] = at
            rows = list(range(at, at + loop.rows))
            at += loop.rows
            self.site += [loop.site] * loop.rows
            for k in {k for body in loop.bodies for k in _path(body, loop.site, parents)}:
                self.open.setdefault(k, []).extend(rows)
        self.rows = at

    @cached_property
    def observed(self) -> set[int]:
        """The bodies whose place and velocity the closures need: those that carry an end, and all inboard of them."""
        ends = {body for loop in self.order if loop.cut is not None for body in loop.bodies}
        return {k for body in ends for k in _path(body, 0, self._parents)} - {0}

    @property
    def probes(self) -> int:
        """The number of rows of probes."""
        return sum(loop.rows for loop in self.order if isinstance(loop.closure, Probe))

    def slices(self) -> dict[str, slice]:
        """The rows of each closure, by name, in the order of elimination."""
        return {
            loop.closure.name: slice(first, first + loop.rows)
            for loop, first in zip(self.order, self.first.values())
        }

    @property
    def topo_rows(self) -> int:
        """How many rows of `topo` they need."""
        joints = [loop.cut.joint for loop in self.order if loop.cut is not None]
        groups = sum(1 + len(joint.groups) for joint in joints if joint is not None)
        return len(self.order) + len(self.open) + groups


def _loop(closure: Closure | Relation, parents, number: Mapping[str, int]) -> Loop:
    if isinstance(closure, Relation):
        bodies = tuple(number[body] for body, _ in closure.terms)
        return Loop(closure, None, bodies, _meeting([parents[k] for k in bodies], parents))
    bodies = number[closure.a.body], number[closure.b.body]
    cut = cut_joint_rows(closure.joint).without(closure.left_out)
    if isinstance(closure, Probe):
        cut = replace(cut, kind=L.PROBED)
    return Loop(closure, cut, bodies, _meeting(bodies, parents))


def _path(k: int, site: int, parents) -> list[int]:
    """The bodies from k inward to `site`."""
    path = [k]
    while path[-1] != site:
        path.append(int(parents[path[-1]]))
    return path


def _meeting(bodies, parents) -> int:
    """The body farthest out that is inboard of all `bodies` or one of them."""
    common = set(_path(bodies[0], 0, parents))
    for k in bodies[1:]:
        common &= set(_path(k, 0, parents))
    return max(common)  # numbers grow outward


def with_closures(
    tree: Packed, closures: Sequence[Closure | Relation], number: Mapping[str, int]
) -> Packed:
    """A packed tree with closures.  Nothing of the tree is computed again.

    number : the numbers of the bodies by name.
    """
    if not closures:
        return tree
    rows = tree.topo.reshape(-1, L.COLUMNS)
    n = len(tree.records) - 1
    loops = Loops(closures, (rows[: n + 1, L.PARENT] // L.COLUMNS).tolist(), number)
    topo = np.zeros((len(rows) + loops.topo_rows, L.COLUMNS), dtype=np.int64)
    topo[: len(rows)] = rows
    const = Constants([tree.const], tree.const.size)
    lists: list[int] = []
    _pack_loops(topo, const, loops, len(rows), lists, tree.records)
    _lay_out_fronts(topo, n)
    flat = np.concatenate([topo.ravel(), np.array(whole_rows(lists), dtype=np.int64)])
    return replace(
        tree, topo=flat, const=np.concatenate(const.parts), loops=loops, pools={}, variants={}
    )


def _pack_loops(topo, const: Constants, loops: Loops, at: int, lists: list[int], records) -> None:
    """Fill the rows of the closures and of the fronts, from row `at` on, and append to the lists behind `topo`."""
    spare = at + len(loops.order)
    topo[0, [L.CLOSURES, L.CLOSURES_END]] = at * L.COLUMNS, spare * L.COLUMNS
    topo[0, [L.ROWS, L.PROBES]] = loops.rows, loops.probes
    for k, rows in sorted(loops.open.items()):
        _pack_front(topo, spare, k, rows, loops, lists)
        spare += 1
    topo[sorted(loops.observed), L.OBSERVED] = 1
    for row, loop in zip(topo[at:], loops.order):
        row[L.K_ROWS], row[L.K_FIRST] = loop.rows, loops.first[loop.closure.name]
        if loop.cut is None:
            _pack_relation(row, const, loop, loops, topo.size, lists)
        else:
            _pack_cut(row, const, loop, loops, records)
            if loop.cut.joint is not None:
                row[L.K_SPANNED] = loop.cut.joint.dofs + len(loop.cut.free)
                row[L.K_FREED] = const.add(loop.cut.free)
                row[L.K_JOINT] = spare * L.COLUMNS
                spare = _pack_compound(topo, const, spare, loop.cut.joint)


def _pack_front(topo, row: int, k: int, rows: list[int], loops: Loops, lists: list[int]) -> None:
    here = [i for i in rows if loops.site[i] == k]
    onward = [i for i in rows if loops.site[i] != k]
    assert rows == here + onward == sorted(rows)
    front = topo[row]
    topo[k, L.FRONT] = row * L.COLUMNS
    front[L.F_ROWS], front[L.F_DONE] = len(rows), len(here)
    front[L.F_LIST] = topo.size + len(lists)
    lists += rows
    if onward:
        front[L.F_UP] = topo.size + len(lists)
        up = loops.open[int(topo[k, L.PARENT]) // L.COLUMNS]
        lists += [up.index(i) for i in onward]


def _pack_cut(row, const: Constants, loop: Loop, loops: Loops, records) -> None:
    cut, closure = loop.cut, loop.closure
    assert cut is not None and isinstance(closure, Closure)
    row[L.K_KIND] = cut.kind
    first = loops.first[closure.name]
    for side, end in enumerate((closure.a, closure.b)):
        k = loop.bodies[side]
        row[L.K_BODY[side]] = k * L.COLUMNS
        row[L.K_NODE[side]] = records[k][end.node]
        row[L.K_FRAME[side]] = const.add(end.rotation, _shifted(end, cut))
        row[L.K_AT[side]] = loops.open[k].index(first)
    row[L.K_MAP] = const.add(cut.rows)
    row[L.K_AXIS] = const.add(cut.axis)
    row[L.K_BACK] = const.add(-cut.shift)
    if cut.pitch is not None:
        row[L.K_SCREW], row[L.K_PITCH] = 1, const.add(cut.pitch)


def _pack_compound(topo, const: Constants, at: int, joint: Joint) -> int:
    """Fill the row of a COMPOUND joint and those of its groups, from `at` on, and return the next free row."""
    row = topo[at]
    row[L.DOFS], row[L.JOINT] = joint.dofs, L.GENERAL
    row[L.GROUP], row[L.GROUPS] = at + 1, len(joint.groups)
    # a start at which no symmetry holds the recovery of coordinates
    row[L.START], row[L.START_SIZE] = const.add(random_position(joint, 0.1)), joint.nq
    return pack_groups(topo, const, at, joint, at + 1)


def _lay_out_compound(topo, row, at: int) -> int:
    """Set the offsets of the work of a COMPOUND closure and its joint, from `at` on, and return its end."""
    number = int(row[L.K_JOINT]) // L.COLUMNS
    joint = topo[number]
    row[L.K_ROW], at = at, at + 36
    joint[L.Q_JOINT], at = at, at + int(joint[L.START_SIZE])
    joint[L.V_JOINT], at = at, at + int(joint[L.DOFS])
    joint[L.W_NODE], at = at, at + int(joint[L.DOFS]) ** 2
    for group in topo[joint[L.GROUP] : joint[L.GROUP] + joint[L.GROUPS]]:
        group[L.G_Q] += joint[L.Q_JOINT]
        group[L.G_V] += joint[L.V_JOINT]
    at = lay_out_joint(topo, number, at)
    joint[L.GROUP] *= L.COLUMNS  # `flattened` does this for the joints of bodies
    return at


def _shifted(end: End, cut: CutJoint) -> np.ndarray:
    """From the node to the frame of an end, moved to the axis of the joint."""
    return end.offset + end.rotation @ cut.shift


def _pack_relation(
    row, const: Constants, loop: Loop, loops: Loops, size: int, lists: list[int]
) -> None:
    closure = loop.closure
    assert isinstance(closure, Relation)
    row[L.K_KIND] = L.RELATED
    row[L.K_TERMS], row[L.K_TERM] = len(loop.bodies), size + len(lists)
    for k, (_, speed) in zip(loop.bodies, closure.terms):
        lists += [k * L.COLUMNS, speed, loops.open[k].index(loops.first[closure.name])]
    row[L.K_FACTOR] = const.add(list(closure.terms.values()), closure.value)


def _lay_out_fronts(topo, n: int) -> None:
    """Set the offsets of the work blocks of the fronts and of the multipliers, behind those of the tree."""
    at = int(topo[0, L.SPARE])
    for k in range(n + 1):
        if topo[k, L.FRONT]:
            front = topo[topo[k, L.FRONT] // L.COLUMNS]
            sizes = L.front_work(int(front[L.F_ROWS]), int(topo[k, L.MODES]), int(topo[k, L.DOFS]))
            at = place_blocks(front, sizes, at)
    for row in topo[topo[0, L.CLOSURES] // L.COLUMNS : topo[0, L.CLOSURES_END] // L.COLUMNS]:
        if row[L.K_KIND] == L.COMPOUND:
            at = _lay_out_compound(topo, row, at)
    topo[0, L.W_LAMBDA] = at
    at += int(topo[0, L.ROWS])
    topo[0, L.SPARE] = at
    at += int(topo[0, L.NQ])
    topo[0, L.WORK_SIZE] = at
