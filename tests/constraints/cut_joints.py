"""Kinematics of cut joints, from their constant maps alone.

A joint is a row of groups, inboard to outboard.  A group of screws h_1 ... h_r has the pose
exp(h_r theta_r) ... exp(h_1 theta_1); a spherical group has a rotation.  Twists are [angular; linear] in outboard axes
at the outboard origin.  Nothing here calls the kernels of the engine.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from limber.kernels import layout

CONVERGED = 1e-13  # of a step of the joint coordinates
STEPS = 60
RESTARTS = 40
FAR = 0.2  # a twist between pose and image that may come from a false minimum


def tilde(x) -> np.ndarray:
    """The cross-product matrix x~."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def compose(outer, inner):
    """The pose `inner`, given in the frame of `outer`, as the parent of `outer` sees it."""
    return outer[0] @ inner[0], outer[1] + outer[0] @ inner[1]


def inverse(pose):
    """The parent's frame as this frame sees it."""
    return pose[0].T, -pose[0].T @ pose[1]


def left_jacobian(x) -> np.ndarray:
    """The left Jacobian of SO(3) at the rotation vector x."""
    t, X = np.linalg.norm(x), tilde(x)
    if t < 0.5:  # the series, to rounding
        b, c, s = 0.0, 0.0, t * t
        for k in reversed(range(9)):
            b = (1.0 - b * s) / ((2 * k + 1) * (2 * k + 2))
            c = (1.0 - c * s) / ((2 * k + 2) * (2 * k + 3))
        return np.eye(3) + b * X + c * (X @ X)
    return np.eye(3) + (1.0 - np.cos(t)) / t**2 * X + (t - np.sin(t)) / t**3 * (X @ X)


def exp(twist):
    """The pose that a constant twist of own axes reaches in unit time."""
    x = np.asarray(twist, dtype=float)
    left = left_jacobian(x[:3])
    return np.eye(3) + tilde(x[:3]) @ left, left @ x[3:]


def rotation_vector(R) -> np.ndarray:
    """x with exp(x~) = R and an angle of at most pi."""
    x = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0
    sine, cosine = np.linalg.norm(x), (np.trace(R) - 1.0) / 2.0
    if cosine < -0.9:  # the axis is lost in rounding
        return Rotation.from_matrix(R).as_rotvec()
    return x if sine < 1e-9 else x * (np.arctan2(sine, cosine) / sine)


def log(pose) -> np.ndarray:
    """The twist whose `exp` is the pose, with an angle of at most pi."""
    x = rotation_vector(pose[0])
    return np.concatenate([x, np.linalg.solve(left_jacobian(x), pose[1])])


def carried(pose, twists) -> np.ndarray:
    """Twists (6, n) of a frame, as those of a second one fixed in it at `pose`, in axes of the second."""
    R, p = pose
    w, u = twists[:3], twists[3:]
    return np.concatenate([R.T @ w, R.T @ (u - tilde(p) @ w)])


def bracket(x, y) -> np.ndarray:
    """The Lie bracket of twists."""
    turn = tilde(x[:3])
    return np.concatenate([turn @ y[:3], turn @ y[3:] + tilde(x[3:]) @ y[:3]])


def parts(joint, theta):
    """(group, its coordinates) of every group."""
    at = 0
    for group in joint.groups:
        yield group, theta[at : at + group.nq]
        at += group.nq


def group_pose(group, theta):
    """The pose of the outboard frame of one group."""
    if group.kind != layout.SCREWS:
        return Rotation.from_quat(theta, scalar_first=True).as_matrix(), np.zeros(3)
    pose = np.eye(3), np.zeros(3)
    for h, angle in zip(group.H.T, theta):
        pose = compose(exp(h * angle), pose)
    return pose


def joint_pose(joint, theta):
    """The pose of the outboard frame in the inboard one."""
    pose = np.eye(3), np.zeros(3)
    for group, x in parts(joint, theta):
        pose = compose(pose, group_pose(group, x))
    return pose


def joint_map(joint, theta) -> np.ndarray:
    """H(theta), 6 x r: the relative twist per unit speed."""
    H = np.zeros((6, 0))
    for group, x in parts(joint, theta):
        H = np.hstack([carried(group_pose(group, x), H), group.H])
    return H


def own_acceleration(joint, theta, beta) -> np.ndarray:
    """(d/dt H) beta, the joint's own Coriolis term.

    With V the twist of the frame inboard of a group, carried outboard, it gains -[H beta, V] from the group's motion.
    """
    V, a, done = np.zeros(6), np.zeros(6), 0
    for group, x in parts(joint, theta):
        pose, own = group_pose(group, x), group.H @ beta[done : done + group.dofs]
        V = carried(pose, V)
        a = carried(pose, a) - bracket(own, V)
        V, done = V + own, done + group.dofs
    return a


def moved(joint, theta, beta) -> np.ndarray:
    """Coordinates after a step with the speeds beta, exact to first order."""
    found, done = [], 0
    for group, x in parts(joint, theta):
        speed = beta[done : done + group.dofs]
        done += group.dofs
        if group.kind != layout.SCREWS:
            turned = Rotation.from_quat(x, scalar_first=True) * Rotation.from_rotvec(speed)
            found.append(turned.as_quat(scalar_first=True))
            continue
        # twists of the outboard frame per unit rate of each coordinate; the first screw is the outermost
        B, rest = [], (np.eye(3), np.zeros(3))
        for h, angle in zip(group.H.T, x):
            B.append(carried(rest, h))
            rest = compose(exp(h * angle), rest)
        found.append(x + np.linalg.lstsq(np.array(B).T, group.H @ speed, rcond=None)[0])
    return np.concatenate([np.empty(0), *found])


def image_error(joint, theta, pose) -> np.ndarray:
    """The twist from the joint's image of theta to the pose."""
    return log(compose(inverse(joint_pose(joint, theta)), pose))


def fitted(joint, pose, start):
    """Coordinates whose image is nearest to the pose (by Newton's method), and the twist that is left."""
    theta = np.array(start, dtype=float)
    for _ in range(STEPS):
        error = image_error(joint, theta, pose)
        H = joint_map(joint, theta)
        step = np.linalg.lstsq(H, error, rcond=None)[0]
        size = np.linalg.norm(step)
        theta = moved(joint, theta, step * min(1.0, 0.5 / max(size, 1e-300)))
        if size < CONVERGED:
            break
    return theta, image_error(joint, theta, pose)


def coordinates(joint, pose, start=None) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the joint that give this relative pose, and the twist from their image to the pose.

    Without `start` the search begins where the two frames coincide, and elsewhere if that ends far from the pose.
    """
    if not joint.groups:
        return np.empty(0), log(pose)
    start = joint.neutral() if start is None else start
    best = fitted(joint, pose, start)
    rng = np.random.default_rng(0)
    for _ in range(RESTARTS):
        if np.linalg.norm(best[1]) < FAR:
            break
        tried = fitted(joint, pose, moved(joint, start, rng.normal(size=joint.dofs)))
        if np.linalg.norm(tried[1]) < 0.9 * np.linalg.norm(best[1]):
            best = tried
    return best


def complement(H) -> np.ndarray:
    """N (6 x (6 - r)), orthonormal, with N^T H = 0."""
    if not H.shape[1]:
        return np.eye(6)
    U, size, _ = np.linalg.svd(H)
    if size[-1] < 1e-9 * size[0]:
        raise ValueError("the cut joint is singular here: its columns depend on each other.")
    return U[:, H.shape[1] :]
