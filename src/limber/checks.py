"""Checks of user input: each returns the value in its canonical form or says what is wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limber.errors import ArgumentTypeError, ArgumentValueError

Array = NDArray[np.float64]


def array(name: str, value: ArrayLike, shape: tuple[int | str, ...], hint: str = "") -> Array:
    """`value` as a read-only float array of `shape`; a string in `shape` stands for any size."""
    hint = f" {hint}" if hint else ""
    try:
        result = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{name} must be numbers of shape {text(shape)}, got {value!r:.80}.{hint}"
        ) from error
    fits = result.ndim == len(shape) and all(
        isinstance(want, str) or have == want for have, want in zip(result.shape, shape)
    )
    if not fits:
        raise ArgumentValueError(f"{name} must have shape {text(shape)}, got {result.shape}.{hint}")
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        at = f"{name}[{', '.join(map(str, where))}]" if where else name
        raise ArgumentValueError(f"{at} is {result[where]}: {name} must be finite.{hint}")
    result.setflags(write=False)
    return result


def number(
    name: str, value: float, *, minimum: float | None = None, above: float | None = None
) -> float:
    """`value` as a finite float, at least `minimum` or greater than `above` when given."""
    result = float(array(name, value, ()))
    if minimum is not None and result < minimum:
        raise ArgumentValueError(f"{name} must be at least {minimum:g}, got {result:g}.")
    if above is not None and result <= above:
        raise ArgumentValueError(f"{name} must be greater than {above:g}, got {result:g}.")
    return result


def axis(name: str, value: ArrayLike) -> Array:
    """`value` as a unit 3-vector."""
    vector = array(name, value, (3,), "Give the direction as three numbers.")
    length = np.linalg.norm(vector)
    if length == 0.0:
        raise ArgumentValueError(f"{name} is the zero vector: give a direction of any length.")
    unit = vector / length
    unit.setflags(write=False)
    return unit


def rotation(name: str, value: ArrayLike) -> Array:
    """`value` as a 3 x 3 rotation matrix."""
    matrix = array(name, value, (3, 3))
    error = np.abs(matrix @ matrix.T - np.eye(3)).max()
    if error > 1e-9 or np.linalg.det(matrix) < 0.0:
        what = (
            "a reflection"
            if error <= 1e-9
            else f"not orthogonal (R R^T differs from I by {error:.1e})"
        )
        raise ArgumentValueError(
            f"{name} must be a rotation matrix, but it is {what}. Its columns are the new axes in the "
            "old ones."
        )
    return matrix


def symmetric(name: str, value: Array, tolerance: float = 1e-9) -> Array:
    """`value`, symmetric to rounding, made exactly so."""
    asymmetry = np.abs(value - np.swapaxes(value, -1, -2)).max(initial=0.0)
    if asymmetry > tolerance * max(np.abs(value).max(initial=0.0), 1e-300):
        raise ArgumentValueError(
            f"{name} must be symmetric; it differs from its transpose by {asymmetry:.3g}."
        )
    result = 0.5 * (value + np.swapaxes(value, -1, -2))
    result.setflags(write=False)
    return result


def semidefinite(name: str, value: Array, why: str) -> Array:
    """`value`, symmetric and positive semidefinite to rounding."""
    result = symmetric(name, value)
    if result.size:
        eigenvalues = np.linalg.eigvalsh(result)
        if eigenvalues.min() < -1e-10 * max(np.abs(eigenvalues).max(), 1e-300):
            raise ArgumentValueError(
                f"{name} must be positive semidefinite, but its smallest eigenvalue is "
                f"{eigenvalues.min():.6g}: {why}"
            )
    return result


def text(shape: tuple[int | str, ...]) -> str:
    """A shape as people write it: (3,), (n, 3, m), () for a number."""
    if not shape:
        return "() (one number)"
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
