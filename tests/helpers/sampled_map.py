"""The motion of a loop from sample to sample, as a matrix."""

import numpy as np

import limber as lb
from limber.control.channels import speed_names


def sampled_map(s, q, controller, T, h=1e-6):
    """The map of independent coordinates and speeds from one sample to the next, T later, by differences of
    `lb.simulate`; for controllers without memory."""
    model = lb.linearize(s, q)
    n, names = model.order, speed_names(s)
    v = np.array([names.index(x) for x in model.states[: n // 2]])
    place = {}
    for where in s.layout.values():
        place |= zip(range(s.nv)[where.v_modes], range(s.nq)[where.q_modes])
        if where.v_joint.stop - where.v_joint.start == where.q_joint.stop - where.q_joint.start:
            place |= zip(range(s.nv)[where.v_joint], range(s.nq)[where.q_joint])
    at = [place[i] for i in v.tolist()]
    columns = []
    for direction in model.T.T:
        ends = []
        for step in (h, -h):
            moved = step * direction
            q0, v0 = lb.project(s, lb.integrate(s, q, moved[: s.nv], 1.0), moved[s.nv :])
            r = lb.simulate(s, T, q0=q0, v0=v0, torque=controller, t_eval=[0.0, T], rtol=1e-12, atol=1e-14)  # fmt: skip
            ends.append(np.append(r.q[-1, at], r.v[-1, v]))
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    return np.array(columns).T
