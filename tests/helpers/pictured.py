"""Results to make pictures of, small and quick."""

from functools import cache

import numpy as np

import limber as lb
from helpers.frames import box_surface, brick


@cache
def arm():
    """Two seconds of the flexible Canadarm."""
    s = lb.models.canadarm(modes=1, damping=0.01).build()
    q0 = s.neutral()
    for name, angle in zip(s.layout, (0.3, -0.6, 0.5)):
        q0[s.layout[name].q_joint] = angle
    return lb.simulate(s, 2.0, q0=q0, torque=[400.0, -90.0, 20.0], every=0.02, method="dop853")


@cache
def craft():
    """A free spacecraft with a panel on an inboard node, a slider and a ball joint: a tree."""
    x = np.linspace(-1, 1, 5)
    panel = lb.FlexibleBody.from_nodes(
        mass=np.full(5, 0.5),
        position=np.column_stack([x, 0 * x, 0 * x]),
        translation=np.column_stack([0 * x, 0 * x, 3 * x**2 - 1])[:, :, None],
        rotation=np.column_stack([0 * x, -6 * x, 0 * x])[:, :, None],
        stiffness=[[900.0]],
        inertia=np.tile(np.diag([1e-3, 1e-3, 1e-3]), (5, 1, 1)),
        names=["a", "b", "c", "d", "e"],
    )
    tilt = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    a = lb.Assembly("craft", gravity=(0, 0, -0.1))
    a.attach(
        "bus",
        lb.RigidBody(50.0, inertia=np.diag([8.0, 6.0, 7.0]), nodes={"top": (0, 0, 0.4)}),
        lb.Free(),
    )
    a.attach("panel", panel, lb.Revolute([1, 0, 0]), "bus", offset=(0.5, 0, 0), inboard="a")
    boom = lb.beam(1.5, 2.0, EI=40.0, modes=1, elements=1, polar_inertia=0.01)
    a.attach("boom", boom, lb.Prismatic([1, 0, 0]), "bus", offset=(0, 0.5, 0), rotation=tilt)
    a.attach(
        "ball",
        lb.RigidBody(1.0, (0.2, 0, 0), 0.01 * np.eye(3)),
        lb.Spherical(),
        "boom",
        "tip",
        offset=(0, 0, 0.1),
    )
    s = a.build()
    rng = np.random.default_rng(3)
    return lb.simulate(s, 1.0, v0=0.3 * rng.standard_normal(s.nv), every=0.02, method="dop853")


def satellite(hub=None, damping=0.0, gravity=(0, 0, 0)):
    """A rigid hub with two panels that bend and twist, each on a joint about its own length."""
    a = lb.Assembly("satellite", gravity=gravity)
    nodes = {"east": (0.8, 0, 0), "west": (-0.8, 0, 0)}
    body = lb.RigidBody(400.0, inertia=np.diag([80.0, 90.0, 100.0]), nodes=nodes)
    a.attach("hub", body, hub or lb.Free())
    modes = {"bending": 2, "torsion": 1}
    panel = lb.beam(
        5.0, 20.0, EI=(2e3, 4e4), GJ=50.0, modes=modes, polar_inertia=2.0, damping=damping
    )
    a.attach("east", panel, lb.Revolute([1, 0, 0]), "hub", "east")
    a.attach("west", panel, lb.Revolute([1, 0, 0]), "hub", "west", rotation=np.diag([-1, -1, 1]))
    return a.build()


@cache
def stiffened():
    """A hub with a stiffened beam, and on its tip a free-free panel with second-order shapes of its own: three states."""
    a = lb.Assembly("stiffened")
    a.attach("hub", lb.RigidBody(5.0, inertia=np.eye(3)), lb.Revolute([0, 0, 1]))
    boom = lb.beam(2.0, 1.0, EI=(12.0, 8.0), modes=2, elements=6, geometric_stiffening=True)
    a.attach("boom", boom, lb.Fixed(), "hub", offset=(0.2, 0, 0))
    x = np.linspace(-1, 1, 5)
    rng = np.random.default_rng(5)
    second = 4.0 * rng.standard_normal((5, 3, 2, 2))
    panel = lb.FlexibleBody.from_nodes(
        mass=np.full(5, 0.2),
        position=np.column_stack([x, 0 * x, 0 * x]),
        translation=np.stack(
            [
                np.column_stack([0 * x, 0 * x, 3 * x**2 - 1]),
                np.column_stack([0 * x, 5 * x**3 - 3 * x, 0 * x]),
            ],
            axis=2,
        ),
        rotation=np.stack(
            [
                np.column_stack([0 * x, -6 * x, 0 * x]),
                np.column_stack([0 * x, 0 * x, 15 * x**2 - 3]),
            ],
            axis=2,
        ),
        stiffness=np.diag([40.0, 90.0]),
        inertia=np.tile(1e-3 * np.eye(3), (5, 1, 1)),
        names=["a", "b", "c", "d", "e"],
        second=second + np.swapaxes(second, 2, 3),
    )
    a.attach("panel", panel, lb.Revolute([0, 1, 0]), "boom", "tip", inboard="b")
    a.attach("ball", lb.RigidBody(0.1, (0.1, 0, 0), 1e-3 * np.eye(3)), lb.Spherical(), "panel", "e")
    s = a.build()
    v = 0.04 * np.random.default_rng(6).standard_normal((3, s.nv))
    q = np.array([lb.integrate(s, s.neutral(), x, 1.0) for x in v])
    return lb.Result(s, np.arange(3.0), q, 0 * v, 0 * v)


@cache
def block():
    """A solid block with its surface, clamped at one end, on a joint, with a load off its other end."""
    cells, size = (6, 2, 3), (1.0, 0.2, 0.3)
    position, M, K = brick(cells, size)
    structure = lb.Structure(position, M, K, triangles=box_surface(cells))
    root = np.flatnonzero(position[:, 0] == 0.0)
    tip = int(np.argmin(np.linalg.norm(position - [1.0, 0.1, 0.1], axis=1)))
    body = structure.reduce(clamped=list(root), interface=[tip], modes=4)
    a = lb.Assembly("block")
    a.attach("block", body, lb.Revolute([0, 0, 1]), offset=(0, 0, 0.4))
    load = lb.RigidBody(5.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    a.attach("load", load, lb.Fixed(), "block", str(tip), offset=(0.1, 0, 0))
    return a.build()


@cache
def yoke():
    """A frame of a shaft and a fork, that stiffens, with one member between ball joints."""
    nodes = {
        "root": (0, 0, 0),
        "neck": (1, 0, 0),
        "left": (1.6, 0.5, 0),
        "right": (1.6, -0.5, 0.1),
    }
    section = lb.Section.tube(0.02, 0.002, lb.Material(70e9, 2700.0, nu=0.3))
    members = [("root", "neck"), ("neck", "left"), ("neck", "right")]
    tie = lb.structures.Member("left", "right", pins="ab")
    frame = lb.structures.frame(nodes, [*members, tie], section)
    body = frame.reduce(clamped="root", modes=4, geometric_stiffening=True)
    a = lb.Assembly("yoke")
    a.attach("yoke", body, lb.Revolute([1, 0, 0]))
    a.attach("pod", lb.RigidBody(1.0, (0.1, 0, 0), (0.01, 0.01, 0.01)), lb.Fixed(), "yoke", "left")
    return a.build()


def swinging(s, rows=3, seed=2):
    """A few states of a system whose bodies bend by a tenth of their size at most."""
    rng = np.random.default_rng(seed)
    q = np.array([lb.integrate(s, s.neutral(), rng.standard_normal(s.nv), 0.5)] * rows)
    for name, where in s.layout.items():
        body = s.bodies[name]
        if body.modes:
            largest = np.abs(body.outline.translation).max(axis=(0, 1))
            part = 0.1 * body.extent() / largest / body.modes
            q[:, where.q_modes] = part * rng.uniform(-1.0, 1.0, (rows, body.modes))
    still = np.zeros((rows, s.nv))
    return lb.Result(s, np.arange(float(rows)), q, still, still)
