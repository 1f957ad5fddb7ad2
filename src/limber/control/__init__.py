"""Sensors, actuators and controllers in loops with several sample rates, and linear models.

    loop = lb.control.Loop(system, controller, sensors=[...], actuators=[...], delay=...)
    result = lb.simulate(system, 10.0, torque=loop)

`limber.control.controller` describes the interface of a controller.
"""

from limber.control.active_damping import ActiveDamping
from limber.control.actuators import (
    Actuator,
    Drive,
    MomentGyro,
    ReactionWheel,
    SeriesElastic,
    Servo,
    Thruster,
    fit,
)
from limber.control.attitude import (
    AttitudeController,
    AttitudeEstimator,
    AttitudeMotion,
    EigenAxisSlew,
    OptimalAttitude,
    SecondOrder,
    Unloading,
    attitude_model,
    hub_modes,
    low_pass,
    notch,
    notches,
)
from limber.control.carried_object import CarriedObject
from limber.control.computed_torque import ComputedTorque
from limber.control.consistency import Consistency, mean_test, nees, nis, whiteness
from limber.control.controller import Controller, Measured
from limber.control.datasheet import DataSheet, datasheet, datasheets
from limber.control.friction import without_friction
from limber.control.guard import Guard
from limber.control.inversion import Inversion, StableInversion, stable_inversion
from limber.control.kalman import Kalman
from limber.control.linear_model import LinearModel
from limber.control.linearize import linearize
from limber.control.loop import Loop
from limber.control.lqr import LQR, lqr_gain
from limber.control.margins import LoopMargins, Margins, margins
from limber.control.monte_carlo import monte_carlo
from limber.control.monte_carlo_result import MonteCarlo
from limber.control.optimal import (
    NMPC,
    Effort,
    MinimumTime,
    NodeBounds,
    NodeTracking,
    OptimalControl,
    OptimalMotion,
    Tracking,
    Vibration,
    acados,
    do_mpc_model,
    opti,
)
from limber.control.patent import (
    DesiredMotion,
    FlexibleArmController,
    Impedance,
    Noise,
    Optimal,
    rest_to_rest,
)
from limber.control.pid import PD, PID
from limber.control.python_control import from_control
from limber.control.realtime import worst_case_time
from limber.control.sensors import (
    Accelerometer,
    Encoder,
    ForceTorque,
    Gyro,
    Sensor,
    StarTracker,
    StrainGauge,
    Tachometer,
)
from limber.control.shaping import Shaped, Shaper, ei, frequencies_along, scheduled, zv, zvd
from limber.control.singular_perturbation import SingularPerturbation
from limber.control.spillover import ModeChange, Spillover, spillover
from limber.control.step import StepInfo, step_info
from limber.control.tune import Tuned, tune

__all__ = [
    "LQR",
    "NMPC",
    "PD",
    "PID",
    "Accelerometer",
    "ActiveDamping",
    "Actuator",
    "AttitudeController",
    "AttitudeEstimator",
    "AttitudeMotion",
    "CarriedObject",
    "ComputedTorque",
    "Consistency",
    "Controller",
    "DataSheet",
    "DesiredMotion",
    "Drive",
    "Effort",
    "EigenAxisSlew",
    "Encoder",
    "FlexibleArmController",
    "ForceTorque",
    "Guard",
    "Gyro",
    "Impedance",
    "Inversion",
    "Kalman",
    "LinearModel",
    "Loop",
    "LoopMargins",
    "Margins",
    "Measured",
    "MinimumTime",
    "ModeChange",
    "MomentGyro",
    "MonteCarlo",
    "NodeBounds",
    "NodeTracking",
    "Noise",
    "Optimal",
    "OptimalAttitude",
    "OptimalControl",
    "OptimalMotion",
    "ReactionWheel",
    "SecondOrder",
    "Sensor",
    "SeriesElastic",
    "Servo",
    "Shaped",
    "Shaper",
    "SingularPerturbation",
    "Spillover",
    "StableInversion",
    "StarTracker",
    "StepInfo",
    "StrainGauge",
    "Tachometer",
    "Thruster",
    "Tracking",
    "Tuned",
    "Unloading",
    "Vibration",
    "acados",
    "attitude_model",
    "datasheet",
    "datasheets",
    "do_mpc_model",
    "ei",
    "fit",
    "frequencies_along",
    "from_control",
    "hub_modes",
    "linearize",
    "low_pass",
    "lqr_gain",
    "margins",
    "mean_test",
    "monte_carlo",
    "nees",
    "nis",
    "notch",
    "notches",
    "opti",
    "rest_to_rest",
    "scheduled",
    "spillover",
    "stable_inversion",
    "step_info",
    "tune",
    "whiteness",
    "without_friction",
    "worst_case_time",
    "zv",
    "zvd",
]
