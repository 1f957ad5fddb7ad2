"""Find freedoms that move no mass, before anything is computed with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from limber.kernels import compiled
from limber.kernels import layout as L

if TYPE_CHECKING:
    from limber.assembly.system import System


def generic_configuration(system: System) -> np.ndarray:
    """Undeformed bodies, joints away from any special position (the same on every call)."""
    rng = np.random.default_rng(0)
    q = system.neutral()
    for name, where in system.layout.items():
        at = where.q_joint.start
        for group in system.joints[name].groups:
            part = slice(at, at + group.nq)
            q[part] += rng.uniform(-0.7, 0.7, group.nq)
            if group.kind != L.SCREWS:
                quaternion = slice(at, at + 4)
                q[quaternion] /= np.linalg.norm(q[quaternion])
            at += group.nq
    return q


def singular_body(system: System) -> tuple[str, str] | None:
    """(body, freedom) whose articulated inertia is singular at a generic configuration."""
    packed = system.geometry
    work = np.zeros(packed.topo[L.WORK_SIZE])
    vdot, zero = np.empty(system.nv), np.zeros(system.nv)
    q = generic_configuration(system)
    no_nodes, no_forces = np.empty(0, dtype=np.int64), np.empty(0)
    compiled.load("dynamics")(
        compiled.address("articulated_sweep"), L.NO_PIVOTS, packed.topo, packed.const, no_nodes, no_forces,
        q, zero, zero, work, vdot, 0, 1,
    )  # fmt: skip
    topo = packed.topo.reshape(-1, L.COLUMNS)
    names = list(system.layout)
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(len(system.layout), 0, -1):
            b, m, joint = topo[k, L.WORK] + L.P, topo[k, L.MODES], topo[k, L.W_JOINT]
            diagonal = topo[k, L.W_MODES] + 6 * m + np.arange(m) * (m + 1)
            pivots = 1.0 / work[diagonal]
            aligned = topo[k, L.ALIGNED]
            G = (aligned + m * m if aligned else topo[k, L.MODAL]) + np.arange(m) * (m + 1)
            mass = packed.const[G]  # of the coordinates that were eliminated
            bad = ~(pivots > 1e-12 * mass)
            if m and bad.any():
                return names[k - 1], f"mode {int(bad.argmax())}"
            for r in range(topo[k, L.DOFS]):
                angular, linear = (
                    work[b : b + 6][[0, 3, 5]].sum(),
                    work[b + 15 : b + 21][[0, 3, 5]].sum(),
                )
                i = joint + r * L.JOINT_WORK
                if topo[k, L.JOINT] == L.GENERAL:
                    h = work[i + L.J_H : i + L.J_H + 6]
                else:
                    h = np.eye(6)[topo[k, L.AXIS]]
                scale = (h[:3] @ h[:3]) * angular + (h[3:] @ h[3:]) * linear
                pivot = 1.0 / work[i + L.J_D]
                if not pivot > L.PIVOT_TOLERANCE * scale:
                    return names[k - 1], f"joint speed {r} ({system.joints[names[k - 1]]!r})"
    return None
