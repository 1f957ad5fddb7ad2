"""Packing of bodies and joints into the flat arrays of the kernels (`limber.kernels.layout`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.assembly import modal
from limber.assembly.align import aligning_basis
from limber.assembly.bounds import load_bound, reach
from limber.assembly.packed import Packed, whole_rows
from limber.bodies.base import Body
from limber.bodies.constants import BodyConstants
from limber.bodies.nodes import Nodes
from limber.bodies.shapes import Shapes, along, node_record, second_directions
from limber.checks import Array
from limber.errors import ModelError
from limber.joints import Joint
from limber.joints.packing import Constants, flattened, lay_out_joint, pack_groups, place_blocks
from limber.joints.physics import pack_physics
from limber.kernels import layout as L
from limber.shapes import Shape


@dataclass(frozen=True, eq=False)
class Attachment:
    """One entry of an assembly: a body, its joint and the place of the joint."""

    name: str
    body: Body
    joint: Joint
    to: str
    at: int | None  # node numbers
    offset: Array
    rotation: Array
    inboard: int | None
    #: the names of the joint, or of the parts of a compound joint, which files give them; () if they have none
    joint_names: tuple[str, ...] = ()
    #: what pictures show of the body
    shapes: tuple[Shape, ...] = ()


def _body_data(item: Attachment, ruthless: bool) -> BodyConstants:
    return item.body.constants(item.inboard, ruthless)


_WORLD = BodyConstants(
    Nodes((), Shapes.still(np.zeros((1, 3)))),
    0.0,
    np.zeros(3),
    np.zeros(6),
)


def pack(items: list[Attachment], gravity: Array, ruthless: bool, align: bool = True) -> Packed:
    """Pack a tree of attachments, parents before children.

    align : whether the articulated sweep may eliminate modes in aligned coordinates (`assembly.align`).
    """
    n = len(items)
    groups = sum(len(i.joint.groups) for i in items if i.joint.kernel_kind[0] == L.GENERAL)
    flexible = sum(i.body.modes > 0 for i in items)
    data = [_WORLD, *(_body_data(item, ruthless) for item in items)]
    bent = 0 if ruthless else sum(body.nodes.second is not None for body in data)
    topo = np.zeros((1 + n + groups + flexible + bent, L.COLUMNS), dtype=np.int64)
    const = Constants()
    const.add(gravity, np.zeros(3), 0.0)
    assert const.size == L.CONST_START
    number = {"world": 0} | {item.name: k for k, item in enumerate(items, start=1)}
    records: list[dict[int | None, int]] = [{None: L.WORLD}]
    group, modal_row, bent_row = 1 + n, 1 + n + groups, 1 + n + groups + flexible
    q = v = 0
    pairs: list[int] = []
    for k, item in enumerate(items, start=1):
        row, body = topo[k], data[k]
        m, joint = body.modes, item.joint
        row[L.PARENT] = number[item.to]
        row[L.MODES], row[L.DOFS] = m, joint.dofs
        row[L.Q_MODES], row[L.Q_JOINT] = q, q + m
        row[L.V_MODES], row[L.V_JOINT] = v, v + m
        q, v = q + m + joint.nq, v + m + joint.dofs
        row[L.JOINT], row[L.AXIS] = joint.kernel_kind
        if row[L.JOINT] == L.GENERAL:
            row[L.GROUP], row[L.GROUPS] = group, len(joint.groups)
            group = pack_groups(topo, const, k, joint, group)
        pack_physics(row, const, joint)
        row[L.CONST] = const.add(
            *_placement(item, data[row[L.PARENT]]), body.mass, body.moment, body.inertia
        )
        directions = None
        if body.nodes.second is not None and not ruthless:
            row[L.BENT] = bent_row
            directions = _pack_bent(topo[bent_row], const, body)
            bent_row += 1
        records.append(_pack_nodes(const, body, directions))
        if m:
            row[L.MODAL] = modal_row
            topo[modal_row, L.PAIRS] = topo.size + len(pairs)
            pairs += _pack_modal(topo[modal_row], const, body, ruthless)
            modal_row += 1
            if item.inboard is not None and not ruthless:
                row[L.INBOARD] = records[k][item.inboard]
        _attach(topo, k, item, data, records, ruthless)
    topo[0, [L.NQ, L.NV, L.RUTHLESS]] = q, v, int(ruthless)
    topo[0, L.ANY_PHYSICS] = int(topo[1 : n + 1, L.PHYSICS].any())
    if ruthless:
        _precompute(topo, const, items, data)
    elif align:
        _align(topo, const, items, data)
    lay_out_work(topo, n)
    flat = np.concatenate([flattened(topo, n, groups), np.array(whole_rows(pairs), dtype=np.int64)])
    values, joints = np.concatenate(const.parts), [item.joint for item in items]
    if align and (ruthless or not flexible):
        values[L.REACH] = reach(flat, values, joints)
    flat[L.BOUNDED] = int(values[L.REACH] > 0.0)
    return Packed(flat, values, records, load_bound(flat, values, joints) if ruthless else 0.0)


def _pack_modal(row, const: Constants, body: BodyConstants, ruthless: bool) -> list[int]:
    """Pack the modal integrals of a body, write their offsets to its modal row, and return its PAIRS."""
    i = body.integrals
    row[L.SECOND] = int(i.second and not ruthless)
    coupled = modal.coupled(i.N1)
    given = vars(i) | {"K": body.stiffness, "D": body.damping}
    for name, part in modal.block(given, coupled, bool(row[L.SECOND])).items():
        row[modal.COLUMN[name]] = const.add(part)
    return [x for s in coupled for x in (len(s), *s)]


def _pack_bent(row, const: Constants, body: BodyConstants) -> Array:
    """Pack the curved points of a body with second-order shapes and return the directions of these (d, 3)."""
    points = body.integrals.curved
    parts = [body.nodes.second, None if points is None else points.second]
    directions = second_directions([B for B in parts if B is not None])
    row[L.B_DIRECTIONS], row[L.B_DIRECTION] = len(directions), const.add(directions)
    row[L.B_NODE] = L.node_second(body.modes)
    if points is not None:
        row[L.B_POINTS] = len(points)
        row[L.B_POINT] = const.add(np.column_stack([points.weight, points.unit, points.position]))
        row[L.B_SHAPES] = const.add(np.moveaxis(points.translation, 1, 2))
        row[L.B_SECOND] = const.add(along(directions, points.second))
        row[L.B_ALONG] = const.add(np.einsum("di,nir->ndr", directions, points.translation))
    return directions


def _placement(item: Attachment, parent: BodyConstants) -> tuple[Array, Array, Array]:
    """C_ROT, C_ARM, C_OFFSET of an attachment."""
    base = parent.nodes.position[parent.node(item.at)]
    return item.rotation, item.offset, base + item.offset


def _pack_nodes(
    const: Constants, body: BodyConstants, directions: Array | None
) -> dict[int | None, int]:
    """Pack the node records of a body; the key None stands for the body frame."""
    shapes = body.nodes.shapes.without_rounding()
    records: dict[int | None, int] = {
        j: const.add(shapes.record(j, directions)) for j in range(len(shapes))
    }
    records[None] = records.pop(body.node(None))
    return records


def _attach(topo, k: int, item: Attachment, data, records, ruthless: bool) -> None:
    """Note how the parent's modes move the joint of body k."""
    p = topo[k, L.PARENT]
    if p == 0:
        return
    if item.at is None and not data[p].nodes.shapes.moves(data[p].node(None)):
        return
    if data[p].modes == 0:
        return
    topo[k, L.ATTACHED] = L.CONSTANT if ruthless else L.DEFORMING
    topo[k, [L.NODE, L.ALIGNED_NODE]] = records[p][item.at]
    topo[k, L.MOVED_BY] = data[p].modes
    parent = topo[topo[p, L.MODAL]]
    topo[k, L.SLOT] = parent[L.LOADS]
    parent[L.LOADS] += 1


def _align(topo, const: Constants, items, data) -> None:
    """Pack the aligned modal coordinates of bodies whose modes move other bodies; see `assembly.align`.

    Only clamped modes of point masses with linear shapes are aligned; others are eliminated in their own coordinates.
    """
    children: list[list[int]] = [[] for _ in range(len(items) + 1)]
    for c in range(1, len(items) + 1):
        if topo[c, L.ATTACHED]:
            children[topo[c, L.PARENT]].append(c)
    for k, body in enumerate(data):
        i = body.integrals
        if not children[k]:
            continue
        row = topo[topo[k, L.MODAL]]
        if row[L.SECOND] or topo[k, L.BENT] or topo[k, L.INBOARD]:
            continue
        nodes = [body.node(items[c - 1].at) for c in children[k]]
        found = aligning_basis(np.vstack([body.nodes.shapes.twist(j) for j in nodes]), i.G0)
        if found is None:
            continue
        B, aligned = found
        topo[0, L.ANY_ALIGNED] = 1
        row[L.A_B], row[L.A_G0] = const.add(B), const.add(B.T @ i.G0 @ B)
        row[L.A_FE0] = const.add(B.T @ np.hstack([i.F0, i.E0]))
        row[L.A_F1] = const.add(np.einsum("pr,psi->rsi", B, i.F1))
        for c, j, shape in zip(children[k], nodes, np.split(aligned, len(nodes))):
            topo[c, L.ALIGNED_NODE] = const.add(node_record(body.nodes.position[j], shape))
            topo[c, L.MOVED_BY] = np.flatnonzero(shape.any(axis=0)).max(initial=-1) + 1


def _precompute(topo, const: Constants, items, data) -> None:
    """Pack the constants of Jain & Rodriguez, Eq. (78), multiplied out; see `kernels.precomputed`."""
    children: list[list[int]] = [[] for _ in range(len(items) + 1)]
    for c in range(1, len(items) + 1):
        if topo[c, L.ATTACHED]:
            children[topo[c, L.PARENT]].append(c)
    for k, item in enumerate(items, start=1):
        body, m, loaded = data[k], data[k].modes, children[k]
        if not m:
            continue
        i = body.integrals
        size = np.sqrt(np.maximum(np.diag(i.G0), 1e-300))
        if np.linalg.eigvalsh(i.G0 / np.outer(size, size)).min() <= 1e-12:
            raise ModelError(
                f"body {item.name!r}: its modal mass matrix is singular, so some combination of its modes moves "
                "no mass. A ruthless system needs modes with mass: remove the dependent modes or build with "
                'fidelity="full".'
            )
        Lambda = np.linalg.inv(i.G0)
        coupling = np.hstack([i.F0, i.E0])  # M_fr, (m, 6)
        LM = Lambda @ coupling
        P0 = i.rigid_block() - coupling.T @ LM
        zeta, arms = np.zeros((m, 0)), np.zeros((6, 0))
        for c in loaded:
            j = body.node(items[c - 1].at)
            zeta = np.hstack([zeta, body.nodes.shapes.twist(j).T])
            x, y, z = body.nodes.position[j]
            tilde = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            arms = np.hstack([arms, np.block([[np.eye(3), tilde], [np.zeros((3, 3)), np.eye(3)]])])
        Y = Lambda @ zeta
        Omega = zeta.T @ Y
        N = arms - coupling.T @ Y
        C = _root(Omega)
        row = topo[topo[k, L.MODAL]]
        row[L.RANK] = C.shape[1]
        upper = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)
        P = np.concatenate([P0[:3, :3][upper], P0[:3, 3:].ravel(), P0[3:, 3:][upper]])
        row[L.PRE_P], row[L.PRE_LAMBDA], row[L.PRE_LM] = map(const.add, (P, Lambda, LM))
        row[L.PRE_Y], row[L.PRE_N] = const.add(Y), const.add(N.T)
        row[L.PRE_OMEGA], row[L.PRE_C] = const.add(Omega), const.add(C.T)


def _root(S: Array) -> Array:
    """C with C C^T = S, positive semidefinite, and as many columns as its rank.

    This is Cholesky's factorization with the largest pivot first, which keeps the zeros of S; eigenvectors do not.
    """
    rest = S.copy()
    columns = np.zeros((len(S), 0))
    smallest = 1e-14 * S.diagonal().max(initial=0.0)
    while rest.diagonal().max(initial=0.0) > smallest:
        p = rest.diagonal().argmax()
        column = rest[:, [p]] / np.sqrt(rest[p, p])
        columns = np.hstack([columns, column])
        rest -= column @ column.T
        rest[p] = rest[:, p] = 0.0
    return columns


def lay_out_work(topo, n: int) -> None:
    """Set the offsets of the work blocks body by body, so that a sweep goes through memory in order."""
    at = L.WORK_BLOCK  # row 0, the world, has its block at 0
    for k in range(1, n + 1):
        row = topo[k]
        m = int(row[L.MODES])
        row[L.WORK] = at
        at = lay_out_joint(topo, k, at + L.WORK_BLOCK)
        if row[L.ATTACHED] != L.RIGIDLY:
            row[L.W_NODE] = at
            at += 6 * int(topo[row[L.PARENT], L.MODES])
        if row[L.BENT]:
            bent = topo[row[L.BENT]]
            bent[L.W_CURVED] = at
            bent[L.B_WORK] = L.curved_work(m)
            at += int(bent[L.B_POINTS] * bent[L.B_DIRECTIONS] * bent[L.B_WORK])
        if m:
            modal_row = topo[row[L.MODAL]]
            loads = int(modal_row[L.LOADS]) if topo[0, L.RUTHLESS] else None
            at = place_blocks(modal_row, L.modal_work(m, loads), at)
        if row[L.INBOARD]:
            row[L.W_INBOARD] = at
            at += L.I_SHAPES + 6 * m
    for row in topo[1 : n + 1]:  # together, for `native.state_checks`
        row[L.W_PIVOTS] = at
        at += L.D_PIVOTS + int(row[L.DOFS])
    topo[0, L.SPARE] = at
    at += topo[0, L.NQ]
    topo[0, L.WORK_SIZE] = at
