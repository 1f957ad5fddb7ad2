"""A Runge-Kutta method as data: everything that the compiled loop knows about it.

Every method, explicit or diagonally implicit, is described by the rates that a step computes:

    k_0            the rate at the start of the step; it is the last rate of the step before
    k_1 .. k_s-1   the other stages, k_i at y + h sum_j A_ij k_j and t + c_i h
    k_s            the rate at the end, at y_new = y + h sum_j b_j k_j
    k_s+1 ..       extra stages, computed only in steps within which the state is requested

A method whose last stage is the rate at the end (first same as last) leaves that stage out of A, because every
method has k_s.  The stages of an implicit method all have A_ii = gamma except for the first, which is explicit, and its
last row of A is b (stiffly accurate): the last stage is the end of the step, and k_s is k_s-1.

Errors are weights of k_0 .. k_s.  An explicit method has one estimate, or two that are combined as in DOP853.

The state within a step, at the fraction x of it, is y + h sum_j w_j(x) k_j with polynomials

    w_j(x) = b_j x + d_j1 x z + d_j2 x^2 z + d_j3 x^2 z^2 + d_j4 x^3 z^2 + ...,      z = 1 - x.

Powers of x and z alternate, so that the state is exactly y_new at x = 1 and rounding errors stay small.

A record is one float64 array: a head of named places, which hold numbers, flags, and the offsets of the blocks
that follow it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from limber.checks import Array

# the head of a record: numbers and flags
STAGES = 0  # s
EXTRA_STAGES = 1
ALL_RATES = 2  # s + 1 + the extra stages
DENSE_DEGREE = 3  # the degree of the polynomials w_j
IS_IMPLICIT, GAMMA = 4, 5  # 1: every stage after the first is implicit; its diagonal coefficient
IS_ADAPTIVE = 6  # 1: steps are controlled by the error; 0: they all have one length
# the step control
ERROR_EXPONENT = 7  # the step goes with the error to this power: -1 / (error order + 1)
PROPORTIONAL_EXPONENT, INTEGRAL_EXPONENT = 8, 9
SAFETY, LEAST_FACTOR, LARGEST_FACTOR = 10, 11, 12
SECOND_WEIGHT = 13  # how much a second error estimate counts; 0: there is none
# the offsets of the blocks
AT_A, AT_B, AT_C = 14, 15, 16  # s x s, s, s
AT_ERRORS = 17  # rows of s + 1
AT_ERRORS_A = 18  # s, the first row of the errors times A: the error of what is integrated twice
AT_EXTRA_A, AT_EXTRA_C = 19, 20  # rows of ALL_RATES, one number each
AT_DENSE = 21  # b_j, d_j1, d_j2, ... for every rate
HEAD = 22


@dataclass(frozen=True)
class StepControl:
    """How the next step follows from the error of the last ones.

    A rejected step is repeated with safety * error^(-1 / (p + 1)) times its length, where p is the order of the error
    estimate (Hairer, Norsett & Wanner, II.4).  After an accepted one the error before it counts as well, so that
    steps limited by stability do not oscillate: proportional-integral control (Hairer & Wanner, IV.2).
    """

    safety: float = 0.9
    least: float = 0.2
    largest: float = 8.0
    proportional: float = 0.7
    integral: float = -0.4


@dataclass(frozen=True, eq=False)
class Method:
    """One Runge-Kutta method; the head of this file has the meaning of the arrays.

    order, error_order, dense_order : the orders of the solution, of the error estimate that controls the steps and of
        the state within a step.
    A, b, c : (s, s), (s,), (s,).
    dense : (rates, degree - 1), the coefficients d; see `hermite` and `from_powers`.
    errors : (estimates, s + 1); none for a method of fixed steps.
    second_weight : how much the second of two estimates counts.
    extra_A, extra_c : (extra stages, rates), (extra stages,).
    implicit : every stage after the first is implicit.
    """

    name: str
    order: int
    dense_order: int
    A: Array
    b: Array
    c: Array
    dense: Array
    error_order: int = 0
    errors: Array = field(default_factory=lambda: np.zeros((0, 0)))
    second_weight: float = 0.0
    extra_A: Array = field(default_factory=lambda: np.zeros((0, 0)))
    extra_c: Array = field(default_factory=lambda: np.zeros(0))
    implicit: bool = False
    control: StepControl = StepControl()

    @cached_property
    def stages(self) -> int:
        """The stages of a step, without the rate at its end."""
        return len(self.b)

    @cached_property
    def rates(self) -> int:
        """The rates that a step keeps at most."""
        return self.stages + 1 + len(self.extra_c)

    @cached_property
    def adaptive(self) -> bool:
        """Whether the steps are controlled by their error."""
        return len(self.errors) > 0

    @cached_property
    def record(self) -> Array:
        """The method as the compiled loop reads it."""
        head = np.zeros(HEAD)
        head[[STAGES, EXTRA_STAGES, ALL_RATES]] = self.stages, len(self.extra_c), self.rates
        head[DENSE_DEGREE] = 1 + self.dense.shape[1]
        head[[IS_IMPLICIT, IS_ADAPTIVE]] = self.implicit, self.adaptive
        head[GAMMA] = self.A[-1, -1] if self.implicit else 0.0
        exponent, control = -1.0 / (self.error_order + 1.0), self.control
        head[ERROR_EXPONENT] = exponent
        head[PROPORTIONAL_EXPONENT] = control.proportional * exponent
        head[INTEGRAL_EXPONENT] = control.integral * exponent
        head[[SAFETY, LEAST_FACTOR]] = control.safety, control.least
        head[[LARGEST_FACTOR, SECOND_WEIGHT]] = control.largest, self.second_weight
        all_stages = np.vstack([self.A, self.b])
        blocks = {
            AT_A: self.A, AT_B: self.b, AT_C: self.c, AT_ERRORS: self.errors,
            AT_ERRORS_A: self.errors[:1] @ all_stages if self.adaptive else np.zeros(0),
            AT_EXTRA_A: self.extra_A, AT_EXTRA_C: self.extra_c, AT_DENSE: np.column_stack([padded(self.b, self.rates), self.dense]),
        }  # fmt: skip
        sizes = [block.size for block in blocks.values()]
        head[list(blocks)] = HEAD + np.cumsum([0, *sizes[:-1]])
        return np.concatenate([head, *(block.ravel() for block in blocks.values())])


def padded(weights: Array, size: int) -> Array:
    """Weights with zeros behind them."""
    return np.append(weights, np.zeros(size - len(weights)))


def hermite(b: Array, rates: int) -> Array:
    """Dense output by the cubic through both ends of a step that has the rates there; of order 3."""
    start, end = np.eye(rates)[[0, len(b)]]
    b = padded(b, rates)
    return np.column_stack([start - b, 2.0 * b - start - end])


def from_powers(powers: Array) -> Array:
    """Dense output from w_j(x) = sum_p powers[j, p] x^(p + 1), as most methods are published.

    The sum of each row is b_j.
    """
    degree = powers.shape[1]
    basis = np.zeros((degree, degree))  # the functions x, x z, x^2 z, x^2 z^2, ... by powers of x
    x, z = np.polynomial.Polynomial([0.0, 1.0]), np.polynomial.Polynomial([1.0, -1.0])
    function = x
    for row in range(degree):
        basis[row, : row + 1] = function.coef[1:]
        function = function * (x if row % 2 else z)
    return np.linalg.solve(basis.T, powers.T).T[:, 1:]
