"""The initial loads of a scenario, the equilibrium under them, and the torques that hold it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber import dynamics
from limber.assembly import System
from limber.checks import Array
from limber.cli.subject import Subject
from limber.dynamics.evaluate import External
from limber.joints import Free
from limber.joints.coordinates import coordinates


@dataclass(frozen=True, eq=False)
class Loads:
    """The initial loads: given torques and external forces, and `held`, the joints that a controller, joint paths or a
    prescribed motion hold.
    """

    tau: Array | None = None
    external: External | None = None
    held: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """How the joints are loaded, for the line that describes the model; empty if nothing acts on them."""
        if self.held:
            return f", joints held: {', '.join(self.held)}"
        return "" if self.tau is None else ", under its torques at t = 0"


def loads_at_start(subject: Subject) -> Loads:
    """The loads on a scenario at t = 0; none for a model."""
    case, s = subject.scenario, subject.system
    if case is None:
        return Loads()
    from limber.scenarios.initial import external_at_start, torque_at_start  # noqa: PLC0415 (pydantic)

    external = external_at_start(case.external)
    if case.paths or hasattr(case.torque, "controller"):
        # nothing holds a free body
        moving = [b for b in s.layout if s.joints[b].dofs and not isinstance(s.joints[b], Free)]
        return Loads(None, external, tuple(moving))
    torque: Any = case.torque
    return Loads(torque_at_start(s, torque), external, tuple(case.motion))


def settled(
    subject: Subject, loads: Loads, v: Array | None = None, locked: Iterable[str] = ()
) -> Array:
    """The equilibrium found from the initial state, with the held joints and those in `locked` fixed."""
    s, fixed = subject.system, {*loads.held, *locked}
    moving = any(body.modes for body in s.bodies.values())
    if not moving and fixed.issuperset(b for b in s.layout if s.joints[b].dofs):
        return subject.q0
    return dynamics.equilibrium(
        s, subject.q0, v, tau=loads.tau, external=loads.external, locked=[b for b in s.layout if b in fixed]
    )  # fmt: skip


def holding(s: System, q: Array, v: Array, loads: Loads) -> Array | None:
    """The torques in an equilibrium: those given, and those that hold the held joints."""
    if not loads.held:
        return loads.tau
    motors = loads.held if s.closures else None  # closures carry a part
    rest = np.zeros(s.nv)
    needed = dynamics.inverse_dynamics(s, q, v, rest, external=loads.external, actuated=motors)
    tau = rest if loads.tau is None else loads.tau.copy()
    for body in loads.held:
        tau[s.layout[body].v_joint] = needed[s.layout[body].v_joint]
    return tau


def joint_coordinates(s: System, q: Array) -> str:
    """The coordinates of all joints, in words."""
    found = []
    for body, where in s.layout.items():
        named = coordinates(s.joints[body])
        for (_, name), x in zip(named, q[where.q_joint]):
            found.append(f"{body}{name and ' ' + name} {round(x, 12) + 0.0:.6g}")
    return ", ".join(found)
