"""What the tests of functions for JAX and PyTorch share: systems, states, and the slopes that are right."""

from __future__ import annotations

from functools import cache

import numpy as np

import limber as lb
from helpers.generated import COMPLEX

#: Of the largest slope of each kind.
TOLERANCE = 1e-10
PARAMETERS = ("link.EI", "hub.mass", "hub.com", "hub.inertia", "link.joint_damping", "gravity")


@cache
def flyer() -> lb.System:
    """A free hub with a flexible link: quaternions, modes, the physics of joints; nq = 10, nv = 9."""
    a = lb.Assembly("flyer", gravity=(0.1, 0.2, -9.81))
    a.attach("hub", lb.RigidBody(3.0, (0.1, 0.0, 0.2), np.diag([0.3, 0.4, 0.5])), lb.Free())
    link = lb.beam(1.0, 1.0, EI=60.0, modes={"z": 2}, damping=0.01)
    a.attach("link", link, lb.Revolute("y", damping=0.1), to="hub", offset=(0.3, 0.0, 0.1))
    return a.build()


@cache
def four_bar() -> lb.System:
    bar = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), nodes={"tip": (1, 0, 0)})
    a = lb.Assembly("four-bar", gravity=(0, -9.81, 0))
    a.attach("crank", bar, lb.Revolute("z"))
    a.attach("coupler", bar, lb.Revolute("z"), "crank", "tip")
    a.attach("rocker", bar, lb.Revolute("z"), offset=(1.5, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"))
    return a.build()


def state(seed=0, count=None):
    """q, v and tau of `flyer`, or of many."""
    s, rng = flyer(), np.random.default_rng(seed)
    batch = () if count is None else (count,)
    q = 0.2 * rng.standard_normal((*batch, s.nq))
    turn = rng.standard_normal((*batch, 4))
    q[..., :4] = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
    return q, rng.standard_normal((*batch, s.nv)), rng.standard_normal((*batch, s.nv))


def parameter_values():
    return [flyer().parameters[name].value for name in PARAMETERS]


def by_speeds(s, q):
    """N(q) of q_dot = N(q) v."""
    return np.stack([lb.qdot(s, q, e) for e in np.eye(s.nv)], axis=1)


def right_slopes(of, q, v, x, names=PARAMETERS):
    """The slopes by q (along lb.integrate), v, the third input and parameters, by lb.derivatives."""
    third = "tau" if of == "forward_dynamics" else "vdot"
    d = lb.derivatives(flyer(), q, v, x, of, by=("q", "v", third, *names))
    return [d.q, d.v, getattr(d, third), *(d.parameters[name] for name in names)]


def complex_slopes(program, given, along):
    """The change of all results of a program along a direction, by a complex step."""
    flat = [np.concatenate([np.ravel(x) for x in part]) for part in (given, along)]
    found = program.evaluate((flat[0] + 1e-30j * flat[1]).tolist(), COMPLEX)
    return np.array(found, dtype=complex).imag / 1e-30
