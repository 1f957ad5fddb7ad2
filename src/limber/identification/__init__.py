"""Identification: parameters of a system from measured data, and experiments that tell most about them."""

from limber.identification.experiment import Experiment, simulated_experiment
from limber.identification.fit import identify
from limber.identification.identified import Identified, Residuals
from limber.identification.information import Combination
from limber.identification.unknowns import Unknown

__all__ = [
    "Combination",
    "Experiment",
    "Identified",
    "Residuals",
    "Unknown",
    "identify",
    "simulated_experiment",
]
