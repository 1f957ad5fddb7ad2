"""Packed trees side by side as one, without computing any body, joint or mode again.

The rows of `topo` are copied and their references shifted; the offsets of the work array are laid out again.  `const`
contains the numbers of the trees one after the other, under one head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from limber.assembly.closures import Closure, Relation
from limber.assembly.pack import Attachment, lay_out_work
from limber.assembly.packed import Packed
from limber.joints.packing import flattened
from limber.kernels import layout as L

#: References to `const`, by the kind of the row; zero stands for none.
BODY_CONST = [L.INBOARD, L.PHYSICS, L.CONST, L.NODE, L.ALIGNED_NODE]
GROUP_CONST = [L.G_SCREWS, L.G_MAP]
MODAL_CONST = [
    L.M_G0, L.M_K, L.M_D, L.M_FE0, L.M_N0, L.M_F1, L.M_S2, L.M_G1, L.M_N1, L.A_B, L.A_G0, L.A_FE0, L.A_F1,
    L.PRE_P, L.PRE_LAMBDA, L.PRE_LM, L.PRE_Y, L.PRE_N, L.PRE_OMEGA, L.PRE_C,
]  # fmt: skip
BENT_CONST = [L.B_DIRECTION, L.B_POINT, L.B_SHAPES, L.B_SECOND, L.B_ALONG]


class _Tree:
    """A packed tree, its rows by kind."""

    def __init__(self, packed: Packed):
        self.packed = packed
        self.rows = packed.topo.reshape(-1, L.COLUMNS)
        self.n = len(packed.records) - 1
        self.head = self.rows[0]
        bodies = self.rows[1 : self.n + 1]
        ends = [1 + self.n]
        ends.append(int(self.head[L.GROUPS_END]) // L.COLUMNS)
        ends.append(ends[-1] + int((bodies[:, L.MODES] > 0).sum()))
        ends.append(ends[-1] + int((bodies[:, L.BENT] > 0).sum()))
        #: the first rows of the bodies, the groups, the modal rows, the bent rows and the lists
        self.starts = [1, *ends]

    def part(self, kind: int) -> np.ndarray:
        """A copy of the rows of a kind, in the order of `starts`."""
        stop = self.starts[kind + 1] if kind < 4 else len(self.rows)
        return self.rows[self.starts[kind] : stop].copy()


def joined(packed: Sequence[Packed]) -> Packed:
    """Several packed trees of one fidelity and gravity as one, their bodies in order; closures are left out."""
    trees = [_Tree(each) for each in packed]
    parts = [[tree.part(kind) for tree in trees] for kind in range(5)]
    sizes = np.array([[len(rows) for rows in kind] for kind in parts])
    # the first row of each kind (row) of each tree (column) in the joined topo, and how far it moves
    first = 1 + (np.cumsum(sizes.ravel()) - sizes.ravel()).reshape(sizes.shape)
    moves = first - np.array([tree.starts for tree in trees]).T
    q = v = 0
    shift = 0  # of const: the heads of all but the first tree go away
    consts, records = [trees[0].packed.const], list(trees[0].packed.records)
    for i, tree in enumerate(trees):
        bodies, groups, modal, bent, _ = (kind[i] for kind in parts)
        _move_bodies(bodies, moves[:, i], q, v)
        groups[:, L.G_Q] += q
        groups[:, L.G_V] += v
        modal[:, L.PAIRS] += moves[4, i] * L.COLUMNS
        if i:
            consts.append(tree.packed.const[L.CONST_START :])
            for part, columns in zip((bodies, groups, modal, bent), _CONST):
                part[:, columns] += np.where(part[:, columns] > 0, shift, 0)
            records += [
                {node: at + shift for node, at in body.items()} for body in tree.packed.records[1:]
            ]
        shift += tree.packed.const.size - L.CONST_START
        q, v = q + int(tree.head[L.NQ]), v + int(tree.head[L.NV])
    rows = [each for kind in parts[:4] for each in kind]
    topo = np.concatenate([np.zeros((1, L.COLUMNS), dtype=np.int64), *rows])
    const = np.concatenate(consts)
    const[L.REACH] = _reach([tree.packed.const[L.REACH] for tree in trees])
    heads = np.array([tree.head for tree in trees])
    topo[0, [L.NQ, L.NV, L.RUTHLESS]] = q, v, heads[0, L.RUTHLESS]
    topo[0, L.BOUNDED] = int(const[L.REACH] > 0.0)
    for column in (L.ANY_PHYSICS, L.ANY_ALIGNED):
        topo[0, column] = heads[:, column].max()
    n = sum(tree.n for tree in trees)
    lay_out_work(topo, n)
    flat = np.concatenate(
        [flattened(topo, n, int(sizes[1].sum())), *(lists.ravel() for lists in parts[4])]
    )
    return Packed(flat, const, records, max(tree.packed.load for tree in trees))


_CONST = (BODY_CONST, GROUP_CONST, MODAL_CONST, BENT_CONST)


def _move_bodies(bodies: np.ndarray, moves: np.ndarray, q: int, v: int) -> None:
    """Move the references of bodies to other rows, which become numbers of rows, and to coordinates."""
    for column, move in zip((L.PARENT, L.GROUP, L.MODAL, L.BENT), moves):
        rows = bodies[:, column] // L.COLUMNS
        bodies[:, column] = np.where(rows > 0, rows + move, 0)
    bodies[:, [L.Q_MODES, L.Q_JOINT]] += q
    bodies[:, [L.V_MODES, L.V_JOINT]] += v
    bodies[:, [L.OBSERVED, L.FRONT]] = 0


def _reach(reaches: Sequence[float]) -> float:
    """REACH of several trees: known if that of each is."""
    return max(reaches) if min(reaches) > 0.0 else 0.0


def renamed_body(item: Attachment, part: str) -> Attachment:
    """The attachment of a body of the system `part`, under its name in the combined system."""
    to = item.to if item.to == "world" else f"{part}/{item.to}"
    joints = tuple(name and f"{part}/{name}" for name in item.joint_names)
    return replace(item, name=f"{part}/{item.name}", to=to, joint_names=joints)


def renamed_closure(closure: Closure | Relation, part: str) -> Closure | Relation:
    """A closure of the system `part`, under its name in the combined system."""
    name = f"{part}/{closure.name}"
    if isinstance(closure, Relation):
        terms = {(f"{part}/{body}", i): x for (body, i), x in closure.terms.items()}
        return Relation(name, terms, closure.value)
    a, b = (
        end if end.body == "world" else replace(end, body=f"{part}/{end.body}")
        for end in (closure.a, closure.b)
    )
    return replace(closure, name=name, a=a, b=b)
