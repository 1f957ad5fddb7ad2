"""Exact models of sampled loops: held inputs, delays, and the covariance of noise between samples.

Between samples the input is held. With Phi(h) = exp(A h), Gamma(h) = integral of exp(A s) B over 0..h, and a delay of d
whole samples and a fraction f of a sample,

    x[k + 1] = Phi(T) x[k] + Gamma((1 - f) T) u[k - d] + Phi((1 - f) T) Gamma(f T) u[k - d - 1]

Outputs are read just before a command arrives, so the feedthrough D acts on the command that is held until then.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from limber.checks import Array, finite_numbers, number, shown
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


def sampled(model: LinearModel, sample_time: float, delay: ArrayLike = 0.0) -> LinearModel:
    """The exact sampled model of a continuous one with held inputs; commands take `delay` s to arrive.

    The delay is one number for all inputs, or one for each. Commands that have not yet arrived are additional states,
    and so is the command being held if it appears in the outputs (D).
    """
    T = number("sample_time", sample_time, above=0.0)
    if model.dt:
        raise ArgumentValueError(
            f"{model.name!r} is already sampled, every {model.dt:g} s: only a continuous model can be sampled."
        )
    n, m = model.B.shape
    given = finite_numbers("delay", delay, f"() or ({m},)")
    if given.shape not in ((), (m,)) or given.min(initial=0.0) < 0.0:
        raise ArgumentValueError(
            f"delay must be one number of at least 0, in s, or one for each of {m} inputs, got {shown(delay)}."
        )
    samples = np.broadcast_to(given, (m,)) / T
    whole = np.floor(samples + WHOLE).astype(int)
    part = np.maximum(0.0, samples - whole)
    part[part < WHOLE] = 0.0
    Phi, Gamma = held(model.A, model.B, T)
    late = np.zeros_like(Gamma)
    for f in np.unique(part[part > 0.0]):
        some = np.flatnonzero(part == f)
        rest, Gamma[:, some] = held(model.A, model.B[:, some], (1.0 - f) * T)
        late[:, some] = rest @ held(model.A, model.B[:, some], f * T)[1]
    # past commands u[k - 1], u[k - 2], ... that are still needed
    past = whole + ((part > 0.0) | model.D.any(axis=0))
    states = [(i, k) for i in range(1, past.max(initial=0) + 1) for k in range(m) if past[k] >= i]
    place = {state: n + at for at, state in enumerate(states)}
    size = n + len(states)
    A, B, C = np.zeros((size, size)), np.zeros((size, m)), np.zeros((len(model.C), size))
    A[:n, :n], C[:, :n] = Phi, model.C
    for k in range(m):
        if whole[k]:
            A[:n, place[whole[k], k]] += Gamma[:, k]
        else:
            B[:n, k] += Gamma[:, k]
        if part[k]:
            A[:n, place[whole[k] + 1, k]] += late[:, k]
        if model.D[:, k].any():
            C[:, place[whole[k] + 1, k]] += model.D[:, k]
        for i in range(1, past[k] + 1):
            if i == 1:
                B[place[1, k], k] = 1.0
            else:
                A[place[i, k], place[i - 1, k]] = 1.0
    names = tuple(f"{model.inputs[k]} {i} ago" for i, k in states)
    T_ = model.T
    if T_ is not None:
        T_ = np.hstack([T_, np.zeros((len(T_), len(states)))])
    return replace(
        model, A=A, B=B, C=C, D=np.zeros_like(model.D), states=model.states + names, dt=T, T=T_,
        hankel=None, error_bound=None,
    )  # fmt: skip


def bilinear(model: LinearModel, sample_time: float) -> LinearModel:
    """Discretize a continuous controller by the trapezoidal rule."""
    T, n = sample_time, model.order
    solve = np.linalg.inv(np.eye(n) - 0.5 * T * model.A) if n else np.zeros((0, 0))
    A = solve @ (np.eye(n) + 0.5 * T * model.A)
    B = solve @ model.B * T
    C = model.C @ solve
    D = model.D + 0.5 * model.C @ B
    return replace(model, A=A, B=B, C=C, D=D, dt=T, T=None, hankel=None, error_bound=None)


def covariance_of_noise(A: Array, B: Array, W: Array, T: float) -> Array:
    """The integral of exp(A s) B diag(W) B^T exp(A s)^T over 0..T.

    Van Loan's exponential (1978) contains exp(-A T), which is too large where motions decay within a sample. It is
    therefore used over a time h in which nothing decays much, and doubled: Q(2 h) = Q(h) + exp(A h) Q(h) exp(A h)^T.
    """
    n = len(A)
    doublings = max(0, math.ceil(math.log2(max(np.abs(A).sum(axis=0).max(initial=0.0) * T, 1.0))))
    block = np.zeros((2 * n, 2 * n))
    block[:n, :n], block[:n, n:], block[n:, n:] = -A, (B * W) @ B.T, A.T
    found = scipy.linalg.expm(block * (T / 2**doublings))
    Phi = found[n:, n:].T
    Q = Phi @ found[:n, n:]
    for _ in range(doublings):
        Q = Q + Phi @ Q @ Phi.T
        Phi = Phi @ Phi
    return 0.5 * (Q + Q.T)
