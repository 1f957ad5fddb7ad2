"""Rigid assemblies as Pinocchio models, with arrays in and out in Limber's layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

SUPPORTED_KINDS = (
    "Revolute",
    "Prismatic",
    "Screw",
    "Cylindrical",
    "Universal",
    "Planar",
    "Spherical",
    "Free",
    "Fixed",
    "SimpleJoint1",  # `random_systems.random_joint` names: maps of one column only
    "CompoundJoint1",
)

ALIGNED = {
    "Revolute": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    "Prismatic": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}
UNALIGNED = {
    "Revolute": pin.JointModelRevoluteUnaligned,
    "Prismatic": pin.JointModelPrismaticUnaligned,
}
SWAP = [3, 4, 5, 0, 1, 2]  # [angular; linear] <-> [linear; angular]


@dataclass
class Step:
    """One Pinocchio joint of a chain: q_pin = scale * theta[q_order], likewise for the speeds."""

    model: object
    q_order: tuple[int, ...] = (0,)
    v_order: tuple[int, ...] = (0,)
    scale: float = 1.0
    centre: np.ndarray | None = None  # a point of the axis, if it misses the origin


def one_axis(kind: str, axis, **more) -> Step:
    """A rotation about or a translation along `axis`."""
    axis = np.asarray(axis, dtype=float)
    for i, model in enumerate(ALIGNED[kind]):
        if np.array_equal(axis, np.eye(3)[i]):
            return Step(model(), **more)
    return Step(UNALIGNED[kind](axis), **more)


def screw(axis, pitch: float, **more) -> Step:
    """A rotation about `axis` with `pitch` metres per radian along it."""
    return Step(pin.JointModelHelicalUnaligned(np.asarray(axis, dtype=float), float(pitch)), **more)


def one_column(h: np.ndarray) -> Step:
    """exp(h theta) of one column h = [angular; linear], of any length."""
    w, v = h[:3], h[3:]
    rate = float(np.linalg.norm(w))
    if rate == 0.0:
        speed = float(np.linalg.norm(v))
        if speed == 0.0:
            raise ValueError("a SimpleJoint reports a zero joint map: nothing to compare with.")
        return one_axis("Prismatic", v / speed, scale=speed)
    u = w / rate
    return screw(u, u @ v / rate, scale=rate, centre=np.cross(u, v) / rate)


def steps(joint) -> Iterator[Step]:
    """The joint as Pinocchio joints, inboard to outboard."""
    kind = type(joint).__name__
    if kind in ALIGNED:
        yield one_axis(kind, joint.axis)
    elif kind == "Screw":
        yield screw(joint.axis, joint.pitch)
    elif kind == "Cylindrical":
        yield one_axis("Revolute", joint.axis)
        yield one_axis("Prismatic", joint.axis)
    elif kind == "Universal":
        yield one_axis("Revolute", joint.axis1)
        yield one_axis("Revolute", joint.axis2)
    elif kind == "Planar":
        yield one_axis("Prismatic", joint.first)
        yield one_axis("Prismatic", joint.second)
        yield one_axis("Revolute", joint.normal)
    elif kind == "Spherical":
        yield Step(pin.JointModelSpherical(), (1, 2, 3, 0), (0, 1, 2))
    elif kind == "Free":
        yield Step(pin.JointModelFreeFlyer(), (4, 5, 6, 1, 2, 3, 0), (3, 4, 5, 0, 1, 2))
    elif kind == "SimpleJoint" and joint.dofs == 1:
        yield one_column(np.asarray(joint.H(np.zeros(1)), dtype=float)[:, 0])
    elif kind == "CompoundJoint":
        for part in joint.joints:
            yield from steps(part)
    elif kind != "Fixed":
        raise ValueError(
            f"{joint!r} has no Pinocchio peer: the peers know Revolute, Prismatic, Screw, "
            "Cylindrical, Universal, Planar, Spherical, Free, Fixed, SimpleJoint of one column, "
            "and CompoundJoint of these."
        )


def shift(p, rotation=None) -> pin.SE3:
    """The placement with origin p and, if given, this rotation."""
    R = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    return pin.SE3(R, np.asarray(p, dtype=float))


def node_position(body, node) -> np.ndarray:
    """A node (name, index, or None for the body frame) of a rigid body in body axes."""
    if node is None:
        return np.zeros(3)
    key = node if isinstance(node, str) else list(body.nodes)[node]
    return np.asarray(body.nodes[key], dtype=float)


def depth_first(assembly) -> Iterator[str]:
    """The names of the bodies branch by branch: Pinocchio wants a subtree's joints in a row."""
    children = {name: [] for name in ("world", *assembly.attachments)}
    for name, attachment in assembly.attachments.items():
        children[attachment.to].append(name)
    todo = children["world"][::-1]
    while todo:
        name = todo.pop()
        yield name
        todo += children[name][::-1]


class Peer:
    """A rigid assembly in Pinocchio. Arguments and results have Limber's order and meaning."""

    def __init__(self, assembly):
        self.model = pin.Model()
        self.model.gravity.linear = np.asarray(assembly.gravity, dtype=float)
        self.bodies = {}  # name -> (body, Pinocchio joint, body frame in that joint's frame)
        self._q_index, self._q_scale, self._v_index, self._v_scale = [], [], [], []
        start = self._starts(assembly)
        for name in depth_first(assembly):
            self._attach(name, assembly.attachments[name], *start[name])
        self._q_index = np.array(self._q_index, dtype=int)
        self._v_index = np.array(self._v_index, dtype=int)
        self._q_scale = np.array(self._q_scale, dtype=float)
        self._v_scale = np.array(self._v_scale, dtype=float)
        self.data = self.model.createData()

    @staticmethod
    def _starts(assembly) -> dict[str, tuple[int, int]]:
        """Where the q and v of each body begin in Limber's layout."""
        start, nq, nv = {}, 0, 0
        for name, attachment in assembly.attachments.items():
            start[name] = nq, nv
            nq += sum(len(step.q_order) for step in steps(attachment.joint))
            nv += sum(len(step.v_order) for step in steps(attachment.joint))
        return start

    def _attach(self, name, attachment, first_q, first_v):
        body = attachment.body
        if type(body).__name__ != "RigidBody":
            raise TypeError(f"body {name!r} is a {type(body).__name__}: the peers are rigid only.")
        joint, placement = 0, pin.SE3.Identity()
        at = np.zeros(3)
        if attachment.to != "world":
            parent, joint, placement = self.bodies[attachment.to]
            at = node_position(parent, attachment.at)
        placement = placement * shift(at + np.asarray(attachment.offset), attachment.rotation)
        for i, step in enumerate(steps(attachment.joint)):
            centre = np.zeros(3) if step.centre is None else step.centre
            before, after = shift(centre), shift(-centre)
            joint = self.model.addJoint(joint, step.model, placement * before, f"{name}.{i}")
            placement = after
            self._q_index += [first_q + k for k in step.q_order]
            self._v_index += [first_v + k for k in step.v_order]
            first_q, first_v = first_q + len(step.q_order), first_v + len(step.v_order)
            self._q_scale += [step.scale] * len(step.q_order)
            self._v_scale += [step.scale] * len(step.v_order)
        placement = placement * shift(-node_position(body, attachment.inboard))
        inertia = pin.Inertia(float(body.mass), np.asarray(body.com), np.asarray(body.inertia))
        self.model.appendBodyToJoint(joint, inertia, placement)
        self.bodies[name] = (body, joint, placement)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of speeds."""
        return self.model.nv

    # between the two layouts

    def to_q(self, q) -> np.ndarray:
        """Limber's q in Pinocchio's layout."""
        return np.asarray(q, dtype=float)[self._q_index] * self._q_scale

    def to_v(self, v) -> np.ndarray:
        """Limber's v or vdot in Pinocchio's layout."""
        return np.asarray(v, dtype=float)[self._v_index] * self._v_scale

    def to_tau(self, tau) -> np.ndarray:
        """Limber's tau in Pinocchio's layout."""
        return np.asarray(tau, dtype=float)[self._v_index] / self._v_scale

    def from_q(self, q) -> np.ndarray:
        """Pinocchio's q in Limber's layout."""
        return self._back(q / self._q_scale, self._q_index)

    def from_v(self, v) -> np.ndarray:
        """Pinocchio's v or vdot in Limber's layout."""
        return self._back(v / self._v_scale, self._v_index)

    def from_tau(self, tau) -> np.ndarray:
        """Pinocchio's tau, or the rows of a matrix over the speeds, in Limber's layout."""
        return self._back(tau * self._v_scale, self._v_index)

    @staticmethod
    def _back(x, index):
        out = np.empty_like(x)
        out[..., index] = x
        return out

    # dynamics

    def mass_matrix(self, q) -> np.ndarray:
        """The mass matrix, nv x nv."""
        upper = np.triu(pin.crba(self.model, self.data, self.to_q(q)).reshape(self.nv, self.nv))
        M = upper + np.triu(upper, 1).T
        return self.from_tau(self.from_tau(M).T)

    def bias(self, q, v) -> np.ndarray:
        """M vdot + bias = tau."""
        q, v = self.to_q(q), self.to_v(v)
        return self.from_tau(pin.nonLinearEffects(self.model, self.data, q, v))

    def forward_dynamics(self, q, v, tau, external=None) -> np.ndarray:
        """vdot, by the articulated-body algorithm."""
        q, v, tau, forces = self.to_q(q), self.to_v(v), self.to_tau(tau), self._forces(q, external)
        return self.from_v(pin.aba(self.model, self.data, q, v, tau, forces))

    def inverse_dynamics(self, q, v, vdot, external=None) -> np.ndarray:
        """tau, by the recursive Newton-Euler algorithm."""
        q, v, vdot, forces = self.to_q(q), self.to_v(v), self.to_v(vdot), self._forces(q, external)
        return self.from_tau(pin.rnea(self.model, self.data, q, v, vdot, forces))

    def _forces(self, q, external):
        """The wrenches {(body, node): [moment, force]} at the Pinocchio joints, in their frames."""
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        for (body, node), wrench in (external or {}).items():
            p = self.pose(q, body, node)[1]
            joint = self.bodies[body][1]
            at_origin = shift(p).act(pin.Force(np.asarray(wrench, dtype=float)[SWAP]))
            forces[joint] += self.data.oMi[joint].actInv(at_origin)
        return forces

    # kinematics, energy, momentum

    def pose(self, q, body, node=None) -> tuple[np.ndarray, np.ndarray]:
        """(R, p) of a node, or of the body frame, in the world."""
        pin.forwardKinematics(self.model, self.data, self.to_q(q))
        rigid, joint, placement = self.bodies[body]
        frame = self.data.oMi[joint] * placement
        return frame.rotation.copy(), frame.act(node_position(rigid, node))

    def jacobian(self, q, body, node=None) -> np.ndarray:
        """[angular; linear] velocity of the node per unit speed, world axes, 6 x nv."""
        J = np.zeros((6, self.nv))
        _, p = self.pose(q, body, node)
        joint = self.bodies[body][1]
        if joint:
            pin.computeJointJacobians(self.model, self.data, self.to_q(q))
            J = pin.getJointJacobian(self.model, self.data, joint, pin.ReferenceFrame.WORLD)
            J = J.reshape(6, self.nv)  # a single column comes as a vector
        return self.from_tau((shift(-p).toActionMatrix() @ J)[SWAP])

    def kinetic_energy(self, q, v) -> float:
        """Kinetic energy."""
        return pin.computeKineticEnergy(self.model, self.data, self.to_q(q), self.to_v(v))

    def potential_energy(self, q) -> float:
        """-sum m g . com, bodies welded to the world included."""
        energy = 0.0
        for name, (body, _, _) in self.bodies.items():
            R, p = self.pose(q, name)
            energy -= body.mass * self.model.gravity.linear @ (p + R @ body.com)
        return float(energy)

    def momentum(self, q, v) -> np.ndarray:
        """[angular; linear] momentum about the world origin, world axes."""
        pin.forwardKinematics(self.model, self.data, self.to_q(q), self.to_v(v))
        total = pin.Force.Zero()
        for i in range(1, self.model.njoints):
            total += self.data.oMi[i].act(self.model.inertias[i] * self.data.v[i])
        return total.vector[SWAP]


def to_pinocchio(assembly) -> Peer:
    """The Pinocchio model of a rigid assembly (a tree of `RigidBody`s without loops)."""
    if getattr(assembly, "closures", None):
        raise ValueError("the assembly has loops: the peers are trees only.")
    return Peer(assembly)
