"""States that the symbolic equations and the numeric engine share."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import limber as lb
from limber.kernels import layout as L


def euler_state(rng, system):
    """(angles, q, v): coordinates of the symbolic equations, the same ones with quaternions, speeds."""
    angles = np.empty(system.nv)
    q = np.array(system.neutral(), dtype=float)
    for name, where in system.layout.items():
        m = where.q_modes.stop - where.q_modes.start
        at = where.v_modes.start
        steepest = np.abs(system.bodies[name].node_set.rotation).max(initial=1.0)
        angles[at : at + m] = q[where.q_modes] = rng.uniform(-0.3, 0.3, m) / max(m, 1) / steepest
        at, to = where.v_joint.start, where.q_joint.start
        for group in system.joints[name].groups:
            part = rng.uniform(-1.0, 1.0, group.dofs)
            angles[at : at + group.dofs] = part
            q[to : to + group.nq] = quaternions(group, part)
            at, to = at + group.dofs, to + group.nq
    return angles, q, rng.normal(size=system.nv)


def quaternions(group, theta):
    """Euler-angle coordinates of one group as the numeric engine has them."""
    if group.kind == L.SCREWS:
        return theta
    R, p = lb.SimpleJoint(group.H).configuration(theta)
    quaternion = Rotation.from_matrix(R).as_quat(scalar_first=True)
    return quaternion if group.kind == L.SPHERICAL else np.concatenate([quaternion, p])


def euler_rates(system, v, angles):
    """qdot of the symbolic coordinates, by Gamma of the numeric joints in Euler angles."""
    rates = np.array(v, dtype=float)
    for name, where in system.layout.items():
        at = where.v_joint.start
        for group in system.joints[name].groups:
            part = slice(at, at + group.dofs)
            if group.dofs > 1:
                rates[part] = lb.SimpleJoint(group.H).Gamma(angles[part]) @ v[part]
            at += group.dofs
    return rates
