"""Closed systems for tests of their description."""

import numpy as np

import limber as lb
from limber.integrators.context import FLOWS
from limber.simulation.result import Statistics

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def rod(length=1.0):
    """A rigid rod along x with the nodes mid and tip."""
    nodes = {"mid": (0.5 * length, 0, 0), "tip": (length, 0, 0)}
    return lb.RigidBody(1.0, (0.5 * length, 0, 0), [0.01, 0.1, 0.1], nodes)


def open_four_bar(coupler=None):
    """The tree of a four-bar linkage, crank and coupler to the left and rocker to the right."""
    a = lb.Assembly("four-bar", gravity=(0, -9.81, 0))
    a.attach("crank", rod(), lb.Revolute("z"))
    a.attach("coupler", rod() if coupler is None else coupler, lb.Revolute("z"), "crank", "tip")
    a.attach("rocker", rod(), lb.Revolute("z"), offset=(1, 0, 0))
    return a


def four_bar(coupler=None):
    """A four-bar linkage with one closure, `pin`."""
    a = open_four_bar(coupler)
    return a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin")


def every_closure(coupler=None):
    """Closures of every kind: to bodies and the world, at nodes and body frames, with and without transforms."""
    a = open_four_bar(coupler)
    a.attach("slider", rod(), lb.Cylindrical("z"), "rocker", "tip")
    joints = [
        lb.Fixed(),
        lb.Prismatic([1, 2, 3]),
        lb.Screw("-y", 0.1),
        lb.Cylindrical("x"),
        lb.Universal("x", [0, 1, 1]),
        lb.Planar("z"),
        lb.Spherical(),
        lb.SimpleJoint(np.eye(6)[:, :3]),
        lb.CompoundJoint([lb.Revolute("x"), lb.Prismatic("y")]),
    ]
    for joint in joints:
        a.close(("coupler", "tip"), ("slider", 1), joint)
    place = {"offset": (0.1, -0.0, 5e-324), "rotation": TURN}
    a.close(("crank", None), ("world", (1.0, -0.0, 1e300)), lb.Revolute("z"), "~: a", **place)
    place = {"offset_b": (0.1, 0.2, -0.3), "rotation_b": TURN}
    a.close(("world", None), ("rocker", "mid"), lb.Revolute("z"), "true", **place)
    a.relate({("slider", 1): -1.0, "crank": 0.1, ("slider", 0): 1e-300}, value=0.1, name="rack")
    a.relate({"crank": 1.0}, value=-2.0)
    return a.gear("rocker", "crank", 1 / 3, 0.2, name="gear")


def moved_four_bar():
    """A result, made by hand, of a four-bar linkage with a bent coupler, a tether to the world, and a gap in its pin."""
    a = four_bar(lb.beam(1.0, 1.0, EI=10.0, modes=2)).gear("rocker", "crank", 1.0, name="belt")
    place = {"offset": (0, -0.1, 0), "offset_b": (0, 0, 0.1)}
    a.close(("rocker", "mid"), ("world", (1.6, 0.3, 0.0)), lb.Spherical(), "tether", **place)
    s = a.build()
    t = np.linspace(0.0, 1.0, 20)
    q = np.zeros((len(t), s.nq))
    for name, start, rate in (("crank", 1.2, 0.3), ("coupler", -1.2, -0.3), ("rocker", 1.3, 0.3)):
        q[:, s.layout[name].q_joint] = (start + rate * t)[:, None]
    q[:, s.layout["coupler"].q_modes] = 0.02
    v = np.zeros((len(t), s.nv))
    return lb.Result(s, t, q, v, v, (), Statistics(0, 0, 0, 0.0), "", {}, np.zeros((len(t), FLOWS)))
