"""The longest step of the classical Runge-Kutta method that resolves every plant that a task draws.

The motion about a configuration at rest is x' = A x with x = [dq, v]. For each eigenvalue of A, a step covers at most
half a radian of its oscillation, and at most twice its time constant, because the method becomes unstable at 2.79
times. The eigenvalues include modes, springs and dampers, friction, and stops where they are pressed. Friction is a
strong damper while it sticks and nearly constant while it slides, which frees the oscillations of the joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import derivatives, inverse_dynamics
from limber.dynamics.limits import stops_of
from limber.errors import ArgumentValueError

#: A step times the frequency of an oscillation, and times the magnitude of an eigenvalue, at most.
PHASE, STABLE = 0.5, 2.0
#: How deep stops are pressed, as a part of how deep a joint may rest in them: some ten times the softness of most.
PRESSED = 0.05
#: The largest number of steps in a sample, which then takes about a second.
MOST_STEPS = 100_000


def fastest(system: System, q: Array) -> float:
    """The inverse, 1/s, of the longest step at a configuration, also with nearby stops pressed, and with friction that
    sticks and that slides.
    """
    return max(_rate(one, x) for one in (system, *_sliding(system)) for x in (q, *_pressed(one, q)))


def even_steps(system: System, sample_time: float, longest: float) -> int:
    """The number of equal steps in a sample."""
    count = sample_time / longest * (1 - 1e-9)
    if not count <= MOST_STEPS:
        raise ArgumentValueError(
            f"a sample of {sample_time:.6g} s of {system.name!r} would take {count:.3g} steps of {longest:.3g} s; the "
            f"maximum is {MOST_STEPS}. Give a larger step=... or a shorter sample_time; or make the model less stiff: "
            "fewer modes, a larger friction_speed, softer stops, or less damping where there is little inertia."
        )
    return max(1, math.ceil(count))


def _rate(system: System, q: Array) -> float:
    n = system.nv
    rest = np.zeros(n)
    # without the torques that hold it the motion accelerates, and A is another one
    held = inverse_dynamics(system, q, rest, rest)
    slopes = derivatives(system, q, rest, held, by=("q", "v"))
    motion = np.block([[np.zeros((n, n)), np.eye(n)], [slopes.q, slopes.v]])
    if not np.isfinite(motion).all():  # a closure that is singular there
        return 0.0
    values = np.linalg.eigvals(motion)
    return float(max(np.abs(values.imag).max() / PHASE, np.abs(values).max() / STABLE))


def _sliding(system: System) -> Iterable[System]:
    """The system without the friction of its joints, if it has any."""
    level = {
        name: np.zeros_like(one.value)
        for name, one in system.parameters.items()
        if one.quantity in ("joint_friction", "joint_static_friction") and np.any(one.value)
    }
    if level:
        yield system.with_parameters(level)


def _pressed(system: System, q: Array) -> Iterable[Array]:
    """The configuration with all joints at their upper, and at their lower stops."""
    stops = stops_of(system)
    depth = PRESSED * stops.allowed
    for limit in (stops.upper + depth, stops.lower - depth):
        if np.isfinite(limit).any():
            found = q.copy()
            found[stops.coordinates] = np.where(np.isfinite(limit), limit, q[stops.coordinates])
            yield found
