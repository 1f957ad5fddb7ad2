"""A spacecraft with two unequal flexible panels that rotates by 10 degrees, under attitude controllers.

It has four reaction wheels of 0.2 N m, a 2 Hz star tracker, a 10 Hz gyro with a bias, and commands that are 50 ms late.
Unless it is shaped, the slew has a constant acceleration and then a constant deceleration.
"""

from __future__ import annotations

import numpy as np

import limber as lb
from limber import control
from limber.checks import Array
from limber.comparison.plant import Catalogue, Plant
from limber.control.rotations import conjugate, product, quaternion_of_vector

SAMPLE, DELAY = 0.1, 0.05
#: What is tried: bandwidths, rad/s, where the panels flap at 1.3 rad/s and above, and attitude errors that set the weights of LQG, rad.
BANDWIDTHS = (0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4)
ROTATIONS = (1e-4, 3e-4, 1e-3, 3e-3)
TURN = np.radians(10.0) * np.array([0.8, 0.0, 0.6])
WHEELS = tuple(
    control.datasheet("honeywell-hr16-50").make(f"wheel{i + 1}", axis)
    for i, axis in enumerate([[1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1]])
)
#: The settings of each controller, chosen from values that `limber compare spacecraft --tune` tries (docs/guide/comparison.md).
SETTINGS = {
    "PD": {"bandwidth": 0.14},
    "PD, notches": {"bandwidth": 0.28},
    "PD, roll-off": {"bandwidth": 0.05},
    "PD, ZVD": {"bandwidth": 0.2},
    "PD, notches, ZVD": {"bandwidth": 0.28},
    "PID, notches, ZVD": {"bandwidth": 0.4, "integral_time": 30.0},
    "LQG": {"rotation": 0.003},
    "LQG, ZVD": {"rotation": 0.003},
}
CATALOGUE = Catalogue()


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
        changed=s.with_parameters({f"{panel} panel.stiffness_scale": 0.8 for panel in ("long", "short")}),
        path=lb.trajectories.Trapezoid(0.0, 1.0, 1.0, 0.002), duration=120.0, window=(80.0, 120.0),
        error=error, error_unit="mrad", error_scale=1e3, tolerance=5e-4,
        deflections=deflections,
        watched="tip of the long panel", loop=loop, entries=CATALOGUE.entries(SETTINGS),
    )  # fmt: skip


def deflections(result: lb.Result) -> Array:
    """Deflections of the tips of the panels, out of plane and in plane."""
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
    """The commanded slew."""
    return control.EigenAxisSlew([1.0, 0.0, 0.0, 0.0], quaternion_of_vector(TURN), plant.path)


def shaped(plant: Plant) -> control.EigenAxisSlew:
    """The slew shaped for the two modes that torques on the hub excite most."""
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
    """Notches at the five modes that torques on the hub excite most."""
    return control.notches(plant.system, "hub", 5, width=0.3)


@CATALOGUE.entry("PD", bandwidth=BANDWIDTHS)
def pd(plant: Plant, bandwidth: float = 0.1):
    """PD control without filters."""
    return controlled(plant, bandwidth, slew(plant))


@CATALOGUE.entry("PD, notches", bandwidth=BANDWIDTHS)
def with_notches(plant: Plant, bandwidth: float = 0.4):
    """Notches prevent the loop from exciting the panels."""
    return controlled(plant, bandwidth, slew(plant), filters=notches(plant))


@CATALOGUE.entry("PD, roll-off", bandwidth=(0.02, 0.03, 0.05, 0.07, 0.1))
def roll_off(plant: Plant, bandwidth: float = 0.05):
    """Gain stabilization: a roll-off above eight times the bandwidth, which requires a slow loop."""
    return controlled(plant, bandwidth, slew(plant), filters=(control.low_pass(8.0 * bandwidth),))


@CATALOGUE.entry("PD, ZVD", bandwidth=BANDWIDTHS)
def pd_shaped(plant: Plant, bandwidth: float = 0.1):
    """PD control with a shaped slew."""
    return controlled(plant, bandwidth, shaped(plant))


@CATALOGUE.entry("PD, notches, ZVD", bandwidth=BANDWIDTHS)
def notches_shaped(plant: Plant, bandwidth: float = 0.4):
    """Notches in the loop, and a shaped slew."""
    return controlled(plant, bandwidth, shaped(plant), filters=notches(plant))


@CATALOGUE.entry("PID, notches, ZVD", bandwidth=BANDWIDTHS, integral_time=(30.0, 100.0))
def integral(plant: Plant, bandwidth: float = 0.4, integral_time: float = 30.0):
    """The same with an integral."""
    return controlled(
        plant, bandwidth, shaped(plant), filters=notches(plant), integral_time=integral_time
    )


def _optimal(plant: Plant, reference, rotation: float):
    return plant.loop(
        control.OptimalAttitude(
            "hub", sample_time=SAMPLE, reference=reference, rotation=rotation, observer=control.AttitudeEstimator()
        )
    )  # fmt: skip


@CATALOGUE.entry("LQG", rotation=ROTATIONS)
def lqg(plant: Plant, rotation: float = 1e-3):
    """Feedback of attitude and panels, which are estimated by its model."""
    return _optimal(plant, slew(plant), rotation)


@CATALOGUE.entry("LQG, ZVD", rotation=ROTATIONS)
def lqg_shaped(plant: Plant, rotation: float = 1e-3):
    """The same with a shaped slew."""
    return _optimal(plant, shaped(plant), rotation)
