"""Hybrid dynamics: accelerations of the free joints and modes, forces of the joints whose motion is prescribed.

Solves    M vdot + bias = tau, in which the driven joints have given vdot and all other degrees of freedom given tau; in
          a closed system, M vdot + bias = tau + A^T lambda and A vdot + a0 = 0
Given     q, v, external wrenches, and x: tau of the free speeds, vdot of the driven joints (`driven`)
Computes  vdot and tau, complete
Sweep     as `articulated` or `closed`
Cost      as `articulated` or `closed`
"""

from . import articulated, closed
from .driven import drive_force
from .layout import COLUMNS, DOFS, DRIVEN, END, NV, V_JOINT
from .scalar import kernel


@kernel
def hybrid_dynamics(topo, const, work, q, v, x, ext_count, ext_index, ext, out):
    """out = vdot, then tau, of a tree."""
    articulated.forward_dynamics(topo, const, work, q, v, x, ext_count, ext_index, ext, out)
    append_forces(topo, const, work, q, v, x, out)


@kernel
def closed_hybrid_dynamics(topo, const, work, q, v, x, ext_count, ext_index, ext, out):
    """out = vdot, then tau, of a closed system."""
    closed.forward_dynamics(topo, const, work, q, v, x, ext_count, ext_index, ext, out)
    append_forces(topo, const, work, q, v, x, out)


@kernel
def append_forces(topo, const, work, q, v, x, out):
    """Write tau behind vdot in `out`, after a sweep."""
    nv = topo[NV]
    for i in range(nv):
        out[nv + i] = x[i]
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + DRIVEN] != 0:
            for r in range(topo[k + DOFS]):
                i = topo[k + V_JOINT] + r
                out[nv + i] = drive_force(topo, const, work, q, v, out, k, r)
