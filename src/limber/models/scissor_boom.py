"""A boom of crossed bars, extended by a slider at its base."""

from __future__ import annotations

from typing import Any

from limber.assembly import Assembly
from limber.bodies import Body, Material, RigidBody, Section, beam
from limber.checks import number, whole
from limber.joints import Fixed, Prismatic, Revolute

#: Bars: tubes of aluminium, from hinge to hinge; length, radius and wall, m.
LENGTH, RADIUS, WALL = 1.0, 0.015, 0.001
#: Mass of the slider at the base, kg.
SLIDER = 0.5


def scissor_boom(
    cells: int = 10, modes: int = 2, *, payload: float = 5.0, damping: float = 0.01
) -> Assembly:
    """A scissor boom in the x-y plane: cells of two crossed bars, each of which closes a loop; no gravity.

    Parameters
    ----------
    cells : number of cells, each 1 m long if the bars were flat.
    modes : bending modes of each bar, in the plane of the boom; 0 makes the bars rigid.
    payload : mass at the crossing of the last cell, kg.
    damping : damping ratio of the modes.

    Bars "A1", "A2", ... rise and bars "B1", "B2", ... fall along the boom.  A1 turns about the origin, and each B turns
    about the middle of its A.  The other end of B1 moves with the body "slider" along y, whose coordinate is the height
    of the boom.  Closures "base", "cell2", "cell3", ... are hinges: the first one joins B1 to the slider, the others
    join each cell to the previous one.
    """
    cells = whole("cells", cells, minimum=1)
    tube = Section.tube(RADIUS, WALL, Material(70e9, 2700.0, nu=0.33)).slender()
    bar: Body = beam(LENGTH, section=tube, modes={"y": modes or 1}, damping=damping)
    if modes == 0:
        bar = bar.without_modes()
    hinge = Revolute("z")
    boom = Assembly("scissor boom")
    boom.attach("slider", RigidBody(SLIDER), Prismatic("y"))
    for i in range(1, cells + 1):
        before: dict[str, Any] = {"to": f"B{i - 1}", "at": "tip"} if i > 1 else {}
        boom.attach(f"A{i}", bar, hinge, **before)
        boom.attach(f"B{i}", bar, hinge, to=f"A{i}", at="node5", inboard="node5")
        if i == 1:
            boom.close(("slider", None), ("B1", "root"), hinge, name="base")
        else:
            boom.close((f"A{i - 1}", "tip"), (f"B{i}", "root"), hinge, name=f"cell{i}")
    mass = number("payload", payload, minimum=0.0)
    if mass:
        boom.attach("payload", RigidBody(mass), Fixed(), to=f"A{cells}", at="node5")
    return boom
