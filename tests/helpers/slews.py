"""Small systems for motions that cost least."""

from functools import cache

import numpy as np

import limber as lb


@cache
def bar():
    """A rigid bar that turns in the plane, of inertia 1/3."""
    bar = lb.RigidBody(1.0, (0.5, 0, 0), np.diag([0.01, 1 / 12, 1 / 12]), nodes={"tip": (1, 0, 0)})
    return lb.Assembly("bar").attach("bar", bar, lb.Revolute("z")).build()


@cache
def arm():
    """A flexible link with a load: q has its mode, then its hinge."""
    a = lb.Assembly("arm")
    a.attach("hub", lb.beam(1.0, 1.0, EI=20.0, modes={"y": 1}), lb.Revolute("z", armature=0.5))
    a.attach("load", lb.RigidBody(0.5, inertia=[0.01] * 3), lb.Fixed(), "hub", "tip")
    return a.build()


@cache
def craft():
    """A free body that turns, with a hinged paddle."""
    a = lb.Assembly("craft")
    a.attach("body", lb.RigidBody(5.0, inertia=[1.0, 2.0, 3.0]), lb.Spherical())
    paddle = lb.RigidBody(1.0, (0.5, 0, 0), np.diag([0.1, 0.2, 0.2]), nodes={"end": (1, 0.2, 0)})
    a.attach("paddle", paddle, lb.Revolute("y"), "body")
    return a.build()
