"""Closed mechanisms for tests of controllers, some with closed forms of their motion."""

import numpy as np

import limber as lb

GRAVITY = 9.81


def bar(length, mass=1.0):
    """A uniform rigid bar along x with a node at its tip."""
    inertia = mass * length**2 / 12
    return lb.RigidBody(mass, (length / 2, 0, 0), [1e-3, inertia, inertia], {"tip": (length, 0, 0)})


class SliderCrank:
    """Crank, rod and slider in a vertical plane: equations of motion in the crank angle, in closed form.

    With the rod angle p, sin p = -(r / l) sin a, all velocities are multiples of that of the crank angle a; the equation of
    motion is  I(a) a'' + I'(a) a'^2 / 2 + V'(a) = torque.  Derivatives are complex steps.
    """

    r, length, slider = 0.4, 1.1, 2.0

    def system(self):
        a = lb.Assembly("slider-crank", gravity=(0, -GRAVITY, 0))
        a.attach("crank", bar(self.r), lb.Revolute("z"))
        a.attach("rod", bar(self.length), lb.Revolute("z"), to="crank", at="tip")
        a.attach("slider", lb.RigidBody(self.slider, inertia=[0.1] * 3), lb.Prismatic("x"))
        a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"), name="pin")
        return a.build()

    def q(self, angle):
        """The coordinates [crank, rod relative to the crank, slider]."""
        p = np.arcsin(-self.r / self.length * np.sin(angle))
        return np.array([angle, p - angle, self.r * np.cos(angle) + self.length * np.cos(p)])

    def rates(self, angle):
        """Their derivatives by the crank angle."""
        sine = -self.r / self.length * np.sin(angle)
        p = -self.r / self.length * np.cos(angle) / np.sqrt(1 - sine**2)
        return np.array([1.0 + 0 * p, p - 1.0, -self.r * np.sin(angle) - self.length * sine * p])

    def inertia(self, angle):
        """I(a)."""
        p = np.arcsin(-self.r / self.length * np.sin(angle))
        _, relative, x = self.rates(angle)
        turn = 1.0 + relative
        half = 0.5 * self.length * turn
        vx = -self.r * np.sin(angle) - half * np.sin(p)
        vy = self.r * np.cos(angle) + half * np.cos(p)
        bars = self.r**2 / 3 + vx**2 + vy**2 + self.length**2 / 12 * turn**2
        return bars + self.slider * x**2

    def energy(self, angle):
        """V(a): the rod is halfway between the crank's tip and the slider."""
        return GRAVITY * self.r * np.sin(angle)

    def torque(self, angle, speed, acceleration):
        h = 1e-20
        by_angle = self.inertia(angle + 1j * h).imag / h
        weight = self.energy(angle + 1j * h).imag / h
        return self.inertia(angle) * acceleration + 0.5 * by_angle * speed**2 + weight

    def stiffness(self, angle):
        """The derivative of the weight V'(a)."""
        return -GRAVITY * self.r * np.sin(angle)


def four_bar(flexible=False):
    """Crank, coupler and rocker; the coupler bends if flexible."""
    a = lb.Assembly("four-bar", gravity=(0, -GRAVITY, 0))
    coupler = lb.beam(2.5, 1.0, EI=500.0, modes={"y": 2}, damping=0.01) if flexible else bar(2.5)
    a.attach("crank", bar(1.0), lb.Revolute("z"))
    a.attach("coupler", coupler, lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", bar(1.8), lb.Revolute("z"), offset=(2.2, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin")
    return a.build()


def at_crank(s, angle=1.0):
    """An equilibrium of the four-bar linkage with its crank held."""
    q = s.neutral()
    for body, x in (("crank", angle), ("coupler", -0.5), ("rocker", 1.5)):
        q[s.layout[body].q_joint] = x
    q = lb.assemble(s, q, locked=["crank"])
    return lb.equilibrium(s, q, locked=["crank"]) if s.nv > 3 else q


def five_bar(flexible=False, fidelity="full"):
    """Two arms of two bars each that meet at their tips: two degrees of freedom, moved by the bars on the ground."""
    a = lb.Assembly("five-bar", gravity=(0, -GRAVITY, 0))
    for side, x in (("left", 0.0), ("right", 1.0)):
        fore = lb.beam(1.0, 1.0, EI=300.0, modes={"y": 1}, damping=0.01) if flexible else bar(1.0)
        a.attach(f"{side} upper", bar(0.8), lb.Revolute("z"), offset=(x, 0, 0))
        a.attach(f"{side} fore", fore, lb.Revolute("z"), to=f"{side} upper", at="tip")
    a.close(("left fore", "tip"), ("right fore", "tip"), lb.Revolute("z"), name="tool")
    s = a.build(fidelity=fidelity)
    q = s.neutral()
    for body, x in zip(s.layout, (2.2, -1.2, 1.0, 1.2)):
        q[s.layout[body].q_joint] = x
    q = lb.assemble(s, q, locked=["left upper", "right upper"])
    return s, q


def floating_five_bar():
    """The rigid five-bar mechanism on a base that floats."""
    a = lb.Assembly("floating")
    nodes = {"left": (0, 0, 0), "right": (1.0, 0, 0)}
    a.attach("base", lb.RigidBody(50.0, inertia=[5.0] * 3, nodes=nodes), lb.Free())
    for side in nodes:
        a.attach(f"{side} upper", bar(0.8), lb.Revolute("z"), to="base", at=side)
        a.attach(f"{side} fore", bar(1.0), lb.Revolute("z"), to=f"{side} upper", at="tip")
    a.close(("left fore", "tip"), ("right fore", "tip"), lb.Revolute("z"), name="tool")
    s = a.build()
    angles = dict(
        zip(("left upper", "left fore", "right upper", "right fore"), (2.2, -1.2, 1.0, 1.2))
    )
    return s, lb.assemble(s, s.configuration(angles))


def geared(ratio=-5.0, rotor=0.02):
    """A link that a motor turns by a gear, and the same link with the inertia of the rotor at its joint."""
    link = lb.RigidBody(2.0, (0.3, 0, 0), [0.01, 0.2, 0.2])
    a = lb.Assembly("geared", gravity=(0, -GRAVITY, 0))
    a.attach("motor", lb.RigidBody(1.0, inertia=[rotor] * 3), lb.Revolute("z"))
    a.attach("link", link, lb.Revolute("z"))
    a.gear("link", "motor", ratio=1.0 / ratio, name="gear")
    b = lb.Assembly("direct", gravity=(0, -GRAVITY, 0))
    b.attach("link", link, lb.Revolute("z", armature=rotor * ratio**2))
    return a.build(), b.build(), ratio


def carrying():
    """Two arms of three planar bars that hold a free box: six motors and three degrees of freedom."""
    a = lb.Assembly("carrying", gravity=(0, -GRAVITY, 0))
    for side, x in (("left", 0.0), ("right", 1.6)):
        parent = "world"
        for i, length in enumerate((0.7, 0.6, 0.3)):
            place = {"offset": (x, 0, 0)} if i == 0 else {"to": parent, "at": "tip"}
            parent = f"{side}{i}"
            a.attach(parent, bar(length), lb.Revolute("z"), **place)
    nodes = {"left": (-0.2, 0, 0), "right": (0.2, 0, 0)}
    a.attach("box", lb.RigidBody(3.0, inertia=[0.1, 0.1, 0.1], nodes=nodes), lb.Free())
    turned = [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]
    a.close(("left2", "tip"), ("box", "left"), lb.Fixed(), name="left grip")
    a.close(("right2", "tip"), ("box", "right"), lb.Fixed(), name="right grip", rotation=turned)
    s = a.build()
    q = s.neutral()
    angles = {
        "left0": 1.8,
        "left1": -1.2,
        "left2": -0.6,
        "right0": 1.34,
        "right1": 1.2,
        "right2": 0.6,
    }
    for body, x in angles.items():
        q[s.layout[body].q_joint] = x
    box = q[s.layout["box"].q_joint]
    box[-3:] = 0.8, 1.2, 0.0
    q[s.layout["box"].q_joint] = box
    return s, lb.assemble(s, q)


def braced_boom():
    """A boom with two bars on it that hold each other, and a configuration that closes them: only the boom turns."""
    a = lb.Assembly("frame")
    a.attach("boom", bar(2.0), lb.Revolute("z"))
    a.attach("strut", bar(1.1), lb.Revolute("z"), to="boom", offset=(1.0, 0.1, 0))
    a.attach("brace", bar(1.4), lb.Revolute("z"), to="boom")
    a.close(("strut", "tip"), ("brace", "tip"), lb.Revolute("z"), name="top")
    s = a.build()
    q = lb.assemble(s, [0.3, 1.6, 0.8], locked=["boom"])
    return s, q
