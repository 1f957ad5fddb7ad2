"""The three-link arm of the Canadarm paper."""

from __future__ import annotations

from limber.assembly import Assembly
from limber.bodies import Body, RigidBody, beam
from limber.joints import Revolute

#: Length (m) and mass (kg) of the links and their bending stiffness (N m^2): Mohan & Saha, Table 2.
LENGTHS = (6.0, 7.0, 2.0)
MASSES = (140.0, 85.0, 95.0)
BENDING_STIFFNESS = 1e5


def canadarm(modes: int | dict[str, int] = 2, *, damping: float = 0.0) -> Assembly:
    """The three-link flexible Canadarm of Mohan & Saha, Table 2: planar revolute joints, no gravity.

    Parameters
    ----------
    modes : as in `beam`: modes per bending plane of each link (2 in the paper); 0 makes the links rigid.
    damping : damping ratio of the modes (none in the paper).

    The bodies are "link1", "link2" and "link3", each along its x axis, with rotation about z.
    """
    arm = Assembly("canadarm")
    parent, at = "world", None
    for i, (length, mass) in enumerate(zip(LENGTHS, MASSES), start=1):
        body: Body
        if modes == 0:
            bar = mass * length**2 / 12.0
            body = RigidBody(
                mass,
                (length / 2.0, 0.0, 0.0),
                [[0.0, 0.0, 0.0], [0.0, bar, 0.0], [0.0, 0.0, bar]],
                nodes={"root": (0.0, 0.0, 0.0), "tip": (length, 0.0, 0.0)},
            )
        else:
            body = beam(length, mass, EI=BENDING_STIFFNESS, modes=modes, damping=damping)
        arm.attach(f"link{i}", body, Revolute([0, 0, 1]), to=parent, at=at)
        parent, at = f"link{i}", "tip"
    return arm
