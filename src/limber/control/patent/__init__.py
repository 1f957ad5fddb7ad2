"""The loop of US 5,546,508 (Jain & Rodriguez, Figs. 4 and 6): control of flexible arms by their dynamics.

`controller` has the loop, `processors` the parts of Fig. 6, `desired` the motion to follow, `gains` the feedback.
"""

from limber.control.patent.controller import FlexibleArmController
from limber.control.patent.desired import DesiredMotion, rest_to_rest
from limber.control.patent.gains import Impedance, Noise, Optimal

__all__ = [
    "DesiredMotion",
    "FlexibleArmController",
    "Impedance",
    "Noise",
    "Optimal",
    "rest_to_rest",
]
