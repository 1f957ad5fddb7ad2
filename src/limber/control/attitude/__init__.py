"""Attitude control of floating systems: quaternion feedback, slews, filters, allocation, momentum, an estimator."""

from limber.control.attitude.controller import AttitudeController
from limber.control.attitude.estimator import AttitudeEstimator
from limber.control.attitude.filters import SecondOrder, hub_modes, low_pass, notch, notches
from limber.control.attitude.linear import attitude_model
from limber.control.attitude.momentum import Unloading
from limber.control.attitude.optimal import OptimalAttitude
from limber.control.attitude.slew import AttitudeMotion, EigenAxisSlew

__all__ = [
    "AttitudeController",
    "AttitudeEstimator",
    "AttitudeMotion",
    "EigenAxisSlew",
    "OptimalAttitude",
    "SecondOrder",
    "Unloading",
    "attitude_model",
    "hub_modes",
    "low_pass",
    "notch",
    "notches",
]
