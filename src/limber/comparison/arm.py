"""Arms of a comparison, and common parts of their controllers: gains, shaped and planned paths, a filter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import limber as lb
from limber import control
from limber.assembly.system import System
from limber.checks import Array
from limber.comparison.planned import oscillations
from limber.comparison.plant import Plant

#: What is tried for joints: bandwidths, as multiples of the lowest frequency, and damping ratios that a rigid joint would have.
BANDWIDTHS, DAMPINGS = (0.35, 0.5, 0.7, 1.0, 1.4), (0.6, 0.8, 1.1, 1.6, 2.2)
#: Stands for the bandwidth and the damping ratio that damp the arm best; other bandwidths have the second number as damping ratio.
BEST, ORDINARY = 0.0, 0.8
#: Motions that they are to damp are below this multiple of the lowest frequency.
NEAR = 6.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Arm(Plant):
    """A planar arm with flexible links.

    model : the controllers' model of the arm, without friction.
    joints : the bodies whose joints are driven.
    tip : (body, node), the end of the arm.
    end : (nq,) the final configuration of the motion.
    sample, observed : sample times, s: of most controllers, and of those with an extended Kalman filter.
    horizon : of model predictive control: its sample time, s, and its number of samples.
    delay : of commands, s.
    plan : options of `control.rest_to_rest`.
    disturbance : of `control.Kalman`.
    torque, energy : N m, one for each joint, and J: typical values in the motion, for weights.
    by_hand : springs and dampers of the joints that are known to be good.
    friction : as known to the controllers, N m.
    outputs : of `control.stable_inversion`; `inversion` has its options.
    """

    model: System
    joints: tuple[str, ...]
    tip: tuple[str, Any]
    end: Array
    sample: float
    observed: float
    horizon: tuple[float, int]
    delay: float
    plan: dict[str, Any]
    disturbance: float
    torque: tuple[float, ...]
    energy: float
    by_hand: tuple[Any, Any]
    friction: Any = 0.0
    outputs: tuple[tuple, ...] = ()
    inversion: dict[str, Any] = field(default_factory=dict)

    def filter(self, doubt: float = 1.0) -> control.Kalman:
        """A filter for the whole state; a larger doubt gives the measurements more weight."""
        return control.Kalman(doubt * self.disturbance, extended=True, initial=1e-3)


@cache
def lowest(arm: Arm) -> float:
    """The lowest frequency of the arm with its joints held, rad/s, in the final configuration."""
    omega = lb.modes(arm.model, arm.end, locked=arm.joints).omega
    return float(omega[omega > 0.0][0])


@dataclass(frozen=True, eq=False)
class Springs:
    """Springs kp (N m/rad) and dampers kd (N m s/rad) at the joints, and the poles (1/s) of their loop."""

    kp: Array
    kd: Array
    rates: np.ndarray


@cache
def springs(arm: Arm, bandwidth: float = BEST) -> Springs:
    """The springs and dampers that damp the arm best, among all that are tried; or those of a given bandwidth."""
    inertia = np.diag(_inertia(arm))
    if bandwidth != BEST:
        w = bandwidth * lowest(arm)
        kp, kd = w * w * inertia, 2.0 * ORDINARY * w * inertia
        return Springs(kp, kd, _closed(arm, np.diag(kp), np.diag(kd)).loop.model().rates)
    tried: list[tuple[Any, Any]] = [arm.by_hand]
    for each in BANDWIDTHS:
        for damping in DAMPINGS:
            w = each * lowest(arm)
            tried.append((w * w * inertia, 2.0 * damping * w * inertia))
    found = [(_closed(arm, np.diag(kp), np.diag(kd)), kp, kd) for kp, kd in tried]
    best, kp, kd = min(found, key=lambda x: _slowest(arm, x[0]))
    return Springs(np.array(kp), np.array(kd), best.loop.model().rates)


@cache
def _linear(arm: Arm) -> control.LinearModel:
    """The arm in its final configuration, from torques to joints."""
    outputs = [(what, joint) for what in ("coordinate", "speed") for joint in arm.joints]
    rest = np.zeros(arm.model.nv)
    return lb.linearize(arm.model, arm.end, rest, rest, inputs=arm.joints, outputs=outputs)


def _closed(arm: Arm, kp: Array, kd: Array, sample_time: float | None = None) -> control.Margins:
    """The loop of joints with matrices of springs and dampers."""
    T = arm.sample if sample_time is None else sample_time
    return control.margins(_linear(arm), np.hstack([kp, kd]), sample_time=T, delay=arm.delay)


def _inertia(arm: Arm) -> Array:
    """The joint-space inertia of the undeformed arm in its final configuration."""
    s = arm.model
    places = np.concatenate([np.arange(s.nv)[s.layout[joint].v_joint] for joint in arm.joints])
    return lb.mass_matrix(s, arm.end)[np.ix_(places, places)]


def _slowest(arm: Arm, margins: control.Margins) -> float:
    """The growth rate, 1/s, of the slowest decaying motion near the lowest frequency; inf if the loop is unstable."""
    if not margins.stable:
        return math.inf
    rates = margins.loop.model().rates
    return float(rates.real[np.abs(rates) < NEAR * lowest(arm)].max())


def gains(arm: Arm, bandwidth: float = BEST) -> dict[str, Any]:
    """The gains in the form that `PD` accepts."""
    found = springs(arm, bandwidth)
    return {"kp": found.kp, "kd": found.kd, "sample_time": arm.sample}


def shaped(
    arm: Arm,
    rates: np.ndarray,
    kind: Callable[..., control.Shaper] = control.zvd,
) -> control.Shaped:
    """The path, shaped for the two slowest oscillations of a loop with these poles."""
    slow = oscillations(rates)[:2] or [(lowest(arm), 0.0)]
    shaper = kind(*slow[0])
    for each in slow[1:]:
        shaper = shaper * kind(*each)
    return shaper.shaped(arm.path)


@cache
def under_rigid(
    arm: Arm, bandwidth: float = BEST, sample_time: float | None = None
) -> tuple[float, float, np.ndarray]:
    """kp and kd of computed torque with the rigid model that damp the arm best, among all bandwidths or for a given
    one, and the poles with them.
    """
    M, tried = _inertia(arm), []
    for each in BANDWIDTHS if bandwidth == BEST else (bandwidth,):
        for damping in DAMPINGS:
            kp, kd = (each * lowest(arm)) ** 2, 2.0 * damping * each * lowest(arm)
            found = _closed(arm, kp * M, kd * M, sample_time)
            tried.append((_slowest(arm, found), kp, kd, found))
    _, kp, kd, best = min(tried, key=lambda x: x[0])
    return kp, kd, best.loop.model().rates


@cache
def planned(arm: Arm) -> control.DesiredMotion:
    """The path planned from rest to rest."""
    return control.rest_to_rest(
        arm.model, arm.path, arm.path.duration, tip=arm.tip, sample_time=arm.sample, **arm.plan
    )


def asked_for(arm: Arm) -> Callable[[float], tuple[Array, Array]]:
    """t -> (q, v) of the commanded path, as a rigid arm moves."""

    def reference(t: float) -> tuple[Array, Array]:
        q, v = arm.model.neutral(), np.zeros(arm.model.nv)
        position, velocity, _ = arm.path(min(max(float(t), 0.0), arm.path.duration))
        for i, joint in enumerate(arm.joints):
            q[arm.model.layout[joint].q_joint] = position[i]
            v[arm.model.layout[joint].v_joint] = velocity[i]
        return q, v

    return reference
