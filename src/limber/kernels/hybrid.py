"""Hybrid dynamics: accelerations of the free joints and modes, forces of the joints whose motion is prescribed.

Solves    M vdot + bias = tau, in which the driven joints have given vdot and all other freedoms given tau
Given     q, v, external wrenches, and x: tau of the free freedoms, vdot of the driven joints (`driven`)
Computes  vdot and tau, complete
Sweep     as `articulated`
Cost      as `articulated`
"""

from .articulated import forward_dynamics
from .driven import drive_force
from .layout import COLUMNS, DOFS, DRIVEN, END, NV, V_JOINT
from .scalar import kernel


@kernel
def hybrid_dynamics(topo, const, work, q, v, x, ext_count, ext_index, ext, out):
    """out = vdot, then tau."""
    forward_dynamics(topo, const, work, q, v, x, ext_count, ext_index, ext, out)
    nv = topo[NV]
    for i in range(nv):
        out[nv + i] = x[i]
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + DRIVEN] != 0:
            for r in range(topo[k + DOFS]):
                i = topo[k + V_JOINT] + r
                out[nv + i] = drive_force(topo, const, work, q, v, out, k, r)
