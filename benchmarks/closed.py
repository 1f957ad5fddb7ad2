"""Forward dynamics of closed systems: chains, scissor booms and arms beside Pinocchio and a dense solution.

`python benchmarks/closed.py` measures and prints these rows alone; `run.py` has them in its table.  Limber and Pinocchio
are given the same bodies and the same points, or frames, that closures hold together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from measure import RESULTS, best, record

import limber as lb
from limber.dynamics.rows import closure_jacobian
from limber.structures.threads import one_thread

#: Largest difference of accelerations from those of `constraintDynamics`, relative to the largest one.
EQUAL = 1e-6


@dataclass
class Twin:
    """An assembly of rigid bodies and the same model for Pinocchio."""

    assembly: lb.Assembly
    model: pin.Model = field(default_factory=pin.Model)
    joints: dict[str, int] = field(default_factory=lambda: {"world": 0})
    contacts: list = field(default_factory=list)

    def __post_init__(self):
        self.model.gravity.linear = self.assembly.gravity

    def attach(self, name, body, joint, to="world", offset=(0, 0, 0), rotation=None):
        R, p = np.eye(3) if rotation is None else rotation, np.array(offset, dtype=float)
        kinds = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}
        ours = lb.Free() if joint == "free" else lb.Revolute(joint)
        theirs = pin.JointModelFreeFlyer() if joint == "free" else kinds[joint]()
        self.assembly.attach(name, body, ours, to, offset=p, rotation=R)
        self.joints[name] = self.model.addJoint(self.joints[to], theirs, pin.SE3(R, p), name)
        inertia = pin.Inertia(body.mass, body.com, body.inertia)
        self.model.appendBodyToJoint(self.joints[name], inertia, pin.SE3.Identity())

    def close(self, a, at_a, b, at_b, turn_b=None):
        """Hold a point of a at a point of b by a ball; the frames if `turn_b`, the rotation of that of b, is given."""
        turn = np.eye(3) if turn_b is None else turn_b
        joint = lb.Spherical() if turn_b is None else lb.Fixed()
        end_a, shift = (("world", at_a), np.zeros(3)) if a == "world" else ((a, None), at_a)
        self.assembly.close(
            end_a, (b, None), joint, offset=shift, offset_b=at_b, rotation_b=turn
        )  # fmt: skip
        kind = pin.ContactType.CONTACT_3D if turn_b is None else pin.ContactType.CONTACT_6D
        places = pin.SE3(np.eye(3), np.array(at_a)), pin.SE3(turn, np.array(at_b))
        ends = self.joints[a], places[0], self.joints[b], places[1]
        ends = ends[2:] + ends[:2]  # lcaba wants the world last
        self.contacts.append(pin.RigidConstraintModel(kind, self.model, *ends))

    def pinocchio(self, q, v, tau, redundant=False):
        """Functions without arguments: `constraintDynamics` and, where there is one, `lcaba`.

        redundant : closure rows depend on each other, so that `constraintDynamics` needs a proximal term as well.
        """
        direct = (
            pin.ProximalSettings(1e-10, 1e-8, 20)
            if redundant
            else pin.ProximalSettings(1e-12, 0.0, 1)
        )
        data, *closed = self._started()
        pin.initConstraintDynamics(self.model, data, *closed)
        given = self.model, data, q, v, tau, *closed, direct
        functions = {"constraintDynamics": lambda: pin.constraintDynamics(*given)}
        if hasattr(pin, "lcaba"):
            other, *closed = self._started()
            pin.computeJointMinimalOrdering(self.model, other, closed[0])
            again = self.model, other, q, v, tau, *closed, pin.ProximalSettings(1e-10, 1e-6, 20)
            functions["lcaba"] = lambda: pin.lcaba(*again)
        return functions

    def _started(self):
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for contact in self.contacts:
            models.append(contact)
            datas.append(contact.createData())
        return self.model.createData(), models, datas


def rod(length=1.0, mass=1.0):
    across = mass * length**2 / 12.0
    return lb.RigidBody(
        mass, (length / 2.0, 0, 0), np.diag([0.01 * across, across, across]),
        nodes={"tip": (length, 0, 0)},
    )  # fmt: skip


# --- systems --------------------------------------------------------------------------------------


def chain(n):
    """A chain of n revolute joints in an arc, pinned to the world at both ends: (twin, q)."""
    twin = Twin(lb.Assembly("chain", gravity=(0, -9.81, 0)))
    for i in range(n):
        on = {"to": f"link{i - 1}", "offset": (1, 0, 0)} if i else {}
        twin.attach(f"link{i}", rod(), "zy"[i % 2], **on)
    q = np.where(np.arange(n) % 2 == 0, 2.0 * np.pi / n, 0.1 / n)
    tree = twin.assembly.build()
    last = f"link{n - 1}"
    twin.close("world", lb.pose(tree, q, last, "tip")[1], last, (1.0, 0.0, 0.0))
    return twin, q


def scissor_boom(cells, angle=0.6):
    """Crossed bars on each other, each cell a loop: (twin, q).  The loops are held by balls, one row of each redundant."""
    twin = Twin(lb.Assembly("scissor boom", gravity=(0, -9.81, 0)))
    q = []
    crossed = lb.RigidBody(0.5, inertia=(1e-3, 0.04, 0.04))
    for i in range(cells):
        on = {"to": f"B{i - 1}", "offset": (0.5, 0, 0)} if i else {}
        twin.attach(f"A{i}", rod(1.0, 0.5), "z", **on)
        twin.attach(f"B{i}", crossed, "z", f"A{i}", (0.5, 0, 0))
        q += [angle if i == 0 else 2.0 * angle - np.pi, np.pi - 2.0 * angle]
        if i:
            twin.close(f"A{i - 1}", (1.0, 0, 0), f"B{i}", (-0.5, 0, 0))
    return twin, np.array(q)


def arms_on_object(arms, links=6):
    """Arms around a free object that all of them hold rigidly: (twin, q)."""
    twin = Twin(lb.Assembly("arms", gravity=(0, 0, -9.81)))
    twin.attach("object", lb.RigidBody(5.0, inertia=(0.3, 0.4, 0.5)), "free")
    bends = [0.2, -0.9, 0.63, -0.44, 0.31, -0.22]
    for k in range(arms):
        c, s = np.cos(2.0 * np.pi * k / arms), np.sin(2.0 * np.pi * k / arms)
        facing = np.array([[-c, s, 0], [-s, -c, 0], [0, 0, 1.0]])
        on = {"offset": (1.5 * c, 1.5 * s, 0), "rotation": facing}
        for i in range(links):
            twin.attach(f"arm{k}.{i}", rod(0.6), "zyyxyx"[i], **on)
            on = {"to": f"arm{k}.{i}", "offset": (0.6, 0, 0)}
    tree = twin.assembly.build()
    q = tree.neutral()
    q[tree.layout["object"].q_joint][4:] = 0.0, 0.0, 0.4
    for k in range(arms):
        for i in range(links):
            q[tree.layout[f"arm{k}.{i}"].q_joint] = bends[i]
    for k in range(arms):
        hand = f"arm{k}.{links - 1}"
        R, p = lb.pose(tree, q, hand, "tip")
        twin.close(hand, (0.6, 0, 0), "object", p - (0.0, 0.0, 0.4), R)
    return twin, q


def their_order(s, x, is_q):
    """q or v as Pinocchio has it: a free object has its position first, and x, y, z, w of its quaternion."""
    y = x.copy()
    if "object" in s.layout:
        if is_q:
            y[:7] = x[[4, 5, 6, 1, 2, 3, 0]]
        else:
            y[:6] = x[[3, 4, 5, 0, 1, 2]]
    return y


# --- what is measured -----------------------------------------------------------------------------


def state(s, q):
    """v that the closures allow, and tau."""
    rng = np.random.default_rng(s.nv)
    _, v = lb.project(s, q, 0.1 * rng.standard_normal(s.nv))
    return v, rng.standard_normal(s.nv)


def dense(s, q, v, tau):
    """A function that solves the block system densely, by NumPy; the rows of the closures and their bias are ready."""
    tree = s.closed_by(())
    A = closure_jacobian(s, q)
    a0 = -A @ lb.forward_dynamics(s, q, v, tau)
    n, m = s.nv, len(A)
    K, right = np.zeros((n + m, n + m)), np.zeros(n + m)
    K[n:, :n], K[:n, n:], right[n:] = A, A.T, -a0

    def solve():
        K[:n, :n] = lb.mass_matrix(tree, q)
        right[:n] = tau - lb.bias(tree, q, v)
        return np.linalg.solve(K, right)[:n]

    return solve


def compare(group, what, twin, q, redundant=False, solve_densely=False):
    """Record the times of one system, ours and theirs; returns that of limber and, if asked for, that of `dense`."""
    s = twin.assembly.build()
    v, tau = state(s, q)
    given = [their_order(s, x, x is q) for x in (q, v, tau)]
    theirs = twin.pinocchio(*given, redundant)
    ours = lb.forward_dynamics(s, q, v, tau)
    functions = [lambda: lb.forward_dynamics(s, q, v, tau), *theirs.values()]
    for name, function in theirs.items():
        error = np.abs(function() - their_order(s, ours, False)).max() / np.abs(ours).max()
        if name == "lcaba":  # its proximal iterations lose digits on long chains
            record(group, f"{what}: error of lcaba", error, "")
        else:
            assert error < EQUAL, f"{what}: {name} differs by {error}"
    if solve_densely:
        functions.append(dense(s, q, v, tau))
        assert np.allclose(functions[-1](), ours, rtol=1e-7, atol=1e-7 * np.abs(ours).max())
    with one_thread():  # of NumPy's solver, which waits for others on a busy machine
        times = best(*functions)
    record(group, f"{what}: limber", 1e6 * times[0], "us")
    for name, time in zip(theirs, times[1:]):
        ratio = times[0] / time
        target = ("<= 1", ratio <= 1.0) if s.nv < 20 else ("< 1", ratio < 1.0)
        record(group, f"{what}: over {name}", ratio, "", *target)
    if solve_densely:
        record(group, f"{what}: over a dense solution", times[0] / times[-1], "")
    return times[0], times[-1] if solve_densely else None


def linear(group, what, per, small, large, limit=1.3):
    """Record how much more a unit costs in a large system than in a small one."""
    ratio = per[large] / per[small]
    record(group, f"per {what}, {large:,} over {small:,}", ratio, "", f"<= {limit}", ratio <= limit)


def chains():
    group = "chain pinned at both ends (Spherical), rigid, one call"
    per_link, crossover = {}, None
    for n in (7, 10, 20, 50, 200, 500):
        ours, densely = compare(group, f"{n} links", *chain(n), solve_densely=True)
        per_link[n] = ours / n
        crossover = n if crossover is None and ours < densely else crossover
    for n in (1000, 2000):
        twin, q = chain(n)
        s = twin.assembly.build()
        v, tau = state(s, q)
        (time,) = best(lambda s=s, q=q, v=v, tau=tau: lb.forward_dynamics(s, q, v, tau))
        per_link[n] = time / n
    for n, time in per_link.items():
        record(group, f"{n} links: per link", 1e9 * time, "ns")
    linear(group, "link", per_link, 50, 2000)
    record(group, "faster than the dense solution from", crossover, "links")


def booms():
    group = "scissor boom, a loop a cell, rigid, one call"
    per_cell = {}
    for n in (5, 20, 50, 100, 200):
        ours, _ = compare(group, f"{n} cells", *scissor_boom(n), redundant=True)
        per_cell[n] = ours / n
    for n, time in per_cell.items():
        record(group, f"{n} cells: per cell", 1e9 * time, "ns")
    linear(group, "cell", per_cell, 20, 200)


def arms():
    group = "arms of 6 joints that hold one object (Fixed), rigid, one call"
    per_arm, crossover = {}, None
    for n in (1, 2, 4, 8, 16, 32):
        solve = n <= 16
        ours, densely = compare(group, f"{n} arms", *arms_on_object(n), solve_densely=solve)
        per_arm[n] = ours / n
        crossover = n if crossover is None and solve and ours < densely else crossover
    for n, time in per_arm.items():
        record(group, f"{n} arms: per arm", 1e6 * time, "us")
    linear(group, "arm", per_arm, 4, 32)
    record(group, "faster than the dense solution from", crossover, "arms")


def two_arms_and_two_panels():
    """Two arms of seven flexible links, and two panels that both can hold."""
    a = lb.Assembly("two objects")
    for name in ("panel", "other panel"):
        panel = lb.beam(3.0, 6.0, EI=(80.0, 800.0), modes=4, polar_inertia=0.5)
        a.attach(name, panel, lb.Free())
    for arm in ("left", "right"):
        for i in range(7):
            link = lb.beam(1.0, 2.0, EI=400.0, modes=4, polar_inertia=0.01)
            on = {"to": f"{arm}{i - 1}", "at": "tip"} if i else {}
            a.attach(f"{arm}{i}", link, lb.Revolute("zyyxyxz"[i]), **on)
    for name in ("panel", "other panel"):
        for arm, node in (("left", "root"), ("right", "tip")):
            a.close((f"{arm}6", "tip"), (name, node), lb.Fixed(), f"{arm} on {name}")
    return a


def exchange():
    group = "exchange of the panel that two flexible arms of 7 joints hold"
    a = two_arms_and_two_panels()
    s = a.build()
    held = [c for c in s.closures.values() if c.name.endswith("on other panel")]
    exchanged, built, anew = best(
        lambda: s.closed_by(held), a.build, lambda: two_arms_and_two_panels().build(), seconds=0.02
    )
    record(group, "exchange", 1e3 * exchanged, "ms")
    record(group, "over building the system from its bodies", exchanged / built, "")
    ratio = exchanged / anew
    record(group, "over making all anew", ratio, "", "< 0.01", ratio < 0.01)


def pinned_canadarm():
    group = "generated C, flexible Canadarm (12 modes), its hand pinned to the world (Spherical)"
    a = lb.models.canadarm()
    tree = a.build()
    rng = np.random.default_rng(0)
    q = 0.05 * rng.standard_normal(tree.nv)
    hand = list(tree.bodies)[-1]
    a.close(("world", lb.pose(tree, q, hand, "tip")[1]), (hand, "tip"), lb.Spherical())
    s = a.build()
    states = 10_000
    Q, V, T = q + 1e-3 * rng.standard_normal((3, states, s.nv))
    out = np.empty_like(Q)
    one = lb.compile(s, "forward_dynamics", threads=1)
    wide = lb.compile(s, "forward_dynamics", lanes=8, threads=1)
    assert np.allclose(one(Q[0], V[0], T[0]), lb.forward_dynamics(s, Q[0], V[0], T[0]), rtol=1e-8)
    scalar, simd = best(lambda: one(Q, V, T, out=out), lambda: wide(Q, V, T, out=out), seconds=0.02)
    ns = 1e9 * scalar / states
    record(group, "per evaluation inside C", ns, "ns", "< 2000", ns < 2000)
    record(group, "the same, 8 lanes", 1e9 * simd / states, "ns")
    count = lb.operation_count(s, "forward_dynamics")
    record(group, "multiplications", count.mul, "")
    record(group, "additions", count.add, "")


def hidden_coordinates():
    group = "slider-crank, cut joint with coordinates of its own, one call"
    joints = {
        "slider and hinge": lb.CompoundJoint([lb.Prismatic("x"), lb.Revolute("z")]),
        "slider and ball": lb.CompoundJoint([lb.Prismatic("x"), lb.Spherical()]),
    }
    for name, joint in joints.items():
        a = lb.Assembly("slider-crank", gravity=(0, -9.81, 0))
        a.attach("crank", rod(0.5), lb.Revolute("z"))
        a.attach("rod", rod(1.2), lb.Revolute("z"), to="crank", offset=(0.5, 0, 0))
        a.close(("world", (1.7, 0, 0)), ("rod", None), joint, offset_b=(1.2, 0, 0))
        s = a.build()
        q = lb.assemble(s, [0.3, -0.2])
        v, tau = np.zeros(s.nv), np.zeros(s.nv)
        (time,) = best(lambda s=s, q=q, v=v, tau=tau: lb.forward_dynamics(s, q, v, tau))
        record(group, name, 1e6 * time, "us")


def measure():
    """All rows of this file."""
    chains()
    booms()
    arms()
    hidden_coordinates()
    exchange()
    pinned_canadarm()


if __name__ == "__main__":
    measure()
    for r in RESULTS:
        mark = {None: "", True: "met", False: "MISSED"}[r["ok"]]
        print(f"{r['group']:60.60} {r['what']:45} {r['value']:10.4g} {r['unit']:6} {mark}")
