"""Slopes of forward dynamics of trees along q, by v and by tau.

Solves    dvdot = -M^{-1} dtau,  with dtau the slopes of inverse dynamics at vdot (`inverse_slopes`), and M^{-1} by tau
Given     q, v, tau, external wrenches
Computes  vdot, and its slopes
Sweep     those of `articulated`, `inverse_slopes` and `response_columns`
Cost      that of its parts
"""

from .articulated import forward_dynamics
from .inverse_slopes import fill_slopes
from .newton_euler import inverse_dynamics
from .response_columns import keep_factors, respond_to_columns
from .scalar import kernel


@kernel
def flexible_forward_slopes(
    topo, const, work, q, v, tau, ext_count, ext_index, ext, out, spare, room
):
    """out = vdot, then its slopes along q, by v and by tau, (nv, nv) each; `spare` is another `work`."""
    forward_dynamics(topo, const, work, q, v, tau, ext_count, ext_index, ext, out)
    keep_factors(topo, work, room)
    inverse_dynamics(
        topo, const, spare, q, v, out, ext_count, ext_index, ext, room
    )  # tau is not needed
    fill_slopes(topo, const, spare, q, v, out, ext_count, ext_index, ext, out, room)
    respond_to_columns(topo, const, room, out)
