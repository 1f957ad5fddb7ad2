"""Identification: parameters of a system from measured data, and the design of informative experiments."""

from limber.identification.excitation import Excitation, FourierPath, excitation
from limber.identification.expected import Expected, expected
from limber.identification.experiment import Experiment, simulated_experiment
from limber.identification.fit import identify
from limber.identification.frequency import fit_frequency_response
from limber.identification.identified import Identified, Residuals
from limber.identification.information import Combination
from limber.identification.placement import Placement, place_sensors
from limber.identification.regression import Regression, regression
from limber.identification.unknowns import Unknown

__all__ = [
    "Combination",
    "Excitation",
    "Expected",
    "Experiment",
    "FourierPath",
    "Identified",
    "Placement",
    "Regression",
    "Residuals",
    "Unknown",
    "excitation",
    "expected",
    "fit_frequency_response",
    "identify",
    "place_sensors",
    "regression",
    "simulated_experiment",
]
