"""Frequency responses.

    G(s) = D + C (s I - A)^{-1} B,    s = i omega, or exp(i omega dt) of a sampled model

A is balanced and brought to complex Schur form Z U Z^H once. Each frequency then takes one back substitution with the
triangle s I - U, which runs over all frequencies at once: n^2 (m + p) / 2 operations per frequency. The result is exact
at each frequency, even if A cannot be diagonalized, as with rigid-body modes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from limber.checks import Array, numbers
from limber.control.poles import AT_REST
from limber.errors import ArgumentValueError
from limber.structures.threads import one_thread

if TYPE_CHECKING:
    from limber.control.linear_model import LinearModel

#: At most so many complex numbers are held for a part of the frequencies.
HELD = 300_000


class Responder:
    """The frequency response of one model at any complex s or z."""

    def __init__(self, model: LinearModel):
        balanced, (scale, _) = scipy.linalg.matrix_balance(model.A, permute=False, separate=True)
        self.U, Z = scipy.linalg.schur(balanced.astype(complex), output="complex")
        self.B = Z.conj().T @ (model.B / scale[:, None])
        self.C = (model.C * scale) @ Z
        self.D, self.dt = model.D, model.dt

    def at(self, s: np.ndarray) -> np.ndarray:
        """G (len(s), p, m) at complex s or z."""
        n, m = self.B.shape
        out = np.empty((len(s), *self.D.shape), dtype=complex)
        step = max(1, HELD // max(1, n * m))
        for start in range(0, len(s), step):
            part = s[start : start + step]
            x = np.empty((n, len(part), m), dtype=complex)
            for k in range(n - 1, -1, -1):
                right = self.B[k] + np.tensordot(self.U[k, k + 1 :], x[k + 1 :], axes=1)
                x[k] = right / (part - self.U[k, k])[:, None]
            out[start : start + step] = self.D + np.moveaxis(np.tensordot(self.C, x, axes=1), 0, 1)
        return out

    def along(self, omega: Array) -> np.ndarray:
        """G at frequencies, rad/s."""
        return self.at(np.exp(1j * omega * self.dt) if self.dt else 1j * omega)


def response(model: LinearModel, omega: ArrayLike) -> np.ndarray:
    """The frequency response at omega (k,), rad/s, or at one frequency: (k, p, m), or (p, m)."""
    given = numbers("omega", omega, "() or (k,)")
    if given.ndim > 1 or not np.isfinite(given).all():
        raise ArgumentValueError(
            f"omega must be finite frequencies in rad/s, one or a list of them, got shape {given.shape}."
        )
    with one_thread(), np.errstate(divide="ignore", invalid="ignore"):
        found = Responder(model).along(np.atleast_1d(given))
    return found if given.ndim else found[0]


def usual_frequencies(model: LinearModel, count: int = 600) -> Array:
    """Frequencies for plots of a model: logarithmic, a decade beyond its poles on either side, and dense near each
    pole.

    For a sampled model they end at half the sample rate.
    """
    rates = model.rates
    return with_peaks(spanned(rates, model.dt, count), rates)


def spanned(rates: np.ndarray, dt: float, count: int, decades: float = 1.0) -> Array:
    """Frequencies from below the slowest of some poles to above the fastest, by the given number of decades."""
    sizes = np.abs(rates[np.isfinite(rates)])
    sizes = sizes[sizes > AT_REST * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    high = min(high * 10.0**decades, np.pi / dt) if dt else high * 10.0**decades
    return np.geomspace(min(low * 10.0**-decades, high / 100.0), high, count)


def with_peaks(omega: Array, rates: np.ndarray) -> Array:
    """Add frequencies around each lightly damped pole within the range."""
    near = np.sinh(np.linspace(-4.0, 4.0, 41))
    added = [omega]
    for pole in rates[np.isfinite(rates)]:
        if pole.imag > 0.0 and abs(pole.real) < 0.2 * abs(pole):
            width = max(abs(pole.real), 1e-6 * abs(pole))
            added.append(pole.imag + width * near)
    found = np.unique(np.concatenate(added))
    return found[(found >= omega[0]) & (found <= omega[-1])]
