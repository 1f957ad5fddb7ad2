"""Equal states of an MJCF in MuJoCo and in Limber.  MuJoCo orders bodies and joints as the file does, and as Limber."""

import numpy as np

import limber as lb
from limber.io.rotations import quaternion_matrix


def product(a, b):
    """The product of two quaternions, scalar first."""
    w, x = a[0], a[1:]
    return np.concatenate([[w * b[0] - x @ b[1:]], w * b[1:] + b[0] * x + np.cross(x, b[1:])])


def state(mujoco, model, system, rng):
    """q, v of Limber; qpos of MuJoCo, B and B_dot v with qvel = B v."""
    q, v = system.neutral(), rng.normal(size=system.nv)
    qpos, B, Bdot_v = np.array(model.qpos0), np.zeros((model.nv, system.nv)), np.zeros(model.nv)
    at_q = at_v = 0  # of Limber, whose layout is that of MuJoCo for everything but free joints
    for joint in range(model.njnt):
        kind, there = model.jnt_type[joint], model.jnt_qposadr[joint]
        where = model.jnt_dofadr[joint]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            turn, move = rng.normal(size=4), rng.normal(size=3)
            turn /= np.linalg.norm(turn)
            start = np.array(model.qpos0[there : there + 7])
            R0 = quaternion_matrix(start[3:])
            q[at_q : at_q + 7] = [*turn, *move]
            qpos[there : there + 7] = [*(start[:3] + R0 @ move), *product(start[3:], turn)]
            R = R0 @ quaternion_matrix(turn)
            B[where : where + 3, at_v + 3 : at_v + 6] = R
            B[where + 3 : where + 6, at_v : at_v + 3] = np.eye(3)
            w, u = v[at_v : at_v + 3], v[at_v + 3 : at_v + 6]
            Bdot_v[where : where + 3] = R @ np.cross(w, u)
            at_q, at_v = at_q + 7, at_v + 6
        elif kind == mujoco.mjtJoint.mjJNT_BALL:
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            q[at_q : at_q + 4] = qpos[there : there + 4] = turn
            B[where : where + 3, at_v : at_v + 3] = np.eye(3)
            at_q, at_v = at_q + 4, at_v + 3
        else:
            q[at_q] = rng.uniform(-1.5, 1.5)
            qpos[there] += q[at_q]
            B[where, at_v] = 1.0
            at_q, at_v = at_q + 1, at_v + 1
    assert (at_q, at_v) == (system.nq, system.nv)
    return q, v, qpos, B, Bdot_v


def assert_equal_dynamics(mujoco, path, system, rng, tolerance, states=5):
    """Mass matrix, forces of all kinds but friction and stops, and poses, at random states."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    assert model.nv == system.nv
    for _ in range(states):
        q, v, qpos, B, Bdot_v = state(mujoco, model, system, rng)
        data.qpos[:], data.qvel[:] = qpos, B @ v
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        M, column = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        for i, unit in enumerate(np.eye(model.nv)):
            mujoco.mj_mulM(model, data, column, unit)
            M[:, i] = column
        ours = lb.mass_matrix(system, q)
        assert np.abs(ours - B.T @ M @ B).max() < tolerance * np.abs(M).max()
        h = B.T @ (M @ Bdot_v + data.qfrc_bias - data.qfrc_passive)
        assert np.abs(lb.bias(system, q, v) - h).max() < tolerance * np.abs(h).max()
        vdot = rng.normal(size=system.nv)
        tau = B.T @ M @ B @ vdot + h
        assert (
            np.abs(lb.inverse_dynamics(system, q, v, vdot) - tau).max() < tolerance * abs(tau).max()
        )
        found = lb.forward_dynamics(system, q, v, tau)
        assert np.abs(found - vdot).max() < 1e3 * tolerance * np.abs(vdot).max()
        for k, name in enumerate(system.bodies, start=1):
            R, p = lb.pose(system, q, name)
            assert np.abs(R - data.xmat[k].reshape(3, 3)).max() < tolerance
            assert np.abs(p - data.xpos[k]).max() < tolerance * max(1.0, np.abs(p).max())
