"""A spacecraft with two unequal flexible panels that turns by 10 degrees, under attitude controllers.

Four reaction wheels of 0.2 N m, a star tracker of 2 Hz, a gyro of 10 Hz with a bias, commands that are 50 ms late.  The slew has a
constant acceleration and then a constant deceleration, as far as nothing shapes it.
"""

from __future__ import annotations

import numpy as np

import limber as lb
from limber import control
from limber.checks import Array
from limber.comparison.plant import Entry, Plant, entry
from limber.control.rotations import conjugate, product, quaternion_of_vector

SAMPLE, DELAY = 0.1, 0.05
#: Bandwidths, rad/s; the panels flap at 1.3 rad/s and above.
SLOW, QUICK, ROLLED_OFF = 0.1, 0.4, 0.05
TURN = np.radians(10.0) * np.array([0.8, 0.0, 0.6])
WHEELS = tuple(
    control.datasheet("honeywell-hr16-50").make(f"wheel{i + 1}", axis)
    for i, axis in enumerate([[1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1]])
)
ENTRIES: dict[str, Entry] = {}


def spacecraft() -> Plant:
    """The plant."""
    a = lb.models.spacecraft()
    for wheel in WHEELS:
        wheel.attach(a, to="hub")
    s = a.build()
    goal = quaternion_of_vector(TURN)

    def error(result: lb.Result) -> Array:
        return np.array(
            [2.0 * np.linalg.norm(product(conjugate(goal), q)[1:]) for q in result.q[:, :4]]
        )

    def loop(controller) -> control.Loop:
        return control.Loop(s, controller, sensors=sensors(), actuators=WHEELS, delay=DELAY, seed=3)

    return Plant(
        name="spacecraft", title="Spacecraft with two panels, turn of 10 degrees", system=s, q0=s.neutral(),
        path=lb.trajectories.Trapezoid(0.0, 1.0, 1.0, 0.002), duration=120.0, window=(80.0, 120.0),
        error=error, error_unit="mrad", error_scale=1e3, tolerance=5e-4,
        deflections=deflections,
        watched="tip of the long panel", loop=loop, entries=ENTRIES,
    )  # fmt: skip


def deflections(result: lb.Result) -> Array:
    """Of the tips of the panels, out of their plane and in it."""
    tips = [result.deflection(panel, "tip") for panel in ("long panel", "short panel")]
    return np.column_stack([tip[:, axis] for axis in (2, 1) for tip in tips])


def sensors() -> list:
    """Star tracker, gyro, tachometers of the wheels."""
    return [
        control.datasheet("st5000-star-tracker").make("hub", rate=2.0, delay=0.2),
        control.Gyro("hub", rate=10.0, noise_density=1e-6, bias=[2e-5, -1e-5, 3e-5]),
        control.Tachometer([wheel.name for wheel in WHEELS], rate=10.0),
    ]


def slew(plant: Plant) -> control.EigenAxisSlew:
    """The turn as it is asked for."""
    return control.EigenAxisSlew([1.0, 0.0, 0.0, 0.0], quaternion_of_vector(TURN), plant.path)


def shaped(plant: Plant) -> control.EigenAxisSlew:
    """The turn shaped for the two modes that torques on the hub excite most."""
    first, second = (omega for omega, _ in control.hub_modes(plant.system, "hub")[:2])
    return slew(plant).shaped(control.zvd(first) * control.zvd(second))


def controlled(plant: Plant, bandwidth: float, reference, **options) -> control.Loop:
    """Quaternion feedback with an estimator."""
    return plant.loop(
        control.AttitudeController(
            "hub", bandwidth, sample_time=SAMPLE, reference=reference, observer=control.AttitudeEstimator(), **options
        )
    )  # fmt: skip


def notches(plant: Plant) -> tuple:
    """Of the five modes that torques on the hub excite most."""
    return control.notches(plant.system, "hub", 5, width=0.3)


@entry(ENTRIES, "PD, slow")
def slow(plant: Plant):
    """A bandwidth far below the panels, without filters."""
    return controlled(plant, SLOW, slew(plant))


@entry(ENTRIES, "PD, quick")
def quick(plant: Plant):
    """Four times that: unstable with the sample time and the delay of this loop."""
    return controlled(plant, QUICK, slew(plant))


@entry(ENTRIES, "PD, quick, notches")
def with_notches(plant: Plant):
    """Notches keep the quick loop off the panels."""
    return controlled(plant, QUICK, slew(plant), filters=notches(plant))


@entry(ENTRIES, "PD, slow, ZVD")
def slow_shaped(plant: Plant):
    """The slow loop with a shaped turn."""
    return controlled(plant, SLOW, shaped(plant))


@entry(ENTRIES, "PD, quick, notches, ZVD")
def quick_shaped(plant: Plant):
    """Notches in the loop, and the turn shaped."""
    return controlled(plant, QUICK, shaped(plant), filters=notches(plant))


@entry(ENTRIES, "PID, quick, notches, ZVD")
def integral(plant: Plant):
    """The same with an integral."""
    return controlled(plant, QUICK, shaped(plant), filters=notches(plant), integral_time=30.0)


@entry(ENTRIES, "PD, very slow, roll-off")
def roll_off(plant: Plant):
    """Gain stabilization: what is above 0.4 rad/s is rolled off, and the loop must be slow for that."""
    return controlled(plant, ROLLED_OFF, slew(plant), filters=(control.low_pass(0.4),))


@entry(ENTRIES, "LQG")
def lqg(plant: Plant):
    """Feedback of attitude and panels, which it estimates by its model."""
    return plant.loop(
        control.OptimalAttitude(
            "hub", sample_time=SAMPLE, reference=slew(plant), observer=control.AttitudeEstimator()
        )
    )
