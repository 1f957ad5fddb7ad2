"""Equal states of a URDF in Pinocchio and in Limber."""

import numpy as np
import pinocchio as pin

SWAP = [3, 4, 5, 0, 1, 2]  # Pinocchio's [linear; angular]


def state(model, urdf, system, rng):
    """A random state for both, and the matrix B with v_pinocchio = B v_limber."""
    q, v = system.neutral(), rng.normal(size=system.nv)
    q_pin = pin.neutral(model)
    B = np.zeros((model.nv, system.nv))
    for name, item in urdf.joints.items():
        place = system.layout[item.child]
        if item.kind == "fixed":
            continue
        other = model.joints[model.getJointId(name)]
        theta = rng.uniform(-1.5, 1.5, place.q_joint.stop - place.q_joint.start)
        at = slice(other.idx_v, other.idx_v + other.nv)
        if item.kind == "floating":
            theta[:4] /= np.linalg.norm(theta[:4])
            w, x, y, z = theta[:4]
            there = [*theta[4:], x, y, z, w]
            B[at, place.v_joint] = np.eye(6)[SWAP]
        elif item.kind == "planar":
            c, s = np.cos(theta[2]), np.sin(theta[2])
            there = [theta[0], theta[1], c, s]
            B[at, place.v_joint] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]  # body axes there
        elif other.nq == 2:  # continuous: cosine and sine
            there = [np.cos(theta[0]), np.sin(theta[0])]
            B[at, place.v_joint] = 1.0
        else:
            there = theta
            B[at, place.v_joint] = 1.0
        q[place.q_joint] = theta
        q_pin[other.idx_q : other.idx_q + other.nq] = there
    return q, v, q_pin, B


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()
