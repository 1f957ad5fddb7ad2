"""Closed systems that are known from elsewhere, or whose answer is: (assembly, q, v) with consistent q and v.

Lengths in metres, masses in kilograms; planar systems lie in the x-y plane.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import limber as lb
from constraints.placing import close_here
from constraints.reference import freedoms

DOWN = np.array([0.0, -9.81, 0.0])


def rod(length, mass, width=0.0) -> lb.RigidBody:
    """A homogeneous rod of square section along x from its root, with the nodes root, mid and tip."""
    across = mass * (length**2 + width**2) / 12.0
    return lb.RigidBody(
        mass,
        (length / 2.0, 0.0, 0.0),
        np.diag([mass * width**2 / 6.0, across, across]),
        nodes={"root": (0, 0, 0), "mid": (length / 2.0, 0, 0), "tip": (length, 0, 0)},
    )


def bar(length, mass, flexible, EI=50.0):
    """A rod, or a beam with one bending mode in each plane and one of torsion."""
    if not flexible:
        return rod(length, mass, 0.05 * length)
    modes = {"bending": 1, "torsion": 1}
    inertia = mass * (0.05 * length) ** 2 / 6.0
    return lb.beam(length, mass, EI=EI, GJ=EI, modes=modes, elements=2, polar_inertia=inertia)


def middle(body) -> str:
    """The node in the middle of a `bar`."""
    return "mid" if isinstance(body, lb.RigidBody) else "node1"


def moving(assembly, q, drive, speed) -> np.ndarray:
    """Speeds that the closures allow, of least size, with the joint of the body `drive` at this speed."""
    s = assembly.build()
    F = freedoms(s, q)
    row = F[s.layout[drive].v_joint.start]
    return F @ (row * speed / (row @ row))


# planar linkages


def four_bar(lengths=(1.0, 2.5, 1.8, 2.2), angle=1.0, speed=2.0, flexible=False):
    """A planar four-bar: crank, coupler, rocker and ground, in this order of `lengths`.

    The coupler and the rocker are joined by a spatial revolute joint, which has three redundant rows.  flexible: the
    coupler is a beam.
    """
    crank, coupler, rocker, ground = lengths
    a = lb.Assembly("four-bar", gravity=DOWN)
    a.attach("crank", rod(crank, 1.0), lb.Revolute("z"))
    middle_bar = bar(coupler, 2.0, True) if flexible else rod(coupler, 2.0)
    a.attach("coupler", middle_bar, lb.Revolute("z"), "crank", "tip")
    a.attach("rocker", rod(rocker, 1.5), lb.Revolute("z"), offset=(ground, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), "pin")
    s = a.build()
    q = s.neutral()
    q[s.layout["crank"].q_joint] = angle
    corner = crank * np.array([np.cos(angle), np.sin(angle)])
    x, y = np.array([ground, 0.0]) - corner
    d = np.hypot(x, y)
    # the coupler's tip is where circles about the corner and the rocker's foot meet, the upper of the two points
    along = np.arctan2(y, x)
    lift = np.arccos((coupler**2 + d**2 - rocker**2) / (2.0 * coupler * d))
    tip = corner + coupler * np.array([np.cos(along + lift), np.sin(along + lift)])
    q[s.layout["coupler"].q_joint] = along + lift - angle
    q[s.layout["rocker"].q_joint] = np.arctan2(tip[1], tip[0] - ground)
    return a, q, moving(a, q, "crank", speed)


def double_four_bar(cells=2):
    """Windows of equal bars in a row (IFToMM's library of benchmarks, "N four-bar mechanism"; problem 9).

    2 cells + 1 bars of 1 kg and 1 m; the cranks stand upright and their tips move at +1 m/s in x.  Where the bars lie
    in one line, the mechanism is singular.
    """
    a = lb.Assembly("double four-bar", gravity=DOWN)
    for i in range(cells + 1):
        a.attach(f"crank{i}", rod(1.0, 1.0), lb.Revolute("z"), offset=(i, 0, 0))
    for i in range(cells):
        a.attach(f"coupler{i}", rod(1.0, 1.0), lb.Revolute("z"), f"crank{i}", "tip")
        a.close((f"coupler{i}", "tip"), (f"crank{i + 1}", "tip"), lb.Revolute("z"), f"pin{i}")
    s = a.build()
    q, v = s.neutral(), np.zeros(s.nv)
    for name, where in s.layout.items():
        sign = 1.0 if name.startswith("crank") else -1.0
        q[where.q_joint], v[where.v_joint] = sign * np.pi / 2.0, -sign
    return a, q, v


def double_four_bar_rate(angle, cells=2) -> float:
    """The angular acceleration of the cranks at an angle from x, from the one-freedom reduction."""
    n = cells + 1  # cranks of inertia 1/3, and couplers that do not turn
    return -(n / 2.0 + cells) * 9.81 / (n / 3.0 + cells) * np.cos(angle)


def double_four_bar_tip(t, cells=2):
    """Position and velocity (x, y) of the first joint at the time t, on the parallelogram branch."""

    def rates(_, y):
        return y[1], double_four_bar_rate(y[0], cells)

    path = solve_ivp(rates, (0.0, t), (np.pi / 2.0, -1.0), method="DOP853", rtol=1e-13, atol=1e-13)
    angle, rate = path.y[:, -1]
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c, s]), rate * np.array([-s, c])


def scissor_boom(cells, angle=0.6, speed=0.5, flexible=False):
    """A boom of crossed bars of 1 m and 0.5 kg, upright on a fixed and a sliding foot; one freedom if rigid.

    Bar A of a cell rises to the right, bar B, pinned to it in the middle, to the left.  Bars of the next cell stand on
    their tips.  Each cell closes one loop, its foot B.
    """
    a = lb.Assembly("scissor boom", gravity=DOWN)
    body = bar(1.0, 0.5, flexible, EI=500.0)
    pin = lb.Revolute("z")
    for i in range(cells):
        on = {"to": f"B{i - 1}", "at": "tip"} if i else {}
        a.attach(f"A{i}", body, pin, **on)
        a.attach(f"B{i}", body, pin, f"A{i}", middle(body), inboard=middle(body))
        if i:
            a.close((f"A{i - 1}", "tip"), (f"B{i}", "root"), pin, f"foot{i}")
        else:
            slot = lb.CompoundJoint([lb.Prismatic("x"), lb.Revolute("z")])
            a.close(("world", (0, 0, 0)), ("B0", "root"), slot, "foot0")
    s = a.build()
    q = s.neutral()
    for i in range(cells):
        q[s.layout[f"A{i}"].q_joint] = angle if i == 0 else 2.0 * angle - np.pi
        q[s.layout[f"B{i}"].q_joint] = np.pi - 2.0 * angle
    return a, q, moving(a, q, "A0", speed)


def pinned_chain(links, planar=False, flexible=False, speed=0.5):
    """A chain of 1 m and 1 kg a link, hanging between two points on an arc of about a half circle.

    Spatial: universal joints, and a spherical one at the far end.  Planar: revolute joints, of which the last has
    three redundant rows.
    """
    a = lb.Assembly("pinned chain", gravity=DOWN)
    body = bar(1.0, 1.0, flexible)
    joint = lb.Revolute("z") if planar else lb.Universal("z", "y")
    for i in range(links):
        on = {"to": f"link{i - 1}", "at": "tip"} if i else {}
        a.attach(f"link{i}", body, joint, **on)
    s = a.build()
    q = s.neutral()
    for i in range(links):
        q[s.layout[f"link{i}"].q_joint.start] = np.pi / links if i else -np.pi / 2.0
    last, closing = f"link{links - 1}", lb.Revolute("z") if planar else lb.Spherical()
    _, p = lb.pose(s, q, last, "tip")
    close_here(a, s, q, ("world", p), (last, "tip"), closing, name="far end")
    s = a.build()
    F = freedoms(s, q)
    v = F @ (F.T @ np.random.default_rng(links).normal(size=s.nv))
    return a, q, speed * v / np.abs(v).max()


# spatial linkages


def bricard(speed=0.0):
    """Bricard's mechanism: five rods of 1 kg and 1 m on six edges of a cube, six revolute joints, one freedom.

    IFToMM's library of benchmarks, "Bricard's mechanism": the rods go from (0, 0, 0) through (1, 0, 0), (1, -1, 0),
    (1, -1, 1) and (0, -1, 1) to (0, 0, 1); the ground is the sixth.  Each axis is normal to the two rods it joins.
    Gravity is along -y, and it starts at rest.  Counting says that it has no freedom.
    """
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1.0]])
    axes = [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    a = lb.Assembly("Bricard", gravity=DOWN)
    for i in range(5):  # body frames are parallel to the world's, at the first corner of the rod
        along = corners[i + 1] - corners[i]
        inertia = (np.eye(3) - np.outer(along, along)) / 12.0
        body = lb.RigidBody(1.0, along / 2.0, inertia, nodes={"tip": along})
        on = {"to": f"rod{i - 1}", "at": "tip"} if i else {}
        a.attach(f"rod{i}", body, lb.Revolute(axes[i]), **on)
    a.close(("world", corners[5]), ("rod4", "tip"), lb.Revolute(axes[5]), "ground")
    s = a.build()
    q = s.neutral()
    return a, q, moving(a, q, "rod0", speed)


def spatial_slider_crank(speed=6.0):
    """Haug's spatial slider-crank (Computer Aided Kinematics and Dynamics of Mechanical Systems, Section 12.2; IFToMM's
    library of benchmarks, "Rigid slider-crank mechanism"): crank, rod and slider, one freedom.

    The crank (0.08 m, its mass centre on its axis) turns about x at (0, 0.1, 0.12) and stands upright at first; a
    spherical joint leads to the rod (0.3 m), a universal joint to the slider, which moves along x.  The axes of the
    universal joint are x and, at first, the normal of x and the rod.  The loop is cut at the spherical joint.
    """
    A, crank, length = np.array([0.0, 0.1, 0.12]), 0.08, 0.3
    B = A + np.array([0.0, 0.0, crank])
    C = np.array([np.sqrt(length**2 - B @ B), 0.0, 0.0])
    a = lb.Assembly("spatial slider-crank", gravity=(0, 0, -9.81))
    wheel = lb.RigidBody(0.12, (0, 0, 0), (1e-4, 1e-5, 1e-4), nodes={"tip": (0, 0, crank)})
    a.attach("crank", wheel, lb.Revolute("x"), offset=A)
    a.attach("slider", lb.RigidBody(2.0, inertia=(1e-4, 1e-4, 1e-4)), lb.Prismatic("x"))
    # axes of the rod: x from the crank to the slider, y the second axis of the universal joint
    x = (C - B) / length
    y = np.cross(x, [1.0, 0.0, 0.0])
    y /= np.linalg.norm(y)
    R = np.column_stack([x, y, np.cross(x, y)])
    inertia = R @ np.diag([4e-4, 4e-3, 4e-3]) @ R.T
    link = lb.RigidBody(0.5, (B - C) / 2.0, inertia, nodes={"tip": B - C})
    a.attach("rod", link, lb.Universal("x", y), "slider")
    a.close(("crank", "tip"), ("rod", "tip"), lb.Spherical(), "ball")
    s = a.build()
    q = s.neutral()
    q[s.layout["slider"].q_joint] = C[0]
    return a, q, moving(a, q, "crank", speed)


def flexible_slider_crank(speed=150.0, modes=2, stiffened=False):
    """A slider-crank with a flexible rod (Jonker, A finite element dynamic analysis of flexible spatial mechanisms,
    1989): steel rods of 6 mm diameter, crank 0.15 m, connecting rod 0.3 m, slider of half the mass of the latter.

    The crank turns at 150 rad/s, there is no gravity.  The connecting rod bends in the plane.  It starts straight, in
    line with the crank, and undeformed.
    """
    area, inertia = np.pi * 0.003**2, np.pi * 0.003**4 / 4.0
    density, E, crank, length = 7870.0, 2e11, 0.15, 0.3
    mass = density * area * length
    link = lb.beam(length, mass, EI=E * inertia, modes={"y": modes}, geometric_stiffening=stiffened)
    a = lb.Assembly("flexible slider-crank")
    a.attach("crank", rod(crank, density * area * crank), lb.Revolute("z"))
    a.attach("rod", link, lb.Revolute("z"), "crank", "tip")
    block = lb.RigidBody(mass / 2.0, inertia=np.full(3, 1e-6))
    a.attach("slider", block, lb.Prismatic("x"))
    a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"), "pin")
    s = a.build()
    q = s.neutral()
    q[s.layout["slider"].q_joint] = crank + length
    v = np.zeros(s.nv)  # the rod starts as a rigid one, and the slider at rest
    v[s.layout["crank"].v_joint] = speed
    v[s.layout["rod"].v_joint] = -speed * (1.0 + crank / length)
    return a, q, v


# several arms


def arms_on_object(arms, links=3, flexible=False, grasp=None):
    """Arms around a free object that all of them hold; rigid grasps by default.

    The joints of an arm turn about z, y, y, x, y, x, ... in turn.  Bodies are arm0.link0, ..., and object.
    """
    axes = ("z", "y", "y", "x", "y", "x", "z")
    a = lb.Assembly("arms", gravity=(0, 0, -9.81))
    a.attach("object", lb.RigidBody(5.0, inertia=(0.3, 0.4, 0.5)), lb.Free())
    body = bar(0.6, 1.0, flexible, EI=300.0)
    for k in range(arms):
        turn = 2.0 * np.pi * k / arms
        c, s = np.cos(turn), np.sin(turn)
        facing = np.array([[-c, s, 0], [-s, -c, 0], [0, 0, 1.0]])
        on = {"offset": 1.5 * np.array([c, s, 0]), "rotation": facing}
        for i in range(links):
            a.attach(f"arm{k}.link{i}", body, lb.Revolute(axes[i % len(axes)]), **on)
            on = {"to": f"arm{k}.link{i}", "at": "tip"}
    tree = a.build()
    q = tree.neutral()
    q[tree.layout["object"].q_joint][4:] = 0.0, 0.0, 0.4
    for k in range(arms):
        bend = -0.9
        for i in range(links):
            q[tree.layout[f"arm{k}.link{i}"].q_joint] = 0.2 if i == 0 else bend
            bend = -0.7 * bend
    for k in range(arms):
        hand = (f"arm{k}.link{links - 1}", "tip")
        close_here(a, tree, q, hand, ("object", None), grasp or lb.Fixed(), name=f"grasp{k}")
    F = freedoms(a.build(), q)
    v = F @ (F.T @ np.random.default_rng(arms).normal(size=tree.nv))
    return a, q, v


def panel_carriers(modes=2):
    """Two arms of six joints and two flexible links each carry a flexible panel, which hangs on nothing else."""
    a = lb.Assembly("panel carriers")
    panel = lb.beam(
        3.0, 6.0, EI=(80.0, 800.0), GJ=60.0, modes={"bending": modes, "torsion": 1}, elements=4,
        polar_inertia=0.5,
    )  # fmt: skip
    a.attach("panel", panel, lb.Free(), inboard="node2")
    hub = lb.RigidBody(0.5, inertia=(0.01, 0.01, 0.01))
    for side, x in (("left", -1.0), ("right", 1.0)):
        base = {"offset": (1.6 * x, -1.0, 0.0)}
        a.attach(f"{side}.shoulder", hub, lb.Universal("z", "y"), **base)
        upper, lower = (
            lb.beam(
                1.0, m, EI=400.0, GJ=300.0, modes={"bending": modes, "torsion": 1}, elements=2,
                polar_inertia=0.01,
            )
            for m in (2.0, 1.5)
        )  # fmt: skip
        a.attach(f"{side}.upper", upper, lb.Fixed(), f"{side}.shoulder")
        a.attach(f"{side}.lower", lower, lb.Revolute("z"), f"{side}.upper", "tip")
        a.attach(f"{side}.hand", hub, lb.Spherical(), f"{side}.lower", "tip")
    tree = a.build()
    q = tree.neutral()
    q[tree.layout["panel"].q_joint][4:] = 0.0, 0.6, 0.0
    for side, x in (("left", -1.0), ("right", 1.0)):
        q[tree.layout[f"{side}.shoulder"].q_joint] = np.pi / 2.0 + 0.4 * x, 0.1
        q[tree.layout[f"{side}.lower"].q_joint] = 0.9 * x
    for side, node in (("left", "root"), ("right", "tip")):
        hand = (f"{side}.hand", None)
        close_here(a, tree, q, hand, ("panel", node), lb.Fixed(), name=f"{side} grasp")
    F = freedoms(a.build(), q)
    v = F @ (F.T @ np.random.default_rng(1).normal(size=tree.nv))
    return a, q, 0.2 * v


# relations


def geared_pair(ratio=-3.0, speed=1.0):
    """A link of inertia 1/3 about its joint, and a rotor of inertia 0.02 on an axis of its own that is geared to it.

    theta_rotor = ratio theta_link, so the link's torque feels 1/3 + ratio^2 0.02.
    """
    a = lb.Assembly("geared pair")
    a.attach("link", rod(1.0, 1.0), lb.Revolute("z"))
    rotor = lb.RigidBody(0.5, inertia=(0.01, 0.01, 0.02))
    a.attach("rotor", rotor, lb.Revolute("z"), offset=(0, 0.3, 0))
    a.gear("rotor", "link", ratio, offset=0.5)
    return a, np.array([0.3, 0.5 + 0.3 * ratio]), np.array([speed, ratio * speed])


def rack_and_pinion(radius=0.1, speed=1.0):
    """A pinion of inertia 0.02 that drives a rack of 3 kg: x = radius theta."""
    a = lb.Assembly("rack and pinion")
    a.attach("pinion", lb.RigidBody(0.5, inertia=(0.01, 0.01, 0.02)), lb.Revolute("z"))
    a.attach("rack", lb.RigidBody(3.0, inertia=(1, 1, 1)), lb.Prismatic("x"), offset=(0, 0.1, 0))
    a.relate({"pinion": radius, "rack": -1.0})
    return a, np.array([0.4, 0.4 * radius]), np.array([speed, radius * speed])


#: (maker, number of freedoms, rank of the rows, number of rows)
KNOWN = {
    "four-bar": (four_bar, 1, 2, 5),
    "flexible four-bar": (lambda: four_bar(flexible=True), 2, 4, 5),
    "double four-bar": (double_four_bar, 1, 4, 10),
    "scissor boom": (lambda: scissor_boom(4), 1, 7, 19),
    "flexible scissor boom": (lambda: scissor_boom(3, flexible=True), 10, 14, 14),
    "pinned chain": (lambda: pinned_chain(6), 9, 3, 3),
    "planar pinned chain": (lambda: pinned_chain(6, planar=True), 4, 2, 5),
    "flexible pinned chain": (lambda: pinned_chain(4, flexible=True), 17, 3, 3),
    "Bricard": (bricard, 1, 4, 5),
    "spatial slider-crank": (spatial_slider_crank, 1, 3, 3),
    "flexible slider-crank": (flexible_slider_crank, 3, 2, 5),
    "arms": (lambda: arms_on_object(3, links=6), 6, 18, 18),
    "panel carriers": (panel_carriers, 31, 12, 12),
    "geared pair": (geared_pair, 1, 1, 1),
    "rack and pinion": (rack_and_pinion, 1, 1, 1),
}
