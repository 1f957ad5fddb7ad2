"""Generalized forces of wrenches at nodes.

Solves    tau = sum_e J_e^T w_e                     (ruthless: J of the undeformed geometry)
Given     q, wrenches [moment, force] in world axes at nodes
Computes  tau
Sweep     base to tip (places in the world), tip to base (forces)
Cost      about 110 multiplications for a rigid body on a one-axis joint, 12 m more for m modes
"""

from .forces import apply_external, force_to_parent
from .layout import COLUMNS, END, MODAL, MODES, NV, PARENT, ROT, W_ZF, WORK, Z
from .motion import start_world, world_place
from .newton_euler import project_force
from .placement import place
from .scalar import kernel
from .vec import load9, mul, zero


@kernel
def collect(topo, work, tau):
    """tau of the forces on all bodies, of which Z and ZF have the opposite; sweeps from tip to base."""
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        n, f = project_force(topo, work, k, tau)
        if topo[k + PARENT] != 0:
            R = load9(work, topo[k + WORK] + ROT)
            force_to_parent(topo, work, k, topo[topo[k + PARENT] + MODES], mul(R, n), mul(R, f))
    # the sweep gives the forces that balance the others
    for i in range(topo[NV]):
        tau[i] = -tau[i]


@kernel
def wrench_forces(topo, const, work, q, count, index, wrenches, tau):
    """tau of wrenches; row e of `index` is (body, node record)."""
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        world_place(topo, work, k)
        zero(work, topo[k + WORK] + Z, 6)
        if topo[k + MODES] > 0:
            zero(work, topo[topo[k + MODAL] + W_ZF], topo[k + MODES])
    apply_external(topo, const, work, q, count, index, wrenches)
    collect(topo, work, tau)
