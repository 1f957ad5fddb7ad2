"""Model reduction: some of the modes, or the states that are most controllable and observable.

Both split a model into two uncoupled parts. A real Schur form with the chosen poles first, [[A1, A12], [0, A2]], and
the solution of A1 X - X A2 = -A12 give

    x = V1 x1 + V2 x2,    x1' = A1 x1 + B1 u,    x2' = A2 x2 + B2 u

This also works for multiple poles, such as those of rigid-body modes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg

from limber.checks import Array, flag, integer, shown, whole
from limber.control.poles import AT_REST, grouped
from limber.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from limber.control.linear_model import LinearModel

#: A pole decays if its real part is below minus this fraction of its size; others are split off before balancing.
DECAYS = 1e-9
#: States whose Hankel singular value is below this fraction of the largest are rounding: they are always left out.
SOUND = 1e-14


class Part(NamedTuple):
    """One part of a model: its matrices, and V, which maps its states to those of the model."""

    A: Array
    B: Array
    C: Array
    V: Array


def split(model: LinearModel, first: Callable[[complex], bool]) -> tuple[Part, Part]:
    """Split a model into the part whose poles `first` accepts, and the rest."""
    balanced, (scale, _) = scipy.linalg.matrix_balance(model.A, permute=False, separate=True)
    S, Z, n = scipy.linalg.schur(
        balanced, output="real", sort=lambda re, im=0.0: bool(first(complex(re, im)))
    )
    A1, A12, A2 = S[:n, :n], S[:n, n:], S[n:, n:]
    X = scipy.linalg.solve_sylvester(A1, -A2, -A12) if n and n < len(S) else np.zeros(A12.shape)
    V1, V2 = Z[:, :n], Z[:, :n] @ X + Z[:, n:]
    W1, W2 = Z[:, :n].T - X @ Z[:, n:].T, Z[:, n:].T
    B, C = model.B / scale[:, None], model.C * scale
    return tuple(
        Part(A, W @ B, C @ V, scale[:, None] * V) for A, V, W in ((A1, V1, W1), (A2, V2, W2))
    )  # type: ignore[return-value]


def modal(model: LinearModel, keep: Any, *, static: bool = True) -> LinearModel:
    """Return the model with some of its modes.

    Parameters
    ----------
    keep : how many of the slowest modes, or a list of their numbers, counted from 0 in the order of the printed table
        of poles. A pair of poles is one mode. All poles at rest together are mode 0, which the others need to be
        meaningful.
    static : whether the other modes act quasi-statically, by their flexibility (a part of D; also called residual
        flexibility or static correction). The response is then exact at frequency zero. Its error at low frequencies is
        proportional to the frequency, and for positions of undamped systems to its square.
    """
    if model.dt:
        raise ArgumentValueError(
            f"modal is for continuous models, but {model.name!r} is sampled: reduce the model before sampling it."
        )
    modes = _modes(model)
    chosen = _chosen(keep, len(modes))
    wanted = np.concatenate([modes[i] for i in chosen])
    others = [modes[i] for i in range(len(modes)) if i not in chosen]
    rest = np.concatenate(others) if others else np.zeros(0, dtype=complex)

    def first(pole: complex) -> bool:
        return not rest.size or bool(np.abs(wanted - pole).min() < np.abs(rest - pole).min())

    kept, left = split(model, first)
    if len(kept.A) != len(wanted):
        raise ArgumentValueError(
            f"keep={shown(keep)} separates poles of {model.name!r} that are equal to within rounding: keep all of them or "
            "none."
        )
    D = model.D
    if flag("static", static) and len(left.A):
        if 0 not in chosen and _rests(model):
            raise ArgumentValueError(
                "the modes at rest (mode 0) have no flexibility: keep them, or take static=False."
            )
        D = D - left.C @ np.linalg.solve(left.A, left.B)
    return replace(
        model, A=kept.A, B=kept.B, C=kept.C, D=D, states=_states(len(kept.A)),
        T=None if model.T is None else model.T @ kept.V, hankel=None, error_bound=None,
    )  # fmt: skip


def balanced(model: LinearModel, order: int) -> LinearModel:
    """Return the model with the `order` most controllable and observable states (balanced truncation).

    Poles that do not decay (rigid-body modes, unstable ones) are split off and kept; the stable rest is balanced and
    truncated. `hankel` of the result has the Hankel singular values s of that rest, and `error_bound` is twice the sum
    of those left out, which bounds the error of every singular value of the frequency response at any frequency.
    """
    order = whole("order", order, 1)
    if model.dt:
        raise ArgumentValueError(
            f"balanced is for continuous models, but {model.name!r} is sampled: reduce the model before sampling it."
        )
    largest = float(np.abs(model.poles).max(initial=0.0))

    def lasts(pole: complex) -> bool:
        return pole.real > -DECAYS * abs(pole) or abs(pole) <= AT_REST * largest

    kept, stable = split(model, lasts)
    fixed = len(kept.A)
    if order > model.order or order < fixed:
        raise ArgumentValueError(
            f"order={order} must be between {fixed}, the number of poles of {model.name!r} that do not decay, and {model.order}."
            + ("" if fixed < model.order else " None decays: give the bodies and joints damping.")
        )
    V, W, hankel = _balancing(stable)
    r = min(order - fixed, V.shape[1])
    A = scipy.linalg.block_diag(kept.A, W[:, :r].T @ stable.A @ V[:, :r])
    B = np.vstack([kept.B, W[:, :r].T @ stable.B])
    C = np.hstack([kept.C, stable.C @ V[:, :r]])
    T = None
    if model.T is not None:
        T = model.T @ np.hstack([kept.V, stable.V @ V[:, :r]])
    return replace(
        model, A=A, B=B, C=C, states=_states(len(A)), T=T, hankel=hankel,
        error_bound=2.0 * float(hankel[r:].sum()),
    )  # fmt: skip


def _balancing(part: Part) -> tuple[Array, Array, Array]:
    """V, W with W^T V = 1 and the Hankel values of a stable part, by square roots of its Gramians."""
    if not len(part.A):
        none = np.zeros((0, 0))
        return none, none, np.zeros(0)
    reached, seen = gramian_root(part.A, part.B), gramian_root(part.A.T, part.C.T)
    U, hankel, Vt = np.linalg.svd(seen.T @ reached)
    n = int((hankel > SOUND * hankel.max(initial=0.0)).sum())
    scale = 1.0 / np.sqrt(hankel[:n])
    return (reached @ Vt.T)[:, :n] * scale, (seen @ U)[:, :n] * scale, hankel


def gramian_root(A: Array, B: Array) -> Array:
    """R (n, n) with R R^T = P, A P + P A^T + B B^T = 0, for a stable A.

    P itself is never computed: small parts of it would be lost in the rounding of large ones, and those of R with them.  In a
    complex Schur form A = [[A1, a], [0, p]], the last column [u, t] of an upper triangular R follows from

        t = |b| / sqrt(-2 Re p),    (A1 + conj(p)) u = -(t a + B1 b^* / t)

    with b the last row of B, and the rest is the same problem with A1 and B1 - u b / t (Hammarling 1982).
    """
    S, Z = scipy.linalg.schur(A.astype(complex), output="complex")
    B = Z.conj().T @ B
    n = len(S)
    R = np.zeros((n, n), dtype=complex)
    for k in range(n - 1, -1, -1):
        size = float(np.linalg.norm(B[k]))
        if size == 0.0:
            continue
        p, b = S[k, k], B[k] / size
        rate = np.sqrt(-2.0 * p.real)
        t = R[k, k] = size / rate
        if k:
            left = S[:k, :k] + p.conj() * np.eye(k)
            u = scipy.linalg.solve_triangular(left, -(t * S[:k, k] + rate * (B[:k] @ b.conj())))
            R[:k, k] = u
            B[:k] -= rate * np.outer(u, b)
    R = Z @ R
    # real columns of the same R R^T
    (triangle,) = scipy.linalg.qr(np.vstack([R.real.T, R.imag.T]), mode="r")
    return triangle[:n].T


def _rests(model: LinearModel) -> bool:
    return any(pole.at_rest for pole in grouped(model.rates))


def _modes(model: LinearModel) -> list[np.ndarray]:
    """The poles of each mode: all at rest together, then each pair or real pole."""
    poles = grouped(model.rates)
    rest = [pole.value for pole in poles if pole.at_rest]
    found = [np.array(rest)] if rest else []
    for pole in poles:
        if not pole.at_rest:
            pair = [pole.value, pole.value.conjugate()] if pole.count == 2 else [pole.value]
            found.append(np.array(pair))
    return found


def _chosen(keep: Any, count: int) -> list[int]:
    """The numbers of the modes to keep."""
    number = integer(keep)
    if number is not None:
        if not 1 <= number <= count:
            raise ArgumentValueError(
                f"keep={number} must be between 1 and {count}, the number of modes."
            )
        return list(range(number))
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise ArgumentTypeError(
            f"keep must be the number of modes or a list of mode numbers, got {shown(keep)}."
        )
    found = [integer(i) for i in keep]
    if not found or any(i is None or not 0 <= i < count for i in found):
        raise ArgumentValueError(
            f"keep={shown(keep)} must be one or more mode numbers from 0 to {count - 1}."
        )
    return sorted({i for i in found if i is not None})


def _states(count: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(count))
