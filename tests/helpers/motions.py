"""Systems to integrate, their states in motion, and how far two motions are apart."""

from __future__ import annotations

import numpy as np

import limber as lb
from helpers.random_systems import random_rigid_body


def arm(modes=1, damping=0.0, gravity=(0.0, 0.0, -9.81)):
    """Two beams on revolute joints about different axes."""
    a = lb.Assembly("arm", gravity=gravity)
    link = lb.beam(1.0, 2.0, EI=(80.0, 120.0), modes=modes, damping=damping)
    a.attach("upper", link, lb.Revolute([0, 1, 0]))
    a.attach("lower", link, lb.Revolute([0, 0, 1]), to="upper", at="tip")
    return a.build()


def spacecraft():
    """A free hub with a flexible panel and a rigid body on a ball joint: quaternions."""
    rng = np.random.default_rng(3)
    a = lb.Assembly("spacecraft")
    a.attach("hub", random_rigid_body(rng), lb.Free())
    panel = lb.beam(2.0, 1.0, EI=(50.0, 80.0), modes=1)
    a.attach("panel", panel, lb.Revolute([0, 1, 0]), to="hub")
    a.attach("ball", random_rigid_body(rng), lb.Spherical(), to="panel", at="tip")
    return a.build()


def moving(s, size=0.5):
    """A state in motion, its deformations small."""
    rng = np.random.default_rng(1)
    scale = np.full(s.nv, size)
    for where in s.layout.values():
        scale[where.v_modes] = 0.02 * size
    shift = 0.3 * scale * rng.standard_normal(s.nv)
    return lb.integrate(s, s.neutral(), shift, 1.0), scale * rng.standard_normal(s.nv)


def distance(s, q, p):
    """Largest difference of coordinates, quaternions up to sign."""
    q, p = np.array(q), np.array(p)
    for name, where in s.layout.items():
        for at in s.joints[name].quaternions():
            i = slice(where.q_joint.start + at.start, where.q_joint.start + at.stop)
            p[..., i] *= np.sign((q[..., i] * p[..., i]).sum(-1, keepdims=True))
    return np.abs(q - p).max()
