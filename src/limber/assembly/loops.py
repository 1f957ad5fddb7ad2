"""Packing of closures and of the fronts that their rows pass through (`limber.kernels.closures`, `fronts`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from limber.assembly.closures import Closure, End, Probe, Relation
from limber.assembly.cut_joints import (
    CutJoint,
    cut_joint_rows,
    mirror_signs,
    random_position,
    typical_length,
)
from limber.assembly.packed import Packed, whole_rows
from limber.joints import Joint
from limber.joints.packing import Constants, lay_out_joint, pack_groups, place_blocks
from limber.kernels import layout as L

#: A body carries the rows of closures as motions of its own if there are more of them than this many times its degrees of freedom.
HUB = 2


@dataclass(frozen=True, eq=False)
class Loop:
    """A closure, its rows and the path of these rows through the tree."""

    closure: Closure | Relation
    cut: CutJoint | None  # None for a relation
    bodies: tuple[int, ...]  # that the rows enter at, by number
    site: int  # the body where they are eliminated

    @property
    def rows(self) -> int:
        """The number of its scalar rows."""
        return 1 if self.cut is None else len(self.cut.rows)

    @property
    def watches(self) -> bool:
        """Whether its rows are carried to the world and not eliminated."""
        return isinstance(self.closure, Probe)


class Loops:
    """The closures of a system, their rows in the order of elimination, and the paths of these rows through the tree.

    A hub is a body on which many rows end, such as an object that many arms hold.  Inboard of the hub, these rows act
    only by moving it.  From the hub inward, the fronts therefore have one row for each of its motions (6, and its
    modes) instead; see `limber.kernels.fronts`.  Rows of closures and of hubs have slots: for each body where closures
    are eliminated, farthest out first, those of its closures, then those of the hubs that end there; the slots of
    probes are last.

    order : the closures in the order in which their rows are eliminated.
    first : the first row of each closure, by name.
    hubs : the number of motions of each hub.
    slot : the first slot of each closure, by name, and of each hub, by number.
    open : for each body that rows pass through, their slots.
    part : the part of the rows that are eliminated at the same body to which a slot belongs; rows of different parts
        never meet on their path there.  None for the slots of hubs and probes, which are not eliminated.
    """

    def __init__(
        self,
        closures: Sequence[Closure | Relation],
        parents: Sequence[int],
        modes: Sequence[int],
        number: Mapping,
    ):
        self._parents = parents
        found = [_loop(closure, parents, number) for closure in closures]
        probes = [loop for loop in found if loop.watches]
        found = [loop for loop in found if not loop.watches]
        self.hubs = _hubs(found, modes)
        through = {loop.closure.name: self._bodies(loop) for loop in found}
        parts = _parts(self._meets(found, through, modes))
        self.order = sorted(found, key=lambda loop: (-loop.site, parts[loop.closure.name]))
        self.order += probes
        self.first: dict[str, int] = {}
        self.slot: dict[str | int, int] = {}
        self.open: dict[int, list[int]] = {}
        self.site: list[int] = []  # of each slot
        self.part: list[int | None] = []
        self.rows = 0
        for loop in self.order:
            self.first[loop.closure.name] = self.rows
            self.rows += loop.rows
        ends = self._hub_ends()
        for site, loops in groupby(self.order[: len(found)], key=lambda loop: loop.site):
            for loop in loops:
                name = loop.closure.name
                self._add(name, loop.rows, site, parts[name], through[name])
            for hub in ends.get(site, ()):
                self._add(hub, self.hubs[hub], site, None, _path(hub, site, parents))
        for loop in probes:
            self._add(loop.closure.name, loop.rows, 0, None, self._bodies(loop))

    def _add(self, what: str | int, n: int, site: int, part: int | None, bodies: Iterable[int]):
        at = self.slot[what] = len(self.site)
        self.site += [site] * n
        self.part += [part] * n
        for k in bodies:
            self.open.setdefault(k, []).extend(range(at, at + n))

    def on_hub(self, loop: Loop, k: int) -> bool:
        """Whether the rows of a closure that enter at body k do so by the motions of a hub."""
        return loop.cut is not None and not loop.watches and k in self.hubs and k != loop.site

    def _bodies(self, loop: Loop) -> set[int]:
        """The bodies that the rows of a closure pass through themselves."""
        paths = [
            _path(k, loop.site, self._parents) for k in loop.bodies if not self.on_hub(loop, k)
        ]
        return {loop.site}.union(*paths)

    def _hub_ends(self) -> dict[int, list[int]]:
        """For each body, the hubs that are needed up to it, but not farther inboard."""
        last: dict[int, int] = {}
        for loop in self.order:  # those farther inboard come later
            last.update({k: loop.site for k in loop.bodies if self.on_hub(loop, k)})
        found: dict[int, list[int]] = {}
        for hub, site in last.items():
            found.setdefault(site, []).append(hub)
        return found

    def continued(self, k: int) -> int | None:
        """The only body from which rows come to body k, if all of them do and continue unchanged; otherwise None."""
        outboard = self._outboard.get(k, [])
        alone = len(outboard) == 1 and k not in self._entered
        return outboard[0] if alone and self.open[outboard[0]] == self.open[k] else None

    @cached_property
    def _outboard(self) -> dict[int, list[int]]:
        """The bodies on each body that rows pass through."""
        found: dict[int, list[int]] = {}
        for k in self.open:
            if k != 0:
                found.setdefault(self._parents[k], []).append(k)
        return found

    @cached_property
    def _entered(self) -> set[int]:
        """The bodies on which cut joints end."""
        return {k for loop in self.order if loop.cut is not None for k in loop.bodies}

    @cached_property
    def sites_of_hubs(self) -> set[int]:
        """Where rows on hubs are eliminated."""
        return {loop.site for loop in self.order for k in loop.bodies if self.on_hub(loop, k)}

    def _meets(self, loops, through: Mapping[str, set[int]], modes) -> dict[str, set]:
        """Where the rows of each closure meet others that are eliminated at the same body, by its name.

        These are the bodies outboard of it, and itself if it has modes.  The rows on a hub meet if the rows of any closure
        pass through a body that the motions of the hub pass through.
        """
        ways = {hub: set(_path(hub, 0, self._parents)) for hub in self.hubs}
        found: dict[str, set] = {}
        for loop in loops:
            outboard = {k for k in through[loop.closure.name] if k != loop.site or modes[k] > 0}
            crossed = [hub for hub, way in ways.items() if way & outboard]
            found[loop.closure.name] = {(loop.site, k) for k in outboard}
            found[loop.closure.name] |= {(loop.site, "hub", hub) for hub in crossed}
        joined = {place for places in found.values() for place in places if "hub" in place}
        for loop in loops:
            on = {(loop.site, "hub", k) for k in loop.bodies if self.on_hub(loop, k)}
            found[loop.closure.name] |= on & joined
        return found

    @cached_property
    def observed(self) -> set[int]:
        """The bodies whose position and velocity the closures need: those that carry an end, and all inboard ones."""
        ends = {body for loop in self.order if loop.cut is not None for body in loop.bodies}
        return {k for body in ends for k in _path(body, 0, self._parents)} - {0}

    @property
    def probes(self) -> int:
        """The number of rows of probes."""
        return sum(loop.rows for loop in self.order if loop.watches)

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


def _hubs(loops: list[Loop], modes: Sequence[int]) -> dict[int, int]:
    """The bodies that are hubs, and the number of their motions."""
    rows: dict[int, int] = {}
    for loop in loops:
        for k in loop.bodies if loop.cut is not None else ():
            if k != loop.site:
                rows[k] = rows.get(k, 0) + loop.rows
    return {k: 6 + modes[k] for k, n in rows.items() if n > HUB * (6 + modes[k])}


def _parts(meets: Mapping[str, set]) -> dict[str, int]:
    """A number for each closure, by name, equal for closures that meet somewhere, or that others join."""
    parts: dict[str, int] = {}
    at: dict[Hashable, int] = {}  # the part of each place
    for number, (name, places) in enumerate(meets.items()):
        met = {at[place] for place in places if place in at}
        parts[name] = number
        at.update(dict.fromkeys(places, number))
        if met:
            at = {place: number if part in met else part for place, part in at.items()}
            parts = {each: number if part in met else part for each, part in parts.items()}
    return parts


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
    tree: Packed,
    closures: Sequence[Closure | Relation],
    number: Mapping[str, int],
    size: Callable[[], float] = lambda: 1.0,
) -> Packed:
    """A packed tree with closures.  Nothing of the tree is computed again.

    number : the numbers of the bodies by name.
    size : that of the system, by which lengths of cut joints are measured that have none of their own.
    """
    if not closures:
        return tree
    rows = tree.topo.reshape(-1, L.COLUMNS)
    n = len(tree.records)
    parents, modes = (rows[:n, L.PARENT] // L.COLUMNS).tolist(), rows[:n, L.MODES].tolist()
    loops = Loops(closures, parents, modes, number)
    topo = np.zeros((len(rows) + loops.topo_rows, L.COLUMNS), dtype=np.int64)
    topo[: len(rows)] = rows
    const = Constants([tree.const], tree.const.size)
    lists: list[int] = []
    _pack_loops(topo, const, loops, len(rows), lists, tree.records, size)
    flat = np.concatenate([topo.ravel(), np.array(whole_rows(lists), dtype=np.int64)])
    return replace(
        tree,
        topo=flat,
        const=np.concatenate(const.parts),
        loops=loops,
        pools={},
        variants={},
        inertial={},
    )


def _pack_loops(
    topo,
    const: Constants,
    loops: Loops,
    at: int,
    lists: list[int],
    records,
    size: Callable[[], float],
) -> None:
    """Fill the rows of the closures and of the fronts, from row `at` on, and append to the lists behind `topo`."""
    spare = at + len(loops.order)
    topo[0, [L.CLOSURES, L.CLOSURES_END]] = at * L.COLUMNS, spare * L.COLUMNS
    topo[0, [L.ROWS, L.PROBES]] = loops.rows, loops.probes
    work = int(topo[0, L.SPARE])
    for row, loop in zip(topo[at:], loops.order):
        work = _lay_out_hub_ends(row, loop, loops, work)
    topo[0, L.W_FRONTS] = work
    for k in sorted(loops.open, reverse=True):
        work = _pack_front(topo, spare, k, loops, lists, work)
        spare += 1
    _link_rows(topo, at, loops, lists)
    topo[sorted(loops.observed), L.OBSERVED] = 1
    for row, loop in zip(topo[at:], loops.order):
        row[L.K_ROWS], row[L.K_FIRST] = loop.rows, loops.first[loop.closure.name]
        row[L.K_C] = _bias_place(topo, loop, loops)
        row[L.K_SLOT] = loops.slot[loop.closure.name]
        if loop.cut is None:
            _pack_relation(row, const, loop, loops, topo.size, lists)
        else:
            _pack_cut(row, const, loop, loops, records)
            if loop.cut.joint is not None:
                row[L.K_SPANNED] = loop.cut.joint.dofs + len(loop.cut.free)
                row[L.K_FREED] = const.add(loop.cut.free)
                row[L.K_JOINT] = spare * L.COLUMNS
                start = _start(loop)
                length = typical_length(loop.cut.joint, size())
                row[L.K_SIGNS] = const.add(mirror_signs(loop.cut, start, length))
                spare = _pack_compound(topo, const, spare, loop.cut.joint, start, length)
    topo[0, L.W_LAMBDA] = work
    work += len(loops.site)
    for row in topo[at : at + len(loops.order)]:
        if row[L.K_KIND] == L.COMPOUND:
            work = _lay_out_compound(topo, row, work)
    topo[0, L.SPARE] = work
    work += topo[0, L.NQ]
    topo[0, L.WORK_SIZE] = work


def _lay_out_hub_ends(row, loop: Loop, loops: Loops, at: int) -> int:
    """Set the offsets of the effects of the rows of a closure on hubs, from `at` on, and return the end."""
    for side, k in enumerate(loop.bodies):
        if loops.on_hub(loop, k):
            row[L.K_HUB[side]] = at
            at += loop.rows * loops.hubs[k]
    return at


def _pack_front(topo, row: int, k: int, loops: Loops, lists: list[int], work: int) -> int:
    """Fill the row of the front of body k and lay out its work, from `work` on; returns the end of it."""
    slots = loops.open[k]
    n = len(slots)
    ended = sum(loops.site[i] == k for i in slots)
    done = sum(loops.part[i] is not None for i in slots[:ended])
    front = topo[row]
    topo[k, L.FRONT] = row * L.COLUMNS
    front[[L.F_ROWS, L.F_DONE, L.F_ON]] = n, done, ended
    if k in loops.hubs:
        front[[L.F_HUB, L.F_MOTIONS]] = slots.index(loops.slot[k]), loops.hubs[k]
    front[L.F_LIST] = topo.size + len(lists)
    lists += slots
    if ended < n:
        up = {i: t for t, i in enumerate(loops.open[int(topo[k, L.PARENT]) // L.COLUMNS])}
        front[L.F_UP] = topo.size + len(lists)
        lists += [up[i] for i in slots[ended:]]
    front[L.F_SQUARES] = topo[k, L.INBOARD] != 0
    modes, dofs = int(topo[k, L.MODES]), int(topo[k, L.DOFS])
    work = place_blocks(front, L.front_work(n, modes, dofs), work)
    alone = loops.continued(k)
    if alone is None:
        work = place_blocks(front, L.shared_work(n), work)
    else:
        outboard = topo[int(topo[alone, L.FRONT]) // L.COLUMNS]
        columns = [*L.shared_work(n), L.W_L]
        front[columns] = outboard[columns]
        front[L.F_SHARED] = 1
    parts = [loops.part[i] for i in slots[:done]]
    start = work if alone is None else int(front[L.W_L])
    records, end = _lay_out_mobility(front, parts, n, start)
    work = end if alone is None else work
    if k in loops.sites_of_hubs:
        front[[L.W_ERRORS, L.F_ERRORS]] = work, (n - done) ** 2
        work += (n - done) ** 2
    front[L.F_ROW] = topo.size + len(lists)
    for record in records:
        lists += record + [0] * (L.ROW_RECORD - len(record))
    return work


def _lay_out_mobility(front, parts: list, n: int, at: int) -> tuple[list[list[int]], int]:
    """The records (R_END, R_OWN, R_TAIL) of the rows of a front of n rows, whose L starts at `at`; the end of L.

    parts : those of the rows that are eliminated.  Rows of different parts have no common entry of L.
    """
    done, records = len(parts), []
    if len(set(parts)) < 2:
        front[[L.W_L, L.F_STRIDE]] = at, n
        return [[done if i < done else n, at + i * n, at + i * n] for i in range(n)], at + n * n
    start = 0
    while start < done:
        end = start + parts.count(parts[start])
        stride = end - start + n - done
        for i in range(start, end):
            own = at + (i - start) * stride - start
            records.append([end, own, own + end - done])
        at += (end - start) * stride
        start = end
    stride = n - done
    front[[L.W_L, L.F_STRIDE]] = at - done * (stride + 1), stride
    rest = [int(front[L.W_L]) + i * stride for i in range(done, n)]
    return records + [[n, own, own] for own in rest], at + stride * stride


def _link_rows(topo, at: int, loops: Loops, lists: list[int]) -> None:
    """Add to the records of rows that end on hubs their effects on these, where they are eliminated."""
    for row, loop in zip(topo[at:], loops.order):
        for side, k in enumerate(loop.bodies):
            if not loops.on_hub(loop, k):
                continue
            front = topo[int(topo[loop.site, L.FRONT]) // L.COLUMNS]
            slots = loops.open[loop.site]
            i = int(front[L.F_ROW]) - topo.size
            i += slots.index(loops.slot[loop.closure.name]) * L.ROW_RECORD
            hub = slots.index(loops.slot[k])
            for j in range(loop.rows):
                record = i + j * L.ROW_RECORD + L.R_HUB[side]
                motions = loops.hubs[k]
                lists[record : record + 3] = motions, int(row[L.K_HUB[side]]) + j * motions, hub


def _bias_place(topo, loop: Loop, loops: Loops) -> int:
    """Where in `work` c of the first row of a closure is, in the first front that has it."""
    k = next((k for k in reversed(loop.bodies) if not loops.on_hub(loop, k)), loop.site)
    front = topo[int(topo[k, L.FRONT]) // L.COLUMNS]
    return int(front[L.W_C]) + loops.open[k].index(loops.slot[loop.closure.name])


def _pack_cut(row, const: Constants, loop: Loop, loops: Loops, records) -> None:
    cut, closure = loop.cut, loop.closure
    assert cut is not None and isinstance(closure, Closure)
    row[L.K_KIND] = cut.kind
    slot = loops.slot[closure.name]
    for side, end in enumerate((closure.a, closure.b)):
        k = loop.bodies[side]
        row[L.K_BODY[side]] = k * L.COLUMNS
        row[L.K_NODE[side]] = records[k][end.node]
        row[L.K_FRAME[side]] = const.add(end.rotation, _shifted(end, cut))
        if not loops.on_hub(loop, k):
            row[L.K_AT[side]] = loops.open[k].index(slot)
    row[L.K_MAP] = const.add(cut.rows)
    row[L.K_AXIS] = const.add(cut.axis)
    row[L.K_BACK] = const.add(-cut.shift)
    if cut.pitch is not None:
        row[L.K_SCREW], row[L.K_PITCH] = 1, const.add(cut.pitch)


def _start(loop: Loop) -> np.ndarray:
    """The coordinates from which the search for those of a COMPOUND joint starts."""
    assert isinstance(loop.closure, Closure) and loop.cut is not None and loop.cut.joint is not None
    if loop.closure.start:
        return np.array(loop.closure.start)
    return random_position(loop.cut.joint, 0.1)  # no symmetry must hold the search


def _pack_compound(
    topo, const: Constants, at: int, joint: Joint, start: np.ndarray, length: float
) -> int:
    """Fill the row of a COMPOUND joint and those of its groups, from `at` on, and return the next free row."""
    row = topo[at]
    row[L.DOFS], row[L.JOINT] = joint.dofs, L.GENERAL
    row[L.GROUP], row[L.GROUPS] = at + 1, len(joint.groups)
    row[L.START], row[L.START_SIZE] = const.add(start, length**2), joint.nq
    return pack_groups(topo, const, at, joint, at + 1)


def _lay_out_compound(topo, row, at: int) -> int:
    """Set the offsets of the work of a COMPOUND closure and its joint, from `at` on, and return its end."""
    number = int(row[L.K_JOINT]) // L.COLUMNS
    joint = topo[number]
    row[L.K_ROW], at = at, at + 36
    row[L.K_LEFT], at = at, at + 8
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
        lists += [k * L.COLUMNS, speed, loops.open[k].index(loops.slot[closure.name])]
    row[L.K_FACTOR] = const.add(list(closure.terms.values()), closure.value)
