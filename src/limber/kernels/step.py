"""One step of a fixed-step integrator.

Solves    q_dot = N(q) v, v_dot = M^{-1}(tau - bias) over dt, with tau held constant
Given     q, v, tau, dt, and the forward dynamics as a function
Computes  q, v after the step, of order 4 (the classical Runge-Kutta method)
Cost      four forward dynamics

Quaternions are integrated like other coordinates and normalized at the end of the step.  This keeps the order,
because q_dot is orthogonal to the quaternion, whatever its length.
"""

from .layout import COLUMNS, END, FREE, G_KIND, G_Q, GROUPS_END, NQ, NV, SPHERICAL
from .manifold import coordinate_rates
from .scalar import kernel
from .so3 import load_quaternion, normalized
from .vec import store3


@kernel
def normalize(topo, q):
    """Scale the quaternions in q to unit length."""
    for g in range(topo[END], topo[GROUPS_END], COLUMNS):
        if topo[g + G_KIND] == SPHERICAL or topo[g + G_KIND] == FREE:
            j = topo[g + G_Q]
            e = normalized(load_quaternion(q, j))
            q[j] = e[0]
            store3(q, j + 1, (e[1], e[2], e[3]))


@kernel
def runge_kutta(
    topo, const, work, accelerations, q, v, tau, dt, q_stage, v_stage, q_rate, v_rate, q_new, v_new
):
    """q_new, v_new after dt; the four arrays before them are scratch, sized as q, v, q, v.

    accelerations(q, v, tau, vdot) computes the forward dynamics.
    """
    nq = topo[NQ]
    nv = topo[NV]
    for i in range(nq):
        q_stage[i] = q[i]
        q_new[i] = q[i]
    for i in range(nv):
        v_stage[i] = v[i]
        v_new[i] = v[i]
    for stage in range(4):
        coordinate_rates(topo, const, work, q_stage, v_stage, q_rate)
        accelerations(q_stage, v_stage, tau, v_rate)
        weight = dt / 6.0 if stage == 0 or stage == 3 else dt / 3.0
        ahead = dt if stage == 2 else 0.5 * dt
        for i in range(nq):
            q_new[i] += weight * q_rate[i]
            q_stage[i] = q[i] + ahead * q_rate[i]
        for i in range(nv):
            v_new[i] += weight * v_rate[i]
            v_stage[i] = v[i] + ahead * v_rate[i]
    normalize(topo, q_new)
