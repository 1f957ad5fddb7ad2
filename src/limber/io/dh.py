"""Chains given by Denavit-Hartenberg parameters.

The frame of body i is the one after its joint: z along the joint axis, x along the common normal to the
next axis, origin where that normal starts.  T and R are the translation along and the rotation about an axis:

    standard (row i = theta_i, d_i, a_i, alpha_i):  A_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)
    modified (row i = alpha_(i-1), a_(i-1), theta_i, d_i):  A_i = Rx(alpha) Tx(a) Rz(theta_i) Tz(d_i)

Both lead from one body frame to the next by Tx(a) Rx(alpha), then Tz(d) Rz(theta), then the joint
coordinate about (revolute) or along (prismatic) z.  They differ only in the row that holds a and alpha.  A
beam along x from this frame is the link from axis to axis.  Joint coordinates are measured from theta or d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly import Assembly
from limber.bodies import Body
from limber.checks import Array, array, number, shown
from limber.checks import rotation as rotation_matrix
from limber.errors import ArgumentValueError
from limber.io.rotations import cos_sin
from limber.joints import Joint, Prismatic, Revolute
from limber.joints.physics import JointOptions
from limber.shapes import Shape

KINDS: dict[str, type[Revolute | Prismatic]] = {"revolute": Revolute, "prismatic": Prismatic}


@dataclass(frozen=True)
class DhRow:
    """One row of the table: the body that its joint moves, and the four parameters (m, rad).

    kind : "revolute" or "prismatic".
    tip : the node of the body that carries the next joint.  None: the node "tip" of a flexible body that has one, and
        the body frame of other bodies.
    physics : the physics of the joint, with the keywords of joints: {"damping": 0.1}.
    shapes : what pictures show of the body, as in `Assembly.attach`.
    """

    name: str
    body: Body
    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    kind: str = "revolute"
    tip: str | int | None = None
    physics: JointOptions = field(default_factory=JointOptions)
    shapes: tuple[Shape, ...] = ()

    def joint(self) -> Joint:
        """The joint of this row."""
        if self.kind not in KINDS:
            raise ArgumentValueError(
                f'kind of {self.name!r} must be "revolute" or "prismatic", got {shown(self.kind)}.'
            )
        return KINDS[self.kind]("z", **self.physics)


def attach_dh(
    assembly: Assembly,
    rows: Sequence[DhRow],
    *,
    convention: str = "standard",
    to: str = "world",
    at: str | int | None = None,
    offset: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
) -> Assembly:
    """Attach a chain given by a Denavit-Hartenberg table, and return the assembly.

    Parameters
    ----------
    assembly : the assembly to which the chain is added.
    rows : the rows of the table, from base to tip.
    convention : "standard" or "modified" (Craig's); see `limber.io.dh` for both.
    to, at, offset, rotation : the place of frame 0, as in `Assembly.attach`.
    """
    if convention not in ("standard", "modified"):
        raise ArgumentValueError(
            f'convention must be "standard" or "modified", got {shown(convention)}.'
        )
    base = array("offset", offset, (3,))
    turn = rotation_matrix("rotation", np.eye(3) if rotation is None else rotation)
    a = alpha = 0.0
    for row in rows:
        joint = row.joint()
        own = {key: number(key, getattr(row, key)) for key in ("a", "alpha", "d", "theta")}
        if convention == "modified":
            a, alpha = own["a"], own["alpha"]
        across = _about_x(alpha)
        shift = np.array([a, 0.0, 0.0]) + across @ np.array([0.0, 0.0, own["d"]])
        place = base + turn @ shift, turn @ across @ _about_z(own["theta"])
        assembly.attach(row.name, row.body, joint, to, at, *place, shapes=row.shapes)
        a, alpha = own["a"], own["alpha"]
        to, at, turn = row.name, _tip(row), np.eye(3)
        nodes = row.body.node_set
        base = np.zeros(3) if at is None else -nodes.position[nodes.index("tip", at, row.name)]
    return assembly


def _tip(row: DhRow) -> str | int | None:
    return row.body.end_node if row.tip is None else row.tip


def _about_x(angle: float) -> Array:
    c, s = cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _about_z(angle: float) -> Array:
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
