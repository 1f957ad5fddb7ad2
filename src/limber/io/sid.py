r"""Standard Input Data (SID) of flexible bodies, after Wallrapp, which SIMPACK and Modelica libraries read.

The data are modal integrals.  With the undeformed position r, the shape phi_k of mode k and sums over the mass, they
are, in the letters of `bodies.integrals` on the right:

    mdCM   M0 = sum m r                  M1_k = sum m phi_k                  S0, E0
    J      M0, M1                                                            J0, J1
    Ct     M0 = sum m phi_k^T            M1: second-order shapes             E0, S2
    Cr     M0 = sum m (r x phi_k)^T      M1_ks = sum m phi_s x phi_k         F0, F1
    Me     M0 = sum m phi_k^T phi_s      (M1: points with rotary inertia)    G0, G1
    Gr_k   -2 sum m r~ phi_k~            = J1_k - F0_k~                      (M1: J2_ks - F1_ks~)
    Ge_s   -2 sum m phi_k^T phi_s~       = F1_ks - F1_sk
    Oe     sum m phi_k . w x (w x r)     = -1/2 w . J1_k w                   (M1: -1/2 w . J2_ks w)

The six numbers of J are those of 11, 22, 33, 12, 13, 23; the six columns of Oe multiply w1^2, w2^2, w3^2, w1 w2, w2 w3,
w1 w3.  Gr, Ge and the zeroth order of Oe follow from the others, which is checked when a file is read.  In a file with
geometric stiffening the first orders of Ct, Cr and Oe include it, and Limber uses them as they are; the first orders of
phi are the second-order shapes of the nodes.
"""

from __future__ import annotations

from os import PathLike

import numpy as np

from limber.bodies import FlexibleBody
from limber.bodies.flexible import modal_matrices
from limber.bodies.integrals import ModalIntegrals, full, tilde, upper
from limber.bodies.nodes import Nodes
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.errors import ModelWarning, warn
from limber.io.sid_blocks import Block, Taylor, parse_blocks, read_taylor
from limber.io.sources import Source, number, several, whole_number
from limber.structures.closure import closed_integrals

#: Entries (i, j) of the six numbers of J and of the six columns of Oe.
J_ORDER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
OE_ORDER = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
#: What follows from other integrals may differ from them by this fraction of its size before a warning says so.
_SAME = 1e-3
_MOST_MODES = 500


def read_sid(path: str | PathLike) -> FlexibleBody:
    """Read a flexible body from a file of Standard Input Data (SID).

    path : the path of the text file (.SID_FEM, .sid).

    Nodes are named by their numbers.  The modes displace the nodes by phi and rotate them by psi.  The stress-free
    state is eta = 0.
    """
    source = Source(path)
    part = parse_blocks(source)
    modal = _one(source, part, "modal")
    ref = _one(source, modal, "refmod")
    keys = {e.key: e for e in ref.entries if not e.indices}
    for key in ("mass", "nelastq"):
        if key not in keys:
            raise source.error(f"refmod has no entry {key}.", ref.line)
    mass = number(source, keys["mass"].text, keys["mass"].line, "mass")
    if mass <= 0.0:
        raise source.error(f"mass must be greater than 0, got {mass:g}.", keys["mass"].line)
    line = keys["nelastq"].line
    m = whole_number(source, keys["nelastq"].text, line, "nelastq", _MOST_MODES)
    if m == 0:
        raise source.error("nelastq is 0: the body has no modes. Use a RigidBody.", line)
    nodes = _nodes(source, _one(source, modal, "frame"), m)
    data = {
        name: _taylor(source, modal, name, rows, columns, m)
        for name, rows, columns in (
            ("mdCM", 3, 1), ("Ct", m, 3), ("Cr", m, 3), ("Me", m, m), ("Gr", 3, 3 * m), ("Ge", m, 3 * m),
            ("Oe", m, 6), ("Ke", m, m), ("De", m, m), ("ksigma", m, 1),
        )
    }  # fmt: skip
    data["J"] = _inertia(source, modal, m)
    for block in modal.blocks:
        if block.name not in {"refmod", "frame", *(name.lower() for name in data)}:
            source.ignore(f"the block {block.name}")
    with source.checked("Are mass, mdCM and J in the same units, and about the same origin?"):
        integrals = _integrals(source, mass, data, m)
    if np.any(data["ksigma"].M0):
        source.ignore("ksigma, the forces of initial stress")
    with source.checked("Check Me, Ke and De of the file."):
        stiffness, damping = modal_matrices(data["Ke"].M0, data["De"].M0, m)
        _check_mass(source, integrals)
        body = FlexibleBody(integrals, nodes, stiffness, damping)
    _compare(source, data, integrals, m)
    source.report()
    return body


def _one(source: Source, block: Block, name: str) -> Block:
    """The one block of a name."""
    found = block.all(name)
    if len(found) != 1:
        raise source.error(
            f"{block.name} must have one block '{name}', got {len(found)}. Is the file complete?",
            block.line,
        )
    return found[0]


def _taylor(source: Source, modal: Block, name: str, rows: int, columns: int, m: int) -> Taylor:
    """A block of the body; those that follow from others may be missing."""
    if name in ("Gr", "Ge", "ksigma", "De") and not modal.all(name):
        return Taylor(np.full((rows, columns), 0.0 if name in ("ksigma", "De") else np.nan), None)
    return read_taylor(source, _one(source, modal, name), rows, columns, m)


def _inertia(source: Source, modal: Block, m: int) -> Taylor:
    """J as 3 x 3 numbers with its first order (3, m, 3), from 6 x 1 or 3 x 3."""
    block = _one(source, modal, "J")
    rows = next((e.text for e in block.entries if e.key == "nrow"), "6")
    if rows.strip() == "3":
        given = read_taylor(source, block, 3, 3, m)
        M1 = np.zeros((3, m, 3)) if given.M1 is None else given.M1
        return Taylor(0.5 * (given.M0 + given.M0.T), 0.5 * (M1 + M1.transpose(2, 1, 0)))
    six = read_taylor(source, block, 6, 1, m)
    M0, M1 = np.zeros((3, 3)), np.zeros((3, m, 3))
    for row, (i, j) in enumerate(J_ORDER):
        M0[i, j] = M0[j, i] = six.M0[row, 0]
        if six.M1 is not None:
            M1[i, :, j] = M1[j, :, i] = six.M1[row, :, 0]
    return Taylor(M0, M1)


def _nodes(source: Source, frame: Block, m: int) -> Nodes:
    """The nodes of the body."""
    names, places, moves, turns, seconds = [], [], [], [], []
    for block in frame.all("node"):
        if not block.value:
            raise source.error("a node needs its number: new node = 1.", block.line)
        origin = read_taylor(source, _one(source, block, "origin"), 3, 1, m)
        phi = read_taylor(source, _one(source, block, "phi"), 3, m, m)
        psi = read_taylor(source, _one(source, block, "psi"), 3, m, m)
        axes = read_taylor(source, _one(source, block, "AP"), 3, 3, m)
        if np.abs(axes.M0 - np.eye(3)).max() > 1e-6:
            source.ignore(
                "axes of nodes that differ from those of the body (AP); nodes have the axes of the body"
            )
        names.append(block.value)
        places.append(origin.M0[:, 0])
        moves.append(phi.M0)
        turns.append(psi.M0)
        second = np.zeros((3, m, m)) if phi.M1 is None else phi.M1.transpose(0, 2, 1)
        seconds.append(0.5 * (second + second.transpose(0, 2, 1)))
    if not names:
        raise source.error("frame has no nodes. Is the file complete?", frame.line)
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise source.error(f"node {several(sorted(repeated))} occurs twice.", frame.line)
    shapes = Shapes(
        np.array(places),
        np.array(moves),
        np.array(turns),
        np.array(seconds) if np.any(seconds) else None,
    )
    return Nodes(tuple(names), shapes)


def _integrals(source: Source, mass: float, data: dict[str, Taylor], m: int) -> ModalIntegrals:
    """The modal integrals of the file."""
    J, Ct, Cr, Me = (data[name] for name in ("J", "Ct", "Cr", "Me"))
    assert J.M1 is not None
    S0, E0, F0, G0 = data["mdCM"].M0[:, 0], Ct.M0, Cr.M0, Me.M0
    if np.abs(G0 - G0.T).max() > 1e-6 * np.abs(G0).max():
        raise source.error(
            "Me is not symmetric, but a modal mass matrix must be. Is the file damaged?"
        )
    p = tilde(S0)
    rigid = np.block([[J.M0, p], [p.T, mass * np.eye(3)]])
    estimate = closed_integrals(rigid, np.hstack([F0, E0]), G0)
    if Cr.M1 is None or data["Oe"].M1 is None:
        warn(
            f"{source.path}: Cr or Oe has no first order: the change of the inertia forces with the deformation is "
            "estimated from the mean motion of each mode.",
            ModelWarning,
        )
    if Cr.M1 is not None:
        F1 = Cr.M1
    elif np.isfinite(data["Ge"].M0).all():
        F1 = 0.5 * data["Ge"].M0.reshape(m, m, 3)
    else:
        F1 = estimate.F1
    if data["Oe"].M1 is not None:
        J2 = np.zeros((m, m, 3, 3))
        for column, (i, j) in enumerate(OE_ORDER):
            J2[:, :, i, j] = J2[:, :, j, i] = data["Oe"].M1[:, :, column] * (
                -2.0 if i == j else -1.0
            )
        J2 = upper(J2)
    else:
        J2 = estimate.J2
    S2 = np.zeros((m, m, 3)) if Ct.M1 is None else Ct.M1
    G1 = np.zeros((m, m, m)) if Me.M1 is None else Me.M1.transpose(0, 2, 1)
    return ModalIntegrals(
        mass, S0, upper(J.M0), E0, F0, upper(J.M1.transpose(1, 0, 2)), G0, F1, J2, S2, G1
    )


def _check_mass(source: Source, integrals: ModalIntegrals) -> None:
    """Reject a mass matrix that is not positive definite: no mass distribution has it."""
    M = integrals.mass_matrix()
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    size[size == 0.0] = 1.0
    least = float(np.linalg.eigvalsh(M / np.outer(size, size))[0])
    if least < -1e-9:
        raise source.error(
            "mass, mdCM, J, Ct, Cr and Me together are not the mass matrix of a body: scaled, it has the eigenvalue "
            f"{least:.3g}. Are they in the same units, and about the same origin?"
        )


def derived(integrals: ModalIntegrals) -> dict[str, Array]:
    """Gr (3, 3 m), Ge (m, 3 m) and Oe (m, 6), which follow from J1, F0 and F1."""
    m = len(integrals.E0)
    J1 = full(integrals.J1)
    Gr = (J1 - tilde(integrals.F0)).transpose(1, 0, 2).reshape(3, 3 * m)
    Ge = (integrals.F1 - integrals.F1.transpose(1, 0, 2)).reshape(m, 3 * m)
    return {"Gr": Gr, "Ge": Ge, "Oe": centrifugal(J1)}


def centrifugal(J: Array) -> Array:
    """-1/2 w . J w as coefficients (..., 6) of the products of w in Oe, for J (..., 3, 3)."""
    return np.stack([J[..., i, j] * (-0.5 if i == j else -1.0) for i, j in OE_ORDER], axis=-1)


def _compare(source: Source, data: dict[str, Taylor], integrals: ModalIntegrals, m: int) -> None:
    """Warn where what follows from other integrals differs from what the file says."""
    expected = {**derived(integrals), "the first order of mdCM": integrals.E0.T}
    moved = data["mdCM"].M1
    given = {name: data[name].M0 for name in ("Gr", "Ge", "Oe")}
    given["the first order of mdCM"] = np.zeros((3, m)) if moved is None else moved[:, :, 0]
    wrong = []
    for name, want in expected.items():
        got, size = given[name], np.abs(want).max(initial=0.0)
        floor = 1e-9 * np.sqrt(
            np.diag(integrals.G0).max() * max(integrals.J0[[0, 3, 5]].sum(), integrals.mass)
        )
        if np.isfinite(got).all() and np.abs(got - want).max(initial=0.0) > _SAME * size + floor:
            wrong.append(f"{name} by {np.abs(got - want).max() / max(size, floor):.2g} of its size")
    if wrong:
        warn(
            f"{source.path}: the file differs from what J, Ct and Cr imply: {', '.join(wrong)}. Limber uses J, Ct and Cr, "
            "which conserve energy.",
            ModelWarning,
        )
