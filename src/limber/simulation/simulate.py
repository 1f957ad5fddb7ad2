"""`simulate`: a system in time."""

from __future__ import annotations

import ctypes
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, shown
from limber.dynamics.evaluate import check_system, quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError
from limber.kernels import compiled
from limber.kernels import layout as L
from limber.checks import unit_quaternion
from limber.simulation.drive import _FUNCTION, SAMPLED, Drive, callback, drive
from limber.simulation.methods import Method, methods

# the clock of `kernels.march`
TIME, STEP, END_TIME, NEXT_SAMPLE, SAMPLE, RTOL, ATOL, LARGEST = 0, 1, 2, 3, 4, 5, 6, 7
FRESH, STEPS, REJECTED, EVALUATIONS, OUTPUT, EVENT_NUMBER = 8, 9, 10, 11, 12, 13
CLOCK = 16
DONE, PAUSED, EVENT, STUCK = 0, 1, 2, 3
