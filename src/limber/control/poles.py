"""Poles as frequencies and damping ratios, and transmission zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from limber.control.linear_model import LinearModel

#: A pole is at rest if it is below this fraction of the largest one; rounding leaves the square root of eps of double
#: zeros.
AT_REST = 1e-7
#: A pair of poles counts as undamped if its damping ratio is below this.
UNDAMPED = 1e-9
#: How many poles a printed table has at most.
LISTED = 40
#: A zero beyond this many times the size of A is at infinity.
FINITE = 1e6


@dataclass(frozen=True)
class Pole:
    """A real pole, or a complex pair, of a model in continuous time.

    value : the pole, 1/s; for a pair, the one with the positive imaginary part.
    count : 1 or 2.
    """

    value: complex
    count: int
    at_rest: bool = False

    @property
    def omega(self) -> float:
        """The natural frequency |value|, rad/s."""
        return 0.0 if self.at_rest else abs(self.value)

    @property
    def damping(self) -> float:
        """The damping ratio -Re / |value|, zero where it is only rounding; nan at rest."""
        if self.at_rest:
            return float("nan")
        ratio = -self.value.real / abs(self.value)
        return ratio if abs(ratio) > UNDAMPED else 0.0

    @property
    def kind(self) -> str:
        """A description of its motion, in words."""
        if self.at_rest:
            return "integrates"
        if self.damping == 0.0:
            return "undamped"
        if self.damping > 0.0:
            return "oscillates" if self.count == 2 else "decays"
        return "grows"


def grouped(rates: np.ndarray) -> list[Pole]:
    """Poles in continuous time, with each pair as one, the slowest first."""
    finite = np.asarray(rates, dtype=complex)
    finite = finite[np.isfinite(finite)]
    largest = float(np.abs(finite).max(initial=0.0))
    found = []
    for value in sorted(finite, key=lambda x: (abs(x), x.real)):
        rest = bool(abs(value) <= AT_REST * largest)
        if rest or abs(value.imag) <= 1e-12 * abs(value):
            found.append(Pole(complex(value), 1, rest))
        elif value.imag > 0.0:
            found.append(Pole(complex(value), 2))
    return found


def described_poles(model: LinearModel) -> str:
    """A table of poles with frequencies and damping ratios."""
    poles = grouped(model.rates)
    lines = ["   Hz          rad/s       damping     behaviour"]
    for pole in poles[:LISTED]:
        damping = "-" if pole.at_rest else f"{pole.damping:.4g}"
        lines.append(
            f"   {pole.omega / (2.0 * np.pi):<10.5g}  {pole.omega:<10.5g}  {damping:<10}  {pole.kind}"
        )
    if len(poles) > LISTED:
        lines.append(f"   ... and {len(poles) - LISTED} more")
    return "\n".join(lines)


def transmission_zeros(model: LinearModel) -> np.ndarray:
    """The finite z for which [A - z I, B; C, D] is singular."""
    n, m = model.B.shape
    p = model.C.shape[0]
    if m != p:
        raise ArgumentValueError(
            f"zeros need as many outputs as inputs, got {p} and {m}: choose some with model.select(inputs=[...], "
            "outputs=[...])."
        )
    A, (d, _) = scipy.linalg.matrix_balance(model.A, permute=False, separate=True)
    B, C = model.B / d[:, None], model.C * d
    b, c = (float(np.abs(X).max(initial=0.0)) or 1.0 for X in (B, C))
    pencil = np.block([[A, B / b], [C / c, model.D / (b * c)]])
    weight = np.zeros_like(pencil)
    weight[:n, :n] = np.eye(n)
    alpha, beta = scipy.linalg.eig(pencil, weight, right=False, homogeneous_eigvals=True)
    largest = np.abs(A).sum(axis=1).max(initial=1.0)
    finite = np.abs(alpha) < FINITE * largest * np.abs(beta)
    return alpha[finite] / beta[finite]
