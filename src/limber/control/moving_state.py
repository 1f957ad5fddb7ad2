"""States of a system with the derivatives of all their parts, along the states and inputs of a linear model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control.closed_motions import closure_wrenches, multipliers, with_closure_loads
from limber.control.kernel_slopes import Moving, along_tangent, slopes_of
from limber.dynamics.derivatives import Derivatives, derivatives
from limber.dynamics.evaluate import External
from limber.dynamics.forward import forward_dynamics

Wrenches = Mapping[tuple[str, int | None], Moving]


@dataclass(frozen=True, eq=False)
class MovingState:
    """n states, each with derivatives along d directions: arrays (n, size), derivatives (n, size, d).

    q : its derivatives are in the tangent space, which has the layout of v.
    forces : tau, with vdot in the places of driven joints.
    external : by body and number of the node.
    driven : numbers of the bodies whose joints have prescribed motion.
    """

    system: System
    q: Moving
    v: Moving
    forces: Moving
    external: Wrenches
    driven: tuple[int, ...] = ()

    @cached_property
    def coordinates(self) -> Moving:
        """q with the derivatives of its coordinates, (n, nq, d)."""
        return along_tangent(self.system, *self.q)

    @cached_property
    def vdot(self) -> Moving:
        """Rates of the speeds, by forward dynamics."""
        (q, dq), (v, dv), (forces, df) = self.q, self.v, self.forces
        if self.driven:
            return self._driven_vdot
        if self.system.closures:  # the compiled slopes of closed systems take minutes to compile
            given = {"q": self.coordinates, "v": self.v, "tau": self.forces}
            found = slopes_of(self.system, "closed_sweep", given, external=self.external)
            return found["vdot"]
        by = derivatives(self.system, q, v, forces, external=self.wrenches)
        slopes = by.q @ dq + by.v @ dv + by.tau @ df
        return by.value, slopes + self._by_wrenches(by)

    @cached_property
    def _driven_vdot(self) -> Moving:
        """With free rows f and driven ones d: M_ff dvdot_f = dtau_f - (slopes by q, v, wrenches)_f - M_fd dvdot_d."""
        (q, dq), (v, dv), (forces, df) = self.q, self.v, self.forces
        held = np.zeros(self.system.nv, dtype=bool)
        rates = {}
        for name, where in self.system.layout.items():
            if self.system.number(name) in self.driven:
                held[where.v_joint] = True
                rates[name] = forces[:, where.v_joint]
        vdot = forward_dynamics(self.system, q, v, forces, external=self.wrenches, motion=rates)
        by = derivatives(self.system, q, v, vdot, "inverse_dynamics", external=self.wrenches)
        slopes = np.where(held[:, None], df, 0.0)
        M, free = by.vdot, ~held
        needed = by.q @ dq + by.v @ dv + self._by_wrenches(by) + M @ slopes
        slopes[:, free] = np.linalg.solve(M[:, free][:, :, free], (df - needed)[:, free])
        return vdot, slopes

    @cached_property
    def needed(self) -> Moving:
        """The generalized forces that the motion requires, by inverse dynamics: tau, and those of driven joints and
        closures.
        """
        (q, dq), (v, dv), (vdot, da) = self.q, self.v, self.vdot
        by = derivatives(self.system, q, v, vdot, "inverse_dynamics", external=self.wrenches)
        slopes = by.q @ dq + by.v @ dv + by.vdot @ da
        return by.value, slopes + self._by_wrenches(by)

    @cached_property
    def wrenches(self) -> External | None:
        """The external wrenches, in the form that the dynamics functions take."""
        return {end: value for end, (value, _) in self.external.items()} or None

    def _by_wrenches(self, by: Derivatives) -> Array | float:
        """The part of the derivatives due to external wrenches."""
        return sum((by.external[end] @ slope for end, (_, slope) in self.external.items()), 0.0)

    @cached_property
    def closure_wrenches(self) -> dict[str, Moving]:
        """The wrench of each closure on its end b."""
        each = [dict(one._closure_wrenches) for one in self._singles]
        return {name: _stacked([one[name] for one in each]) for name in self.system.closures}

    @cached_property
    def joint_wrenches(self) -> Moving:
        """The wrenches of the joints on the bodies, (n, 6 bodies), at their body frames in body axes."""
        given = {"q": self.coordinates, "v": self.v, "vdot": self.vdot}
        external = self.external
        if self.system.closures:
            each = [one._all_wrenches for one in self._singles]
            external = {end: _stacked([one[end] for one in each]) for end in each[0]}
        found = slopes_of(self.system, "carried_wrenches", given, external=external)
        return found["wrenches"]

    # --- closed systems, one state at a time ------------------------------------------------------

    @cached_property
    def _singles(self) -> list[_Single]:
        def one(pair: Moving, i: int) -> Moving:
            return pair[0][i], pair[1][i]

        force = self.needed[0] - self.forces[0], self.needed[1] - self.forces[1]
        return [
            _Single(
                self.system,
                one(self.q, i),
                one(force, i),
                {end: one(wrench, i) for end, wrench in self.external.items()},
            )
            for i in range(len(self.q[0]))
        ]


@dataclass(frozen=True, eq=False)
class _Single:
    """One state of a closed system whose closures exert `force`."""

    system: System
    q: Moving
    force: Moving
    external: Wrenches

    @cached_property
    def _closure_wrenches(self) -> dict[str, Moving]:
        lam = multipliers(self.system, self.q, self.force)
        return closure_wrenches(self.system, self.q, lam)

    @cached_property
    def _all_wrenches(self) -> dict[tuple[str, int | None], Moving]:
        return with_closure_loads(self.system, self.q, self._closure_wrenches, self.external)


def _stacked(pairs: list[Moving]) -> Moving:
    values, slopes = zip(*pairs)
    return np.stack(values), np.stack(slopes)


def unmoved(value: Array, directions: int) -> Moving:
    """A value (n, size) that is constant along all directions."""
    return value, np.zeros((*value.shape, directions))
