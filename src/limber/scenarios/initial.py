"""The initial state of a scenario: given, or an equilibrium."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.constraints import assemble, project
from limber.control.actuators import Actuator, Servo
from limber.dynamics import equilibrium, inverse_dynamics
from limber.dynamics.evaluate import External
from limber.dynamics.rows import closure_jacobian, worst
from limber.io.document import Where
from limber.io.fields import Name
from limber.io.section import Section
from limber.scenarios.environment import OrbitalStartSection
from limber.scenarios.states import StateSection, check_body, check_quaternions
from limber.simulation.closed_states import SMALL, apart
from limber.simulation.table import Table, joint_speeds


class EquilibriumSection(Section):
    """The equilibrium found from `q`, under gravity, the external forces and the torques at t = 0.

    Joints in `locked`, or all with `all_locked`, keep their coordinates in `q`. `torque` replaces the torques of the
    scenario.
    """

    short: ClassVar[str] = "true"
    locked: list[Name] = []
    all_locked: bool = False
    torque: StateSection | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept `equilibrium: true`."""
        return {} if data is True else data


class AssembleSection(Section):
    """Satisfy the closures, with `q` as the initial guess; joints in `locked` keep their coordinates in `q`.

    Nonzero speeds in `v` are kept, and the others follow.
    """

    short: ClassVar[str] = "true"
    locked: list[Name] = []

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept `assemble: true`."""
        return {} if data is True else data

    def build(self, system: System, q: Array, v: Array, where: Where) -> tuple[Array, Array]:
        """q and v that satisfy the closures."""
        for i, name in enumerate(self.locked):
            check_body(system, name, where / "locked" / i)
        with where.checked():
            q = assemble(system, q, locked=self.locked)
        A = closure_jacobian(system, q)
        free = v == 0.0
        v = v.copy()
        v[free] = np.linalg.lstsq(A[:, free], -A @ v, rcond=1e-9)[0]
        off = A @ v
        if np.abs(off).max(initial=0.0) > SMALL * max(1.0, np.abs(v).max(initial=0.0)):
            said = worst(system, off, "is off by {:.3g} (rad/s or m/s)")
            raise where.error(
                f"the speeds of `v` contradict the closures: {said}. Give fewer of them."
            )
        return q, v


class InitialSection(Section):
    """The state at t = 0; by default neutral and at rest. `equilibrium` alone stands for an equilibrium at rest."""

    short: ClassVar[str] = "equilibrium"
    q: StateSection | None = None
    v: StateSection | None = None
    assemble: AssembleSection | None = None
    equilibrium: EquilibriumSection | None = None
    orbital: OrbitalStartSection | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept `initial: equilibrium`, and `equilibrium: false` or `assemble: false`."""
        if data == "equilibrium":
            return {"equilibrium": True}
        if isinstance(data, dict):
            off = [key for key in ("equilibrium", "assemble") if data.get(key) is False]
            return {key: value for key, value in data.items() if key not in off}
        return data

    def given(self, system: System, where: Where) -> tuple[Array, Array]:
        """q and v from the file, made to satisfy the closures if the file requests that."""
        q0, v0 = system.neutral(), np.zeros(system.nv)
        if self.q is not None:
            q0 = self.q.fill(system, "q", q0, where / "q")
            check_quaternions(system, q0, where)
        if self.v is not None:
            v0 = self.v.fill(system, "v", v0, where / "v")
        if self.assemble is not None:
            return self.assemble.build(system, q0, v0, where / "assemble")
        return q0, v0

    def refuse_two_starts(self, system: System, where: Where) -> None:
        """Reject a joint that both `q` or `v`, by its body, and `orbital` define; the entry for it in a whole list is
        ignored.
        """
        assert self.orbital is not None
        bases = [name for name, parent in system.parents.items() if parent == "world"]
        base = self.orbital.body or bases[0]
        for key, section in (("q", self.q), ("v", self.v)):
            part = (section.bodies or {}).get(base) if section is not None else None
            if part is not None and part.joint is not None:
                raise (where / key).error(
                    f"`orbital` already gives the start of the joint of {base!r}: leave it out here, or leave out "
                    "`orbital`.",
                    base,
                )

    def following(
        self, system: System, q0: Array, v0: Array, driven: list[str], where: Where
    ) -> Array:
        """Speeds of a closed system with which joints follow the driven ones, unless the file gives its own."""
        if self.v is not None and self.assemble is None:
            return v0
        if apart(system, q0):
            return v0  # the simulation reports what is wrong
        with where.checked():
            _, v = project(system, q0, v0, locked=driven)
        return v

    def settled(
        self,
        system: System,
        q0: Array,
        v0: Array,
        torque: Array | Table | None,
        external: Mapping[Any, Array | Table],
        where: Where,
        held: Collection[str] = (),
    ) -> Array:
        """The requested equilibrium, or q0.

        held : the bodies whose joints are held in any case.
        """
        section = self.equilibrium
        if section is None:
            return q0
        here = where / "equilibrium"
        for i, name in enumerate(section.locked):
            check_body(system, name, here / "locked" / i)
        locked = [*section.locked, *held]
        if section.all_locked:
            locked = list(system.layout)
        if all(name in locked for name in system.layout) and not any(
            body.modes for body in system.bodies.values()
        ):
            return q0  # nothing is left that could move
        tau = torque_at_start(system, torque)
        if section.torque is not None:
            tau = section.torque.fill(system, "v", np.zeros(system.nv), here / "torque")
        with here.checked():
            return equilibrium(
                system, q0, v0, tau=tau, external=external_at_start(external), locked=locked
            )

    def holding(
        self,
        system: System,
        q0: Array,
        v0: Array,
        actuators: Sequence[Actuator],
        external: Mapping[Any, Array | Table],
        where: Where,
    ) -> Array | None:
        """The torques (nv,) that hold the requested equilibrium, for joints that can have torques; None if none is
        requested.
        """
        if self.equilibrium is None:
            return None
        driven = [x.body for x in actuators if isinstance(x, Servo)]
        if not actuators:  # a joint with a quaternion has no motor
            driven = [
                name
                for name, place in system.layout.items()
                if len(q0[place.q_joint]) == len(v0[place.v_joint]) > 0
            ]
        options: Any = {"actuated": driven} if system.closures else {}
        with (where / "equilibrium").checked():
            needed = inverse_dynamics(
                system, q0, v0, np.zeros(system.nv), external=external_at_start(external), **options
            )
        torque = np.zeros(system.nv)
        for name in driven:
            place = system.layout[name].v_joint
            torque[place] = needed[place]
        return torque


def torque_at_start(system: System, torque: Array | Table | None) -> Array | None:
    """The torques (nv,) at t = 0."""
    if not isinstance(torque, Table):
        return torque
    tau, now = np.zeros(system.nv), torque(0.0)
    tau[joint_speeds(system) if now.size != system.nv else slice(None)] = now
    return tau


def external_at_start(external: Mapping[Any, Array | Table]) -> External | None:
    """The external forces at t = 0, in the form that the dynamics functions accept."""
    found: External = {key: x(0.0) if isinstance(x, Table) else x for key, x in external.items()}
    return found or None
