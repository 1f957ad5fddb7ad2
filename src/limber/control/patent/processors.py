"""The processors of Fig. 6 of US 5,546,508 (Jain & Rodriguez), one object each.

Each has `number`, its numeral in the figure, and one call computes what the patent describes. To replace one, pass the
loop another object with the same call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from limber.algebra import operators
from limber.algebra.algorithms import coupled
from limber.assembly.system import System
from limber.checks import Array
from limber.control.controller import Measured
from limber.control.joints import JointPlaces
from limber.control.patent.desired import DesiredMotion
from limber.control.patent.gains import Gains
from limber.dynamics import forward_dynamics

if TYPE_CHECKING:
    from limber.algebra import Operators


@dataclass
class ModelState:
    """Hinge and deformation variables of the model, their rates, and unexplained torques at the hinges."""

    q: Array
    v: Array
    load: Array

    @property
    def x(self) -> Array:
        """[q, v]"""
        return np.concatenate([self.q, self.v])


class Sweep:
    """A state whose spatial operators are computed on first use."""

    def __init__(self, system: System, state: ModelState):
        self.system, self.q, self.v = system, state.q, state.v

    @cached_property
    def operators(self) -> Operators:
        """All spatial operators at this state."""
        return operators(self.system, self.q, self.v)


class JointSensors:
    """142: the readings of the sensors on the hinges; positions, then speeds if they are measured (claims 7, 22,
    37)."""

    number = 142

    def __init__(self, places: JointPlaces, speeds: bool):
        self.places, self.speeds = places, speeds

    def __call__(self, measured: Measured) -> Array:
        """The readings (joints,) or (2 joints,)."""
        positions = measured.q.take(self.places.q)
        if not self.speeds:
            return positions
        return np.concatenate([positions, measured.v.take(self.places.v)])


@dataclass(frozen=True)
class ArticulatedBodies:
    """Articulated-body inertias P, hinge inertias D, gains G (body to hinge), tau_bar (null force), body by body."""

    sweep: Sweep

    @property
    def P(self) -> list[Array]:
        """Articulated body inertia, [modes, 6] square."""
        return self.sweep.operators.P.blocks

    @property
    def D(self) -> list[Array]:
        """Articulated hinge inertia of modes and hinge."""
        return self.sweep.operators.D.blocks

    @property
    def G(self) -> list[Array]:
        """Body to hinge force operator."""
        return self.sweep.operators.G.blocks

    @property
    def tau_bar(self) -> list[Array]:
        """Null force operator."""
        return self.sweep.operators.tau_bar.blocks


class ArticulatedBodyProcessor:
    """125: articulated body quantities from the state, by Fig. 2 and Eqs. (51), (63) (claims 2, 3, 17, 32)."""

    number = 125

    def __call__(self, sweep: Sweep) -> ArticulatedBodies:
        """The quantities, computed on use."""
        return ArticulatedBodies(sweep)


@dataclass(frozen=True)
class CoriolisTerms:
    """Coriolis and centrifugal accelerations a, and gyroscopic and stiffness forces b, body by body."""

    sweep: Sweep

    @property
    def a(self) -> Array:
        """Accelerations, stacked."""
        return self.sweep.operators.a

    @property
    def b(self) -> Array:
        """Forces, stacked, including K eta + D eta_dot."""
        return self.sweep.operators.b


class CoriolisProcessor:
    """130: Coriolis and centrifugal accelerations, gyroscopic forces, by Eq. (44) (claim 4)."""

    number = 130

    def __call__(self, sweep: Sweep) -> CoriolisTerms:
        """The terms, computed on use."""
        return CoriolisTerms(sweep)


class AccelerationProcessor:
    """135: accelerations of hinges and deformations from forces, by Figs. 5a, 5b and Eq. (58) (claims 1, 4, 5)."""

    number = 135

    def __call__(self, bodies: ArticulatedBodies, terms: CoriolisTerms, force: Array) -> Array:
        """vdot (nv,) under the generalized forces (nv,)."""
        found = bodies.sweep.operators
        return coupled(found, force - found.joint_force, terms.b)


class CompiledAccelerationProcessor(AccelerationProcessor):
    """135 in machine code: the same sweeps including 125 and 130, a thousand times as fast."""

    def __call__(self, bodies: ArticulatedBodies, terms: CoriolisTerms, force: Array) -> Array:
        """vdot (nv,) under the generalized forces (nv,)."""
        sweep = bodies.sweep
        return forward_dynamics(sweep.system, sweep.q, sweep.v, force)


@dataclass
class Comparison:
    """Deviations from the desired motion, and the corrected forces of the hinges.

    hinges, deformations : deviations of the state, [q, v] of each minus the desired ones.
    accelerations : of all degrees of freedom, computed minus desired.
    force : (joints,) corrected.
    """

    hinges: Array
    deformations: Array
    accelerations: Array
    force: Array


class ComparisonProcessor:
    """144: compares hinge and deformation motion with the desired motion and corrects the forces (claims 1, 16, 31).

    Deviations of positions and speeds are accumulated errors of acceleration; the law turns them into forces. The error
    of the present accelerations, minus the part that the deviations explain, is corrected at once in the proportion
    `share`, by the inertia of the hinges with free modes. A share above zero relies on the deformations of the model:
    use it if payload and stiffness are known well.
    """

    number = 144

    def __init__(self, places: JointPlaces, nv: int, share: float = 0.0):
        self.places, self.share = places, share
        self.modes = np.setdiff1d(np.arange(nv), places.v)
        self._hinges = np.concatenate([places.q, nv + places.v])  # in [q, v]
        self._deformations = np.concatenate([self.modes, nv + self.modes])

    def __call__(
        self, state: ModelState, vdot: Array, motion: DesiredMotion, row: int, gains: Gains
    ) -> Comparison:
        """Compare with a row of the motion; vdot are the accelerations under its forces."""
        dx = np.concatenate([state.q - motion.q[row], state.v - motion.v[row]])
        away = vdot - motion.vdot[row]
        force = motion.force[row] - gains.feedback.dot(dx)
        if self.share:
            unexplained = (away - gains.stiffness @ dx)[self.places.v]
            force = force - self.share * gains.inertia @ unexplained
        return Comparison(dx.take(self._hinges), dx.take(self._deformations), away, force)


@dataclass
class ServoProcessor:
    """146: from corrected forces to servo commands within their limits (claims 1, 16, 31).

    Friction at the desired speeds is compensated, and so are the unexplained torques of the state, up to `most` N m at
    each hinge.
    """

    limit: Array
    out: Array
    width: int
    most: Array
    number: int = field(default=146, init=False)

    def __call__(self, force: Array, load: Array, friction: Array) -> tuple[Array, Array]:
        """The command of all channels, and the torques of the hinges in it."""
        made_up = np.minimum(np.maximum(load, -self.most), self.most)
        torque = np.minimum(np.maximum(force + friction - made_up, -self.limit), self.limit)
        command = np.zeros(self.width)
        command[self.out] = torque
        return command, torque


class TimeUpdateProcessor:
    """140: the state of the next step from the accelerations of this one (claims 6, 21, 36).

    x + integral of exp(A t) times xdot: exact for small motions, so that fast modes do not limit the sample time.
    """

    number = 140

    def __call__(self, state: ModelState, vdot: Array, gains: Gains) -> ModelState:
        """The state one sample later."""
        x = state.x + gains.step.dot(np.concatenate([state.v, vdot]))
        nv = len(state.v)
        return ModelState(x[:nv], x[nv:], state.load.copy())


class ModelOnly:
    """The first embodiment: the state of the model, whatever the sensors read (claims 6, 21, 36)."""

    def __call__(self, state: ModelState, readings: Array, places: JointPlaces, gains: Gains):
        """The unchanged state."""
        return state


class HingesFromSensors:
    """The second embodiment: hinges from the sensors, deformations from the model (claims 7, 22, 37).

    A difference between measured and modelled hinge speed is attributed to an impulse at the hinge, such as that of
    friction, which changes the rates of the deformations too. The deformations are therefore those of an arm whose
    hinges move as measured.
    """

    def __call__(self, state: ModelState, readings: Array, places: JointPlaces, gains: Gains):
        """The state with the measured hinges."""
        q, v, m = state.q.copy(), state.v.copy(), len(places)
        q[places.q] = readings[:m]
        if len(readings) > m:
            v += gains.impulse.dot(readings[m:] - v.take(places.v))
        return ModelState(q, v, state.load)


class Observer:
    """Both embodiments in one: the readings correct the whole state of the model, including deformations, by a Kalman
    gain.
    """

    def __call__(self, state: ModelState, readings: Array, places: JointPlaces, gains: Gains):
        """The corrected state."""
        nv, m = len(state.v), len(places)
        expected = state.q[places.q]
        if len(readings) > m:
            expected = np.concatenate([expected, state.v[places.v]])
        change = gains.observer @ (readings - expected)
        return ModelState(
            state.q + change[:nv], state.v + change[nv : 2 * nv], state.load + change[2 * nv :]
        )
