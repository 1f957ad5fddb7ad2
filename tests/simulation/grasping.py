"""A free-flying arm that grasps a free tumbling target, as a system in which nothing is attached yet."""

import numpy as np

import limber as lb


def flyer(flexible=True, gravity=(0, 0, 0)):
    """(system, q, v): hull, boom, hand, and the target beside the hand, all in motion."""
    a = lb.Assembly("flyer", gravity=gravity)
    hull = lb.RigidBody(50.0, inertia=(5.0, 6.0, 7.0), nodes={"shoulder": (0.5, 0, 0)})
    a.attach("hull", hull, lb.Free())
    boom = lb.RigidBody(3.0, (0.5, 0, 0), (0.01, 0.25, 0.25), nodes={"tip": (1.0, 0, 0)})
    if flexible:
        boom = lb.beam(1.0, 3.0, EI=400.0, GJ=300.0, modes=1, polar_inertia=0.01, elements=2)
    a.attach("boom", boom, lb.Revolute("z", damping=0.2), "hull", "shoulder")
    hand = lb.RigidBody(2.0, (0.2, 0, 0), (0.1, 0.2, 0.2), nodes={"palm": (0.4, 0, 0)})
    a.attach("hand", hand, lb.Revolute("y", stiffness=3.0), "boom", "tip")
    target = lb.RigidBody(8.0, (0.1, 0, 0), (1.0, 2.0, 2.5), nodes={"rim": (-0.3, 0, 0)})
    t = lb.Assembly("target", gravity=gravity)
    t.attach("body", target, lb.Free())
    s = lb.couple([a.build()], ("target", t.build()))
    q = s.neutral()
    q[s.layout["target/body"].q_joint][4:] = 2.5, 0.1, 0.05
    v = np.zeros(s.nv)
    v[s.layout["target/body"].v_joint] = 0.1, -0.2, 0.3, -0.35, -0.05, 0.0
    v[s.layout["arm1/hull"].v_joint] = 0.02, 0.03, -0.04, 0.1, 0.0, 0.02
    v[s.layout["arm1/boom"].v_joint] = 0.1
    v[s.layout["arm1/hand"].v_joint] = -0.2
    return s, q, v


#: The hand grasps the target by a rigid grasp.
GRASP = (("arm1/hand", "palm"), ("target/body", "rim"), lb.RigidGrasp(), "grasp")


def gap(s):
    """The function (t, q, v) -> distance of the palm and the rim."""

    def distance(t, q, v):
        palm, rim = (lb.pose(s, q, *end)[1] for end in GRASP[:2])
        return float(np.linalg.norm(palm - rim))

    return distance
