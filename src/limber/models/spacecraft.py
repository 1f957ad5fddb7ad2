"""A spacecraft with two flexible panels of different lengths."""

from __future__ import annotations

import numpy as np

from limber.assembly import Assembly
from limber.bodies import Body, RigidBody, beam
from limber.checks import number
from limber.joints import Fixed, Free
from limber.shapes import Box, Panel

#: The hub: mass, kg, moments of inertia, kg m^2, and how far from its centre the panels begin, m.
HUB_MASS, HUB_INERTIA, ROOT = 300.0, (120.0, 100.0, 130.0), 0.8
#: Panels: mass per metre, kg/m, width, m, bending stiffness out of and in the plane, and torsional stiffness, N m^2.
DENSITY, WIDTH, FLAPPING, IN_PLANE, TORSION = 3.0, 1.5, 280.0, 2.0e4, 150.0


def spacecraft(
    modes: int = 2, *, long: float = 6.0, short: float = 4.0, damping: float = 0.005
) -> Assembly:
    """A free-floating rigid hub with one long and one short flexible panel; no gravity.

    Parameters
    ----------
    modes : bending modes of each panel in both planes, in addition to one of torsion; 0 makes the panels rigid.
    long, short : lengths of the panels, m.
    damping : damping ratio of the modes.

    The centre of mass of the body "hub" is at its origin.  "long panel" points along its y axis and "short panel" in
    the opposite direction; both lie in its x-y plane.  Clamped, the panels flap at 0.15 and 0.34 Hz.
    """
    craft = Assembly("spacecraft")
    nodes = {"left": (0.0, ROOT, 0.0), "right": (0.0, -ROOT, 0.0)}
    hub = RigidBody(HUB_MASS, inertia=HUB_INERTIA, nodes=nodes)
    craft.attach("hub", hub, Free(), shapes=Box((1.4, 2.0 * ROOT, 1.4), colour="gold"))
    cells = Panel(WIDTH, 0.05, colour="navy")
    for name, length, node, side in (
        ("long panel", long, "left", 1.0),
        ("short panel", short, "right", -1.0),
    ):
        body = _panel(number(name.split()[0], length, above=0.0), modes, damping)
        along = np.array([[0.0, -side, 0.0], [side, 0.0, 0.0], [0.0, 0.0, 1.0]])
        craft.attach(name, body, Fixed(), to="hub", at=node, rotation=along, shapes=cells)
    return craft


def _panel(length: float, modes: int, damping: float) -> Body:
    mass = DENSITY * length
    body = beam(
        length, mass, EI=(FLAPPING, IN_PLANE), GJ=TORSION, polar_inertia=mass * WIDTH**2 / 12.0,
        modes={"bending": modes or 1, "torsion": 1}, damping=damping,
    )  # fmt: skip
    return body if modes else body.without_modes()
