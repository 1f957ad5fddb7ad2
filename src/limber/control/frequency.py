"""Frequency responses.

    G(s) = D + C (s I - A)^{-1} B,    s = i omega, or exp(i omega dt) of a sampled model

A is balanced and brought to complex Schur form Z U Z^H once. Each frequency then takes one back substitution with the
triangle s I - U, which runs over all frequencies at once: n^2 (m + p) / 2 operations per frequency. The result is exact
at each frequency, even if A cannot be diagonalized, as with rigid-body modes.

Balancing gives rows and columns equal sizes. Where the column of a coordinate is zero except for rounding, because nothing
depends on it, its row becomes so small that the Schur form loses it. A correction by the equations shows that, and such
models take a solution of their own at each frequency.
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

#: At most this many complex numbers are held for a part of the frequencies.
HELD = 300_000
#: The Schur form serves if a correction changes no output by more than this fraction, at this many frequencies.
SOUND, PROBES = 1e-6, 9


class Responder:
    """The frequency response of one model at any complex s or z."""

    def __init__(self, model: LinearModel):
        self._model = model
        balanced, (scale, _) = scipy.linalg.matrix_balance(model.A, permute=False, separate=True)
        self.U, Z = scipy.linalg.schur(balanced.astype(complex), output="complex")
        self._to = Z.conj().T / scale
        self.B = self._to @ model.B
        self.C = (model.C * scale) @ Z
        self.D, self.dt = model.D, model.dt
        self._sound = self._is_sound(scale[:, None] * Z)

    def at(self, s: np.ndarray) -> np.ndarray:
        """G (len(s), p, m) at complex s or z; at a pole it is not finite."""
        A, B, C = self._model.A, self._model.B, self._model.C
        n, m = self.B.shape
        out = np.empty((len(s), *self.D.shape), dtype=complex)
        each = n * m if self._sound else n * n
        step = max(1, HELD // max(1, each))
        for start in range(0, len(s), step):
            part = s[start : start + step]
            if self._sound:
                with np.errstate(divide="ignore", invalid="ignore"):
                    x = self._by_triangle(part, self.B[:, None, :])
                    found = np.moveaxis(np.tensordot(self.C, x, axes=1), 0, 1)
            else:
                found = C @ np.linalg.solve(part[:, None, None] * np.eye(n) - A, B)
            out[start : start + step] = self.D + found
        return out

    def _by_triangle(self, s: np.ndarray, right: np.ndarray) -> np.ndarray:
        """x (n, len(s), m) with (s I - U) x = right."""
        x = np.empty((len(right), len(s), right.shape[2]), dtype=complex)
        for k in range(len(x) - 1, -1, -1):
            rest = right[k] + np.tensordot(self.U[k, k + 1 :], x[k + 1 :], axes=1)
            x[k] = rest / (s - self.U[k, k])[:, None]
        return x

    def _is_sound(self, V: np.ndarray) -> bool:
        """Whether a correction hardly changes the outputs at frequencies that span the poles; V maps to the states."""
        rates = np.abs(np.diag(self.U))
        fastest = float(rates.max(initial=0.0)) or 1.0
        slowest = float(rates[rates > AT_REST * fastest].min(initial=fastest))
        omega = np.geomspace(1e-2 * slowest, 1e2 * fastest, PROBES)
        s = np.exp(1j * np.geomspace(1e-4, np.pi, PROBES)) if self.dt else 1j * omega
        A, B = self._model.A, self._model.B[:, None, :]
        with np.errstate(all="ignore"):
            x = self._by_triangle(s, self.B[:, None, :])
            states = np.tensordot(V, x, axes=1)
            left = B - s[:, None] * states + np.tensordot(A, states, axes=1)
            more = self._by_triangle(s, np.tensordot(self._to, left, axes=1))
            found, change = (np.abs(np.tensordot(self.C, y, axes=1)) for y in (x, more))
            return not (
                change.max(axis=2, initial=0.0) > SOUND * found.max(axis=2, initial=0.0)
            ).any()

    def along(self, omega: Array) -> np.ndarray:
        """G at frequencies, rad/s."""
        return self.at(np.exp(1j * omega * self.dt) if self.dt else 1j * omega)


def response(model: LinearModel, omega: ArrayLike) -> np.ndarray:
    """The frequency response at omega (k,), rad/s, or at one frequency: (k, p, m), or (p, m)."""
    given = numbers("omega", omega, "() or (k,)")
    if given.ndim > 1 or not np.isfinite(given).all():
        raise ArgumentValueError(
            f"omega must be one finite frequency in rad/s or a list of them, got shape {given.shape}."
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
