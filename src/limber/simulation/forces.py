"""The inputs of a run: torques, wrenches, prescribed motions and the environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import node_pairs
from limber.errors import ArgumentValueError
from limber.simulation.motions import DrivenJoint, driven_joints
from limber.simulation.samples import Samples
from limber.simulation.signals import Failures, Signal, torque_signal, wrench_signal

if TYPE_CHECKING:
    from limber.orbit.field import Field

#: Steps end this far from a jump of a signal, as a fraction of the length of the run.
DISTANCE_FROM_JUMPS = 1e-10
#: A run takes no more samples of a controller or a sensor than this.
MOST_SAMPLES = 1e9


@dataclass
class Forces:
    """The torque and the wrenches of a run.

    keys, nodes : where each wrench acts, as (body, node) and in the form of the kernels.
    failure : the first error of the functions of forces or events.
    driven : the joints with prescribed motion, whose forces follow from it.
    field : the forces of an environment, if there is one.
    """

    torque: Signal
    wrenches: list[Signal]
    keys: list[tuple]
    nodes: np.ndarray
    failure: Failures
    driven: list[DrivenJoint]
    field: Field | None = None

    @property
    def signals(self) -> list[Signal]:
        """The torque and the wrenches."""
        return [self.torque, *self.wrenches]

    @property
    def samples(self) -> dict[str, Samples]:
        """What a sampled controller measured and commanded so far."""
        session = self.torque.session
        return {} if session is None else dict(session.signals())

    @property
    def names(self) -> tuple[str, ...]:
        """The bodies whose joints are driven."""
        return tuple(joint.body for joint in self.driven)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the bodies whose joints are driven."""
        return tuple(joint.row for joint in self.driven)

    @property
    def python(self) -> bool:
        """Whether any of them are Python functions, which the compiled code calls."""
        return any(s.python for s in self.signals) or any(joint.python for joint in self.driven)

    def width(self, nv: int) -> int:
        """The numbers in a row of forces: the torque, the wrenches, the generalized forces of the environment."""
        return nv + 6 * len(self.wrenches) + nv * (self.field is not None)

    def masses(self, t: Array) -> dict[str, Array]:
        """The masses of tanks that lose mass, by body, at times."""
        return {} if self.field is None else self.field.masses(t)

    def packed(self, system: System) -> Packed:
        """The system with its driven joints, in the form of the kernels."""
        return system.dynamics.with_driven(self.numbers)

    def stops(self, origin: float, length: float) -> Sequence[float]:
        """The times since `origin` at which steps end: at corners of signals and motions, just before and after jumps.

        All but the shortest steps then lie on one side of a jump, whichever side the value at the jump belongs to.
        """
        breaks = [joint.breaks for joint in self.driven]
        if self.field is not None:
            breaks.append(self.field.breaks)
        corners = np.concatenate([*(s.corners for s in self.signals), *breaks]) - origin
        if not corners.size:
            return []
        jumps = np.concatenate([*(s.jumps for s in self.signals), *breaks]) - origin
        near = DISTANCE_FROM_JUMPS * length
        stops = np.unique([*corners, *(jumps - near), *(jumps + near)])
        return stops[(stops > 0.0) & (stops < length)].tolist()

    def refuse_endless_sampling(self, length: float) -> None:
        """Reject a sampled torque in a run that is too long to finish."""
        session = self.torque.session
        if session is not None and length > MOST_SAMPLES * session.period:
            raise ArgumentValueError(
                f"torque: a sample every {session.period:g} s makes {length / session.period:.1e} samples in a run of "
                f"{length:g} s; the maximum is {MOST_SAMPLES:g}. Use a longer sample time for the controller or a lower "
                "rate for the sensors."
            )


def forces_of(
    system: System, torque: Any, external: Any, motion: Any = None, t0: float = 0.0
) -> Forces:
    """The forces given by these arguments of `simulate`."""
    failure = Failures()
    made = torque_signal(system, torque, failure, t0)
    nodes = node_pairs(system, system.dynamics, external)
    keys = list(external or ())
    wrenches = [wrench_signal(system, key, external[key], failure) for key in keys]
    driven = driven_joints(system, motion, failure)
    return Forces(made, wrenches, keys, nodes, failure, driven)
