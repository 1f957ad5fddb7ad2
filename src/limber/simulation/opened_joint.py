r"""The wrench that a joint carries, from a system that is cut open there.

A joint of six degrees of freedom at rest carries the wrench. With the rows A of the closures, of which A_c are the
columns of that joint,

    wrench = (M vdot + bias - J^T external)_c - A_c^T lambda,      A^T lambda = M vdot + bias - J^T external - tau

in the joints of the system itself. The closures that lock the joint are part of it, so A_c does not have them. The
forces of an environment are among the external ones, and tanks have their present mass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies import RigidBody
from limber.checks import Array
from limber.constraints.topology import locks_of
from limber.dynamics import inverse_dynamics
from limber.dynamics.rows import closure_jacobian
from limber.joints import Free
from limber.simulation.tanks import drained

if TYPE_CHECKING:
    from limber.orbit.field import Field

#: The forces of an environment, and the time.
Around = tuple["Field", float]
#: Singular values of the rows of closures below this fraction of the largest count as zero; a reading depends on what
#: is not unique if it does so by more than the second one.
DEPENDENT, MATTERS = 1e-9, 1e-6


class OpenedJoint:
    """A system cut open inboard of the joint of a body; the head of this file has the equations."""

    def __init__(self, system: System, body: str):
        self.system = system
        self._opened, cut = opened_at(system, body)
        self._locks = locks_of(system, body)
        self._q, self._v = places_in(system, self._opened)
        self._still = self._opened.neutral()
        self._taken = self._opened.layout[cut].v_joint

    def of_motion(
        self, q: Array, v: Array, vdot: Array, external: Any = None, around: Around | None = None
    ) -> Array:
        """The wrench (..., 6) without that of closures, in the axes of the joint's inboard frame and about its origin."""
        # arrays of its own: loops of several runs may share this
        batch = q.shape[:-1]
        there = np.tile(self._still, (*batch, 1))
        speeds, rates = np.zeros((2, *batch, self._opened.nv))
        there[..., self._q], speeds[..., self._v], rates[..., self._v] = q, v, vdot
        return needed(self._opened, there, speeds, rates, external, around)[..., self._taken]

    def rows(self, q: Array) -> Array:
        """A_c (rows, 6)."""
        there = self._still.copy()
        there[self._q] = q
        opened = closure_jacobian(self._opened, there)[:, self._taken]
        A_c = np.zeros_like(opened)
        for name, rows in self.system.closure_rows.items():
            # the opened system may have its closures in another order
            if name not in self._locks:
                A_c[rows] = opened[self._opened.closure_rows[name]]
        return A_c

    def wrench(
        self,
        q: Array,
        v: Array,
        vdot: Array,
        tau: Array,
        external: Any = None,
        around: Around | None = None,
    ) -> tuple[Array, bool]:
        """The wrench (6,), and whether it is unique; for redundant closures, the forces of least norm are used."""
        found = self.of_motion(q, v, vdot, external, around)
        s = self.system
        if not s.closures:
            return found, True
        force = needed(s, q, v, vdot, external, around) - tau
        U, size, Vt = np.linalg.svd(closure_jacobian(s, q).T)
        rank = int((size > DEPENDENT * size.max(initial=0.0)).sum())
        lam = Vt[:rank].T @ ((U[:, :rank].T @ force) / size[:rank])
        A_c = self.rows(q)
        unique = np.abs(Vt[rank:] @ A_c).max(initial=0.0) <= MATTERS * np.abs(A_c).max(initial=0.0)
        return found - A_c.T @ lam, bool(unique)


def needed(
    system: System, q: Array, v: Array, vdot: Array, external: Any, around: Around | None
) -> Array:
    """The generalized forces (..., nv) that a motion requires in addition to the external ones."""
    if around is None:
        return inverse_dynamics(system, q, v, vdot, external=external)
    field, t = around
    masses = {tank: float(mass) for tank, mass in field.masses(np.array(t)).items()}
    found = inverse_dynamics(drained(system, masses), q, v, vdot, external=external)
    return found - field.on(system).at(t, q, v)


def opened_at(system: System, body: str) -> tuple[System, str]:
    """The system with a joint of six degrees of freedom inboard of a body's joint, and the name of the body between
    them.
    """
    cut = f"{body} (force-torque sensor)"
    items: list[Attachment] = []
    for name, item in system.attachments.items():
        if name != body:
            items.append(item)
            continue
        items.append(replace(item, name=cut, body=RigidBody(0.0), joint=Free(), inboard=None))
        still = {"offset": np.zeros(3), "rotation": np.eye(3)}
        items.append(replace(item, to=cut, at=None, **still))  # type: ignore[arg-type]
    closures = tuple(system.closures.values())
    return (
        System(system.name, tuple(items), system.gravity, system.fidelity, closures, regular=False),
        cut,
    )


def places_in(system: System, opened: System) -> tuple[np.ndarray, np.ndarray]:
    """The places of q and v of a system in those of the opened one."""
    q, v = np.zeros(system.nq, dtype=int), np.zeros(system.nv, dtype=int)
    for name, old in system.layout.items():
        new = opened.layout[name]
        for target, here, there in (
            (q, old.q_modes, new.q_modes),
            (q, old.q_joint, new.q_joint),
            (v, old.v_modes, new.v_modes),
            (v, old.v_joint, new.v_joint),
        ):
            target[here] = np.arange(there.start, there.stop)
    return q, v
