"""A system in which every branch of the kernels is taken."""

import numpy as np
from scipy.spatial.transform import Rotation

import limber as lb
from helpers.random_systems import random_flexible_body, random_rigid_body


def every_joint_and_mode_kind(fidelity):
    """A tree with every branch of the kernels: each joint kind and axis, clamped and free-free modes, point
    masses, rotary nodes and second-order shapes, a flexible body with several children, and one on its body frame."""
    rng = np.random.default_rng(5)
    a = lb.Assembly("every", gravity=(0.1, -0.2, -9.81))
    base = random_flexible_body(rng, 2, rotary=True)
    a.attach("base", base, lb.Free(), inboard=1)
    x, y, z = np.eye(3)
    joints = [
        *(lb.Revolute(e) for e in (x, y, z, [1, 2, 3])),
        *(lb.Prismatic(e) for e in (x, y, z)),
        lb.Revolute(y, armature=0.3, stiffness=2.0, rest=0.1),
        lb.Prismatic(z, damping=0.5, friction=0.4, static_friction=0.7),
        lb.Fixed(),
        lb.SimpleJoint(np.eye(6, 3), damping=(0.1, 0.2, 0.3)),
        lb.Universal(x, y, armature=0.2, limits=(-0.1, 0.2), stop_stiffness=30.0),
        lb.CompoundJoint([lb.Screw(y, 0.2), lb.Spherical()]),
    ]
    for i, joint in enumerate(joints):
        body = (random_rigid_body(rng), random_flexible_body(rng, 2, second=i % 4 == 1))[i % 2]
        to = "base" if i < 3 else f"b{i - 3}"
        at = None if i == 2 else 0
        inboard = 0 if i % 4 == 1 else None
        turn = Rotation.random(random_state=i).as_matrix()
        a.attach(f"b{i}", body, joint, to, at, rng.uniform(-0.2, 0.2, 3), turn, inboard)
    return a.build(fidelity=fidelity), rng
