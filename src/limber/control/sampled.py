"""Exact models of sampled loops: held inputs, delays.

Between samples the input is held, so that with Phi(h) = exp(A h), Gamma(h) = integral of exp(A s) B over 0..h, and a delay
of d whole samples and a part f of one,

    x[k + 1] = Phi(T) x[k] + Gamma((1 - f) T) u[k - d] + Phi((1 - f) T) Gamma(f T) u[k - d - 1]

Outputs are read just before a command arrives: their direct part D acts with the command that is held until then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from limber.checks import Array, number
from limber.errors import ArgumentValueError

if TYPE_CHECKING:
    from limber.control.linear_model import LinearModel

#: A delay counts as whole samples if it is this near to them.
WHOLE = 1e-9


def held(A: Array, B: Array, h: float) -> tuple[Array, Array]:
    """Phi(h) and Gamma(h)."""
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A * h, B * h
    found = scipy.linalg.expm(block)
    return found[:n, :n], found[:n, n:]


def sampled(model: LinearModel, sample_time: float, delay: float = 0.0) -> LinearModel:
    """The exact model of a continuous one at sample times, its inputs held; commands take `delay` s to arrive.

    Commands that are on their way, and the one that is held if outputs show it (D), are further states.
    """
    T = number("sample_time", sample_time, above=0.0)
    delay = number("delay", delay, minimum=0.0)
    if model.dt:
        raise ArgumentValueError(
            f"{model.name!r} is sampled already, every {model.dt:g} s: only a continuous model can be."
        )
    n, m = model.B.shape
    whole = int(np.floor(delay / T + WHOLE))
    part = max(0.0, delay / T - whole)
    part = 0.0 if part < WHOLE else part
    Phi, Gamma = held(model.A, model.B, T)
    late = np.zeros_like(Gamma)
    if part:
        rest, Gamma = held(model.A, model.B, (1.0 - part) * T)
        late = rest @ held(model.A, model.B, part * T)[1]
    # past commands u[k - 1], u[k - 2], ... that are still needed
    past = whole + (1 if part or model.D.any() else 0)
    A = np.zeros((n + past * m, n + past * m))
    B = np.zeros((n + past * m, m))
    C = np.zeros((len(model.C), n + past * m))

    def of(i: int) -> slice:
        """The columns of u[k - i]."""
        return slice(n + (i - 1) * m, n + i * m)

    A[:n, :n], C[:, :n] = Phi, model.C
    if whole:
        A[:n, of(whole)] += Gamma
    else:
        B[:n] += Gamma
    if part:
        A[:n, of(whole + 1)] += late
    if model.D.any():
        C[:, of(whole + 1)] += model.D
    if past:
        B[of(1)] = np.eye(m)
        for i in range(2, past + 1):
            A[of(i), of(i - 1)] = np.eye(m)
    names = tuple(f"{name} {i} ago" for i in range(1, past + 1) for name in model.inputs)
    T_ = model.T
    if T_ is not None:
        T_ = np.hstack([T_, np.zeros((len(T_), past * m))])
    return replace(
        model, A=A, B=B, C=C, D=np.zeros_like(model.D), states=model.states + names, dt=T, T=T_,
        hankel=None, error_bound=None,
    )  # fmt: skip


def bilinear(model: LinearModel, sample_time: float) -> LinearModel:
    """A continuous controller as a program runs it, by the trapezoidal rule."""
    T, n = sample_time, model.order
    solve = np.linalg.inv(np.eye(n) - 0.5 * T * model.A) if n else np.zeros((0, 0))
    A = solve @ (np.eye(n) + 0.5 * T * model.A)
    B = solve @ model.B * T
    C = model.C @ solve
    D = model.D + 0.5 * model.C @ B
    return replace(model, A=A, B=B, C=C, D=D, dt=T, T=None, hankel=None, error_bound=None)
