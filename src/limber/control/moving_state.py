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
from limber.dynamics.following import driven_speeds
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.hybrid import Motion, hybrid_dynamics

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
            return self._driven[0]
        if self.system.closures:
            return _closed_vdot(self.system, self.q, self.v, self.forces, self.external)
        by = derivatives(self.system, q, v, forces, external=self.wrenches)
        slopes = by.q @ dq + by.v @ dv + by.tau @ df
        return by.value, slopes + self._by_wrenches(by)

    @property
    def torques(self) -> Moving:
        """tau, in which the torques of driven joints are those that their motion requires."""
        return self._driven[1] if self.driven else self.forces

    @cached_property
    def _driven(self) -> tuple[Moving, Moving]:
        """The rates of the speeds, and the torques, of a system with driven joints."""
        held = driven_speeds(self.system, self.driven)
        if self.system.closures:
            return self._closed_driven(held)
        vdot = self._driven_vdot(held)
        needed, slopes = self._needed(vdot)
        forces, df = self.forces
        return vdot, (np.where(held, needed, forces), np.where(held[:, None], slopes, df))

    def _driven_vdot(self, held: np.ndarray) -> Moving:
        """With free rows f and driven ones d: M_ff dvdot_f = dtau_f - (slopes by q, v, wrenches)_f - M_fd dvdot_d."""
        (q, dq), (v, dv), (forces, df) = self.q, self.v, self.forces
        rates = self._rates
        vdot = forward_dynamics(self.system, q, v, forces, external=self.wrenches, motion=rates)
        by = derivatives(self.system, q, v, vdot, "inverse_dynamics", external=self.wrenches)
        slopes = np.where(held[:, None], df, 0.0)
        M, free = by.vdot, ~held
        needed = by.q @ dq + by.v @ dv + self._by_wrenches(by) + M @ slopes
        slopes[:, free] = np.linalg.solve(M[:, free][:, :, free], (df - needed)[:, free])
        return vdot, slopes

    def _closed_driven(self, held: np.ndarray) -> tuple[Moving, Moving]:
        """The torques of driven joints d change such that their rates do as given: C dtau_d = dvdot_d - r_d.

        C are the slopes of the driven rates by the driven torques, r those of all rates if these torques are constant.
        """
        (q, _), (v, _), (forces, df) = self.q, self.v, self.forces
        vdot, tau = hybrid_dynamics(
            self.system, q, v, forces, motion=self._rates, external=self.wrenches
        )
        units = np.eye(self.system.nv)[:, held]
        slopes = np.where(held[:, None], 0.0, df)
        torques = tau, np.concatenate([slopes, np.broadcast_to(units, (len(q), *units.shape))], 2)
        more = units.shape[1]
        _, by = _closed_vdot(
            self.system,
            _widened(self.q, more),
            _widened(self.v, more),
            torques,
            {end: _widened(wrench, more) for end, wrench in self.external.items()},
        )
        by_torques, rest = by[..., -more:], by[..., :-more]
        slopes[:, held] = np.linalg.solve(by_torques[:, held], (df - rest)[:, held])
        dvdot = np.where(held[:, None], df, rest + by_torques @ slopes[:, held])
        return (vdot, dvdot), (tau, slopes)

    @property
    def _rates(self) -> Motion:
        """The rates of the speeds of the driven joints."""
        layout, forces = self.system.layout, self.forces[0]
        return {
            name: forces[:, where.v_joint]
            for name, where in layout.items()
            if self.system.number(name) in self.driven
        }

    @cached_property
    def needed(self) -> Moving:
        """The generalized forces that the motion requires, by inverse dynamics: tau, and those of driven joints and
        closures.
        """
        return self._needed(self.vdot)

    def _needed(self, rates: Moving) -> Moving:
        (q, dq), (v, dv), (vdot, da) = self.q, self.v, rates
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
        """The wrenches of the joints on the bodies, (n, 6 bodies), in body axes; `to_body_frame` moves them there."""
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

        force = self.needed[0] - self.torques[0], self.needed[1] - self.torques[1]
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


def _closed_vdot(system: System, q: Moving, v: Moving, tau: Moving, external: Wrenches) -> Moving:
    """The rates of the speeds of a closed system.  The compiled slopes of its dynamics take minutes to compile."""
    given = {"q": along_tangent(system, *q), "v": v, "tau": tau}
    return slopes_of(system, "closed_sweep", given, external=external)["vdot"]


def _widened(pair: Moving, more: int) -> Moving:
    """The same with so many further directions, along which it is constant."""
    value, slope = pair
    return value, np.concatenate([slope, np.zeros((*slope.shape[:-1], more))], axis=-1)


def unmoved(value: Array, directions: int) -> Moving:
    """A value (n, size) that is constant along all directions."""
    return value, np.zeros((*value.shape, directions))
