"""Two arms that hold one object, for tests of grasps: systems, and states that meet their closures."""

from __future__ import annotations

import numpy as np

import limber as lb

DOWN = (0.0, 0.0, -9.81)
GRASPS = {
    "rigid": lb.RigidGrasp(),
    "hard point": lb.HardPoint(0.6),
    "soft finger": lb.SoftFinger(0.6, 0.02),
    "frictionless point": lb.FrictionlessPoint(),
    "sliding line": lb.SlidingLine(0.1),
}


def arm(x: float, flexible: bool = False, gravity=DOWN) -> lb.Assembly:
    """An arm of six joints whose foot is at (x, 0, 0): a shoulder of two, an elbow and a wrist of three."""
    a = lb.Assembly("arm", gravity=gravity)
    link = lb.RigidBody(4.0, (0.5, 0, 0), (0.05, 0.4, 0.4), nodes={"tip": (1.0, 0, 0)})
    if flexible:
        link = lb.beam(1.0, 4.0, EI=2e3, GJ=1e3, modes=1, polar_inertia=0.01, elements=2)
    a.attach("upper", link, lb.Universal("z", "y", damping=0.1), offset=(x, 0, 0))
    a.attach("fore", link, lb.Revolute("y", stiffness=2.0), "upper", "tip")
    a.attach("hand", lb.RigidBody(1.0, (0.1, 0, 0), (0.02, 0.02, 0.02), nodes={"palm": (0.2, 0, 0)}),
             lb.CompoundJoint([lb.Revolute("x"), lb.Revolute("y"), lb.Revolute("z")]), "fore", "tip")  # fmt: skip
    return a


def box(kind: str = "rigid", gravity=DOWN) -> lb.Assembly:
    """A free object with the nodes left and right: "rigid", "flexible" or "articulated"."""
    a = lb.Assembly("box", gravity=gravity)
    nodes = {"left": (-0.4, 0, 0), "right": (0.4, 0, 0)}
    body = lb.RigidBody(6.0, (0.05, 0, 0.02), (0.3, 0.5, 0.6), nodes=nodes)
    a.attach("box", body, lb.Free())
    if kind == "flexible":
        side = lb.beam(0.8, 2.0, EI=40.0, GJ=30.0, modes=2, polar_inertia=0.01, elements=2)
        a.attach("flap", side, lb.Fixed(), "box", "right")
    elif kind == "articulated":
        lid = lb.RigidBody(1.0, (0.2, 0, 0), (0.02, 0.03, 0.03))
        a.attach("lid", lid, lb.Revolute("y", stiffness=5.0), "box", "left")
    return a


def held(grasp, flexible: bool = False, kind: str = "rigid", fidelity: str = "full", seed: int = 0):
    """(system, q, v): two arms, on the left and the right of an object, that hold it by closures `left` and `right`.

    The normals point from hand to hand.  q and v meet the closures, and everything moves.
    """
    arms = [arm(x, flexible).build(fidelity) for x in (-1.3, 1.3)]
    s = lb.couple({"left": arms[0], "right": arms[1]}, box(kind).build(fidelity))
    q = s.neutral()
    for name, turn in (("left", -1.0), ("right", -2.0)):
        q[s.layout[f"{name}/upper"].q_joint] = 0.1, turn
        q[s.layout[f"{name}/fore"].q_joint] = 1.6 if name == "left" else -0.9
        q[s.layout[f"{name}/hand"].q_joint] = 0.2, -0.3, 0.1
    q[s.layout["object/box"].q_joint][4:] = 0.0, 0.1, 1.0
    q = lb.integrate(s, q, 0.02 * np.random.default_rng(seed).normal(size=s.nv), 1.0)
    closures = []
    places = [lb.pose(s, q, f"{name}/hand", "palm")[1] for name in ("left", "right")]
    line = (places[1] - places[0]) / np.linalg.norm(places[1] - places[0])
    for name, into in (("left", 1.0), ("right", -1.0)):
        R, p = lb.pose(s, q, f"{name}/hand", "palm")
        R_box, p_box = lb.pose(s, q, "object/box", name)
        z = into * line
        y = np.cross(z, R_box[:, 0])
        y /= np.linalg.norm(y)
        axes = np.column_stack([np.cross(y, z), y, z])
        closures.append({
            "end_a": (f"{name}/hand", "palm"), "end_b": ("object/box", name), "joint": grasp, "name": name,
            "rotation": R.T @ axes, "offset_b": R_box.T @ (p - p_box), "rotation_b": R_box.T @ axes,
        })  # fmt: skip
    s = s.closed_by(closures)
    v = 0.5 * np.random.default_rng(seed + 1).normal(size=s.nv)
    return s, *lb.project(s, q, v)
