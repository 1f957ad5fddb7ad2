"""Brute-force reference for flexible multibody dynamics, independent of the engine under test.

Every mass point of every body is a rigid body of its own.  A point of a flexible body sits at
`position + translation @ eta + 1/2 eta^T second eta`, turned by `exp((rotation @ eta)~)` relative to the body frame; its
mass centre and inertia turn with it, and nothing is truncated in eta.  The world poses of all
points are functions of q, and qdot = N(q) v joint by joint.  Automatic differentiation gives the
speeds y = J(q) v and the accelerations J vdot + (d(J v)/dq) N v, where y stacks the velocities of
the mass centres (world axes) and the angular velocities of the points (their own axes).  Then

    J^T (W ydot + gyroscopic moments - weights) + [K eta + D eta_dot] = tau + external

are Kane's equations.  Only poses are composed from body to body: no velocities, forces or inertias.

Conventions: spatial vectors are [angular; linear].  q holds [eta, theta] and v [eta_dot, beta] of
every body in the order of attachment.  Quaternions are scalar first and turn outboard components
into inboard ones; the speeds of spherical and free joints are in outboard axes.  A pose (R, p)
means x_parent = R x + p.  Bodies and joints are recognized by the names of their classes.
"""

from __future__ import annotations

from math import factorial

import casadi as ca
import numpy as np
from scipy import sparse

SERIES_TERMS = 14  # of sin t / t and (1 - cos t) / t^2 in t^2: exact to rounding up to 3 rad
EYE, ZERO = ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3))


def compose(outer, inner):
    """The pose `inner`, given in the frame of `outer`, as the parent of `outer` sees it."""
    return outer[0] @ inner[0], outer[1] + outer[0] @ inner[1]


def rotation_exp(x):
    """exp(x~), smooth at x = 0."""
    s, sinc, cosc, cross = ca.dot(x, x), ca.SX(0), ca.SX(0), ca.skew(x)
    for k in reversed(range(SERIES_TERMS)):
        sinc = sinc * s + (-1) ** k / factorial(2 * k + 1)
        cosc = cosc * s + (-1) ** k / factorial(2 * k + 2)
    return EYE + sinc * cross + cosc * (cross @ cross)


def screw_exp(h, theta):
    """The pose exp(h theta) of one constant screw h = [angular; linear]."""
    rate = np.linalg.norm(h[:3])
    if rate == 0:
        return EYE, ca.DM(h[3:]) * theta
    U, angle = ca.skew(ca.DM(h[:3] / rate)), rate * theta
    s, c = ca.sin(angle), 1 - ca.cos(angle)
    left = angle * EYE + c * U + (angle - s) * (U @ U)
    return EYE + s * U + c * (U @ U), left @ ca.DM(h[3:] / rate)


def local_spin(R, R_rate):
    """Angular velocity in the frame's own axes."""
    S = R.T @ R_rate
    return ca.vertcat(S[2, 1], S[0, 2], S[1, 0])


def deformed(nodes, index, eta):
    """The pose of a node of a flexible body in the body frame."""
    p = ca.DM(nodes.position[index]) + ca.DM(nodes.translation[index]) @ eta
    if nodes.shapes.second is not None:
        p += ca.vertcat(*(eta.T @ ca.DM(B) @ eta / 2 for B in nodes.shapes.second[index]))
    return rotation_exp(ca.DM(nodes.rotation[index]) @ eta), p


def simple_joint_rate(H, theta, beta, R, p):
    """theta_dot with B(theta) theta_dot = H beta in the least-squares sense.

    The columns of B are the twists in outboard axes per unit rate of each coordinate.
    """
    B = []
    for direction in np.eye(H.shape[1]):
        rates = ca.jtimes(ca.horzcat(R, p), theta, ca.DM(direction))
        B.append(ca.vertcat(local_spin(R, rates[:, :3]), R.T @ rates[:, 3]))
    B = ca.horzcat(*B)
    return ca.solve(B.T @ B, B.T @ (ca.DM(H) @ beta))


def turn(axis):
    return np.concatenate([np.array(axis) / np.linalg.norm(axis), np.zeros(3)])


def slide(axis):
    return np.roll(turn(axis), 3)


SCREWS = {  # joints that are screws in a row, inboard to outboard, with theta_dot = beta
    "Fixed": lambda j: [],
    "Revolute": lambda j: [turn(j.axis)],
    "Prismatic": lambda j: [slide(j.axis)],
    "Screw": lambda j: [turn(j.axis) + j.pitch * slide(j.axis)],
    "Cylindrical": lambda j: [turn(j.axis), slide(j.axis)],
    "Universal": lambda j: [turn(j.axis1), turn(j.axis2)],
    "Planar": lambda j: [slide(j.first), slide(j.second), turn(j.normal)],
}


class Reference:
    """The equations of motion of an assembly without loops; numpy arrays in and out.

    M vdot + bias = tau + sum J^T wrench over `external`, a dictionary {(body, node): wrench} of
    [moment, force] at the node in world axes.  A node is a name, an index or None (body frame).
    """

    def __init__(self, assembly):
        self.gravity = np.array(assembly.gravity, dtype=float)
        self._q, self._v, self._rate = [], [], []  # symbols of q and v, and qdot, piece by piece
        self._bodies = {}  # name -> (body, eta, world pose)
        self._modal = []  # (entries in q, entries in v, K, D) of each flexible body
        self._frames = {}  # (body, node) -> functions of its pose and its speeds
        masses, rotors = [], []  # (mass, centre), (inertia about the centre, orientation)
        for name, link in assembly.attachments.items():
            self._place(name, link)
            for mass, inertia, R, centre in self._points(name):
                masses += [(mass, centre)] if mass else []
                rotors += [(inertia, R)] if np.any(inertia) else []
        self._q, self._v, self._rate = (ca.vertcat(*x) for x in (self._q, self._v, self._rate))
        self.nq, self.nv = self._q.numel(), self._v.numel()
        self._differentiate(masses, rotors)

    def _coordinates(self, nq, nv):
        self._q.append(ca.SX.sym("q", nq))
        self._v.append(ca.SX.sym("v", nv))
        return self._q[-1], self._v[-1]

    def _joint(self, joint):
        """The pose of the outboard frame in the inboard one; makes theta, beta and theta_dot."""
        kind, pose = type(joint).__name__, (EYE, ZERO)
        if kind in ("Spherical", "Free"):
            theta, beta = self._coordinates(*((7, 6) if kind == "Free" else (4, 3)))
            s, e, w = theta[0], theta[1:4], beta[:3]
            R = EYE + 2 * s * ca.skew(e) + 2 * ca.skew(e) @ ca.skew(e)
            self._rate.append(ca.vertcat(-ca.dot(e, w), s * w + ca.cross(e, w)) / 2)
            self._rate += [R @ beta[3:]] if kind == "Free" else []
            pose = R, (theta[4:] if kind == "Free" else ZERO)
        elif kind == "CompoundJoint":
            for part in joint.joints:
                pose = compose(pose, self._joint(part))
        elif kind == "SimpleJoint":
            H = np.array(joint.groups[0].H)
            theta, beta = self._coordinates(H.shape[1], H.shape[1])
            for i in reversed(range(H.shape[1])):
                pose = compose(pose, screw_exp(H[:, i], theta[i]))
            self._rate.append(simple_joint_rate(H, theta, beta, *pose))
        else:
            screws = SCREWS[kind](joint)
            theta, beta = self._coordinates(len(screws), len(screws))
            for i, h in enumerate(screws):
                pose = compose(pose, screw_exp(h, theta[i]))
            self._rate.append(beta)
        return pose

    def _place(self, name, link):
        """Make the coordinates of a body and its pose in the world."""
        body, eta, pose = link.body, ca.SX(0, 1), (EYE, ZERO)
        if type(body).__name__ == "FlexibleBody":
            starts = [sum(x.numel() for x in part) for part in (self._q, self._v)]
            in_q, in_v = (slice(start, start + body.modes) for start in starts)
            self._modal.append((in_q, in_v, np.array(body.stiffness), np.array(body.damping)))
            eta, eta_dot = self._coordinates(body.modes, body.modes)
            self._rate.append(eta_dot)
        if link.to != "world":
            pose = compose(self._bodies[link.to][2], self._node(link.to, link.at))
        pose = compose(pose, (ca.DM(np.array(link.rotation)), ca.DM(np.array(link.offset))))
        pose = compose(pose, self._joint(link.joint))
        self._bodies[name] = (body, eta, pose)
        R, p = self._node(name, link.inboard)  # the joint ends on this node: step back from it
        self._bodies[name] = (body, eta, compose(pose, (R.T, -R.T @ p)))

    def _node(self, name, node):
        """The pose of a node in its body frame."""
        body, eta, _ = self._bodies[name]
        if node is None:
            return EYE, ZERO
        rigid = type(body).__name__ == "RigidBody"
        names = list(body.nodes if rigid else body.nodes.names)
        index = names.index(node) if isinstance(node, str) else node
        return (EYE, ca.DM(body.nodes[names[index]])) if rigid else deformed(body.nodes, index, eta)

    def _points(self, name):
        """(mass, inertia about the centre, orientation, centre) of the mass points of a body."""
        body, eta, pose = self._bodies[name]
        if type(body).__name__ == "RigidBody":
            yield body.mass, np.array(body.inertia), pose[0], pose[1] + pose[0] @ ca.DM(body.com)
            return
        for i, (mass, c) in enumerate(zip(body.points.mass, body.points.com, strict=True)):
            R, p = compose(pose, deformed(body.points, i, eta))
            steiner = mass * (c @ c * np.eye(3) - np.outer(c, c))
            yield mass, body.points.inertia[i] - steiner, R, p + R @ ca.DM(c)

    def _along_motion(self, x):
        """dx/dt with v held."""
        return ca.jtimes(x, self._q, self._rate)

    def _differentiate(self, masses, rotors):
        q, v, n = self._q, self._v, len(masses)
        columns = ca.horzcat(*(p for _, p in masses), *(R for _, R in rotors))
        rates = self._along_motion(columns)
        turns = (slice(n + 3 * i, n + 3 * i + 3) for i in range(len(rotors)))
        spins = (local_spin(columns[:, i], rates[:, i]) for i in turns)
        y = ca.vertcat(ca.vec(rates[:, :n]), *spins)
        self._qdot = ca.Function("qdot", [q, v], [self._rate])
        self._poses = ca.Function("poses", [q], [columns])
        self._motion = ca.Function("motion", [q, v], [y, self._along_motion(y)])
        self._speeds = ca.Function("speeds", [q, v], [y]).map(self.nv)
        self._mass = np.array([mass for mass, _ in masses])
        blocks = [*(m * np.eye(3) for m in self._mass), *(inertia for inertia, _ in rotors)]
        self._W = sparse.block_diag(blocks).tocsr()

    def _columns(self, speeds, q):
        """The Jacobian of mapped speeds, which are linear in v: one unit vector after another."""
        return speeds(np.tile(np.reshape(q, (-1, 1)), self.nv), np.eye(self.nv)).full()

    def _frame(self, body, node):
        if (body, node) not in self._frames:
            R, p = compose(self._bodies[body][2], self._node(body, node))
            rates = self._along_motion(ca.horzcat(R, p))
            twist = ca.vertcat(R @ local_spin(R, rates[:, :3]), rates[:, 3])
            speeds = ca.Function("speeds", [self._q, self._v], [twist]).map(self.nv)
            self._frames[body, node] = ca.Function("pose", [self._q], [R, p]), speeds
        return self._frames[body, node]

    def qdot(self, q, v):
        return self._qdot(q, v).full().ravel()

    def pose(self, q, body, node=None):
        """(R, p): R turns node (or body) components into world ones, p is the origin."""
        R, p = self._frame(body, node)[0](q)
        return R.full(), p.full().ravel()

    def jacobian(self, q, body, node=None):
        """(6, nv): [angular; linear] velocity of the node (or body frame), world axes."""
        return self._columns(self._frame(body, node)[1], q)

    def mass_matrix(self, q):
        J = self._columns(self._speeds, q)
        return J.T @ (self._W @ J)

    def bias(self, q, v):
        """M vdot + bias = tau: velocity products, gravity, stiffness and damping."""
        return self.inverse_dynamics(q, v, np.zeros(self.nv))

    def inverse_dynamics(self, q, v, vdot, external=None):
        J = self._columns(self._speeds, q)
        y, y_dot = (x.full().ravel() for x in self._motion(q, v))
        n, w, h = len(self._mass), y.reshape(-1, 3), (self._W @ y).reshape(-1, 3)
        weights, gyroscopic = np.outer(self._mass, self.gravity), np.cross(w[n:], h[n:])
        force = self._W @ (J @ vdot + y_dot) + np.concatenate([-weights, gyroscopic]).ravel()
        tau = J.T @ force
        for in_q, in_v, K, D in self._modal:
            tau[in_v] += K @ q[in_q] + D @ v[in_v]
        for (body, node), wrench in (external or {}).items():
            tau -= self.jacobian(q, body, node).T @ wrench
        return tau

    def forward_dynamics(self, q, v, tau, external=None):
        rest = self.inverse_dynamics(q, v, np.zeros(self.nv), external)
        return np.linalg.solve(self.mass_matrix(q), tau - rest)

    def kinetic_energy(self, q, v):
        y = self._motion(q, v)[0].full().ravel()
        return 0.5 * y @ (self._W @ y)

    def potential_energy(self, q):
        """Elastic and gravity, the latter zero at the world origin."""
        gravity = -self.gravity @ self._poses(q).full()[:, : len(self._mass)] @ self._mass
        return gravity + sum(0.5 * q[i] @ K @ q[i] for i, _, K, _ in self._modal)

    def momentum(self, q, v):
        """[angular about the world origin; linear], world axes."""
        n, poses, y = len(self._mass), self._poses(q).full().T, self._motion(q, v)[0].full()
        h = (self._W @ y).reshape(-1, 3)
        spin = np.einsum("nji,nj->i", poses[n:].reshape(-1, 3, 3), h[n:])  # R h of each
        return np.concatenate([np.cross(poses[:n], h[:n]).sum(0) + spin, h[:n].sum(0)])
