"""Checks of user input: each returns the value in its canonical form or says what is wrong."""

from __future__ import annotations

import difflib
import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limber.errors import ArgumentTypeError, ArgumentValueError

Array = NDArray[np.float64]

#: How far the norm of a quaternion may be from 1.
UNIT_TOLERANCE = 1e-6

_KINDS = {"b": "booleans", "c": "complex numbers", "S": "bytes", "U": "text", "V": "records"}


def shown(value: object) -> str:
    """`value` on one line of a message."""
    line = " ".join(repr(value).split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def listed(names: Iterable[object]) -> str:
    """Names in a message, as they are written in Python."""
    return ", ".join(map(repr, names))


def suggestion(word: str, known: Iterable[str]) -> str:
    """The closest known word as a question, preceded by a space; empty if none is close."""
    known = list(known)
    by_lower = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), by_lower, n=1, cutoff=0.6)
    if not close:
        return ""
    alike = [name for name in known if name.casefold() == close[0]]  # they differ only in case
    return f" Did you mean {difflib.get_close_matches(word, alike, n=1, cutoff=0.0)[0]!r}?"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The closest known word as a question, or the known words."""
    known = list(known)
    return suggestion(word, known).strip() or f"Known names: {_first_ones(known)}."


def _first_ones(known: list[str], most: int = 30) -> str:
    """Words with commas between them, in quotes if one of them has commas; how many there are beyond the first ones."""
    quoted = any("," in name for name in known)
    words = ", ".join(repr(name) if quoted else name for name in known[:most])
    return f"{words} and {len(known) - most} more" if len(known) > most else words


def shown_number(value: object) -> str:
    """A number to six digits, anything else as it is."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def is_masked_array(value: object) -> bool:
    """Whether something is a masked array; where there is one, numpy.ma was imported, which takes 5 ms."""
    known = sys.modules.get("numpy.ma")
    return known is not None and isinstance(value, known.MaskedArray)


def numbers(name: str, value: ArrayLike, shape: str, hint: str = "") -> Array:
    """`value` as a float array; `shape` and `hint` are for the message if it is not real numbers."""
    if is_masked_array(value) and np.ma.is_masked(value):
        raise ArgumentValueError(f"{name} has masked values. Fill them in or remove them.")
    try:
        result = np.asarray(value)
        if result.dtype.kind == "O" and all(hasattr(x, "__float__") for x in result.flat):
            result = result.astype(np.float64)
        cause = None
    except (TypeError, ValueError, OverflowError) as error:
        result, cause = np.empty(0, dtype=object), error
    kind = result.dtype.kind
    if kind not in "iuf":
        what = f"{_KINDS[kind]}: {shown(value)}" if kind in _KINDS else shown(value)
        raise ArgumentTypeError(
            f"{name} must be real numbers of shape {shape}, got {what}.{hint}"
        ) from cause
    if result.dtype == np.float64:
        return result
    with np.errstate(over="ignore"):
        return result.astype(np.float64)


def finite_numbers(name: str, value: ArrayLike, shape: str) -> Array:
    """`value` as a float array of finite numbers; `shape` is for the message if it is not real numbers."""
    result = numbers(name, value, shape)
    if not np.isfinite(result).all():
        raise ArgumentValueError(f"{name} must be finite, got {shown(value)}.")
    return result


def free_symbols(*values: object) -> set:
    """The symbols of a computer algebra system in numbers and arrays: empty for plain numbers."""
    found = set()
    for value in values:
        symbols = getattr(value, "free_symbols", None)
        if symbols is not None:
            found |= set(symbols)
        elif isinstance(value, (list, tuple)):
            found |= free_symbols(*value)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            found |= free_symbols(*value.flat)
    return found


def _expressions(name: str, value, axes: int, shape: str, hint: str) -> np.ndarray:
    """`value` as an object array of finite numbers and symbolic expressions."""
    result = np.array(value.tolist() if hasattr(value, "tolist") else value, dtype=object)
    if axes == 1 and result.ndim == 2 and result.shape[1] == 1:
        result = result.ravel()  # a column of a symbolic matrix
    for x in result.flat:
        if hasattr(x, "free_symbols"):
            continue
        if not isinstance(x, (int, float, np.integer, np.floating)) or isinstance(x, bool):
            raise ArgumentTypeError(
                f"{name} must be real numbers or expressions of shape {shape}, got {shown(x)}.{hint}"
            )
        if not math.isfinite(x):
            raise ArgumentValueError(f"{name} contains {x}: all its entries must be finite.{hint}")
    return result


def array(
    name: str,
    value: ArrayLike,
    shape: tuple[int | str, ...],
    hint: str = "",
    symbols: bool = False,
) -> Array:
    """`value` as a read-only float array of `shape`; a string in `shape` stands for any size.

    With `symbols`, entries may be symbolic expressions; the array then is one of objects.
    """
    hint = f" {hint}" if hint else ""
    symbolic = symbols and bool(free_symbols(value))
    if symbolic:
        result = _expressions(name, value, len(shape), text(shape), hint)
    else:
        result = np.array(numbers(name, value, text(shape), hint), order="C")
    fits = result.ndim == len(shape) and all(
        isinstance(want, str) or have == want for have, want in zip(result.shape, shape)
    )
    if not fits:
        raise ArgumentValueError(f"{name} must have shape {text(shape)}, got {result.shape}.{hint}")
    if not symbolic and not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        at = f"{name}[{', '.join(map(str, where))}]" if where else name
        raise ArgumentValueError(f"{at} is {result[where]}: {name} must be finite.{hint}")
    result.setflags(write=False)
    return result


def number(
    name: str, value: float, *, minimum: float | None = None, above: float | None = None
) -> float:
    """`value` as a finite float, at least `minimum` or greater than `above` when given."""
    plain = type(value) in (float, int) and abs(value) < 1e300
    result = float(value) if plain else float(array(name, value, ()))
    if minimum is not None and result < minimum:
        raise ArgumentValueError(f"{name} must be at least {minimum:g}, got {result:g}.")
    if above is not None and result <= above:
        raise ArgumentValueError(f"{name} must be greater than {above:g}, got {result:g}.")
    return result


def integer(value: object) -> int | None:
    """`value` as an int if it is an integer of any library; None for anything else, bool included."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def flag(name: str, value: object) -> bool:
    """`value` as True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def whole(name: str, value: object, minimum: int, *, optional: bool = False, hint: str = "") -> int:
    """`value` as an int, at least `minimum`; `optional`: the message says that None is fine too."""
    result = integer(value)
    if result is None or result < minimum:
        what = "None or a whole number" if optional else "a whole number"
        raise ArgumentValueError(
            f"{name} must be {what}, at least {minimum}, got {shown(value)}.{hint and f' {hint}'}"
        )
    return result


def takes(name: str, function: Callable, *arguments: str) -> None:
    """Reject what is not a function or, as far as Python knows its signature, cannot be called with these arguments."""
    if not callable(function):
        raise ArgumentTypeError(
            f"{name} must be a function of ({', '.join(arguments)}), got {shown(function)}."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C do not say
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise ArgumentTypeError(
            f"{name} is called with ({', '.join(arguments)}), but its signature is {signature}."
        ) from None


def number_or_expression(name: str, value: float, minimum: float) -> float:
    """`value` as a finite float, at least `minimum`, or a symbolic expression as it is."""
    if free_symbols(value):
        return array(name, value, (), symbols=True).item()
    return number(name, value, minimum=minimum)


def repeated(name: str, value: ArrayLike, n: int, hint: str = "") -> Array:
    """`value` as n numbers; a single one stands for n equal ones."""
    given = numbers(name, value, f"() or ({n},)", f" {hint}")
    return array(name, np.full(n, given) if given.ndim == 0 else given, (n,), hint)


#: Directions by name, in Python and in files.
AXES = {
    sign + name: np.where(np.arange(3) == i, -1.0 if sign else 1.0, 0.0)
    for sign in ("", "-")
    for i, name in enumerate("xyz")
}


def axis(name: str, value: ArrayLike | str) -> Array:
    """`value`, three numbers or one of x, y, z, -x, -y, -z, as a unit 3-vector; one that is unit to rounding is
    kept bit for bit."""
    if isinstance(value, str):
        value = AXES.get(value, value)
    hint = f"Give the direction as three numbers, or as one of {', '.join(AXES)}."
    vector = array(name, value, (3,), hint)
    if abs(math.hypot(*vector) - 1.0) <= 8.0 * np.finfo(float).eps:
        return vector
    largest = np.abs(vector).max()
    if largest == 0.0:
        raise ArgumentValueError(f"{name} is the zero vector: give a direction of any length.")
    vector = vector / largest  # neither overflows nor vanishes when squared
    unit = vector / np.linalg.norm(vector)
    unit.setflags(write=False)
    return unit


def unit_quaternion(where: str, value: Array, tolerance: float = UNIT_TOLERANCE) -> Array:
    """Normalize a quaternion, or reject it if it is not nearly unit; `where` says which one it is."""
    norm = math.hypot(*value)
    if abs(norm - 1.0) > tolerance:
        raise ArgumentValueError(
            f"{where} has norm {norm:.9g}: it must be 1 to within {UNIT_TOLERANCE:g}. Normalize it, or advance q "
            "with lb.integrate, which keeps quaternions normalized."
        )
    return value / norm


def rotation(name: str, value: ArrayLike, hint: str = "", symbols: bool = False) -> Array:
    """`value` as a 3 x 3 rotation matrix; a symbolic one is taken as it is."""
    matrix = array(name, value, (3, 3), hint, symbols)
    if matrix.dtype == object:
        return matrix
    error = np.abs(matrix @ matrix.T - np.eye(3)).max()
    if error > 1e-9 or np.linalg.det(matrix) < 0.0:
        what = (
            "a reflection"
            if error <= 1e-9
            else f"not orthogonal (R R^T differs from I by {error:.1e})"
        )
        raise ArgumentValueError(
            f"{name} must be a rotation matrix, but it is {what}. Its columns are the new axes expressed in the "
            f"old axes.{hint and f' {hint}'}"
        )
    return matrix


def _symbolic_symmetric(name: str, value: Array) -> Array:
    """`value`, whose entries are symbolic, symmetric as it is written or once expanded."""
    for a, b in zip(value.flat, np.swapaxes(value, -1, -2).flat):
        difference = a - b
        if hasattr(difference, "expand"):
            difference = difference.expand()
        if difference != 0:
            raise ArgumentValueError(
                f"{name} must be symmetric, but the entries {shown(a)} and {shown(b)} opposite each other differ. "
                "Give the full matrix, not one triangle."
            )
    return value


def symmetric(name: str, value: Array, scale: float = 0.0) -> Array:
    """`value`, symmetric to rounding (of numbers of the size `scale`), made exactly so."""
    if value.dtype == object:
        return _symbolic_symmetric(name, value)
    asymmetry = np.abs(value - np.swapaxes(value, -1, -2)).max(initial=0.0)
    if asymmetry > 1e-9 * max(np.abs(value).max(initial=0.0), scale):
        raise ArgumentValueError(
            f"{name} must be symmetric, but it differs from its transpose by {asymmetry:.3g}. Give the full "
            "matrix, not one triangle."
        )
    result = 0.5 * (value + np.swapaxes(value, -1, -2))
    result.setflags(write=False)
    return result


def semidefinite(name: str, value: Array, why: str, scale: float = 0.0) -> Array:
    """`value`, symmetric and positive semidefinite to rounding (of numbers of the size `scale`).

    Of a symbolic matrix only the symmetry is checked.
    """
    result = symmetric(name, value, scale)
    if result.size and result.dtype != object:
        eigenvalues = np.linalg.eigvalsh(result)
        if eigenvalues.min() < -1e-10 * max(np.abs(eigenvalues).max(), scale):
            raise ArgumentValueError(
                f"{name} must be positive semidefinite, but its smallest eigenvalue is "
                f"{eigenvalues.min():.6g}: {why}"
            )
    return result


#: By how much of the largest the largest principal moment may exceed the sum of the others.
TRIANGLE = 1e-6
#: m^2: a moment of inertia below this times the mass is rounding, whatever the units of length.
TINY_AREA = 1e-30


def inertias(name: str, value: ArrayLike, batch: tuple[int | str, ...], hint: str = "") -> Array:
    """`value` as 3 x 3 matrices behind the axes `batch`, given as such or by their diagonals (Ixx, Iyy, Izz)."""
    hint = f"{hint} Give a 3 x 3 matrix or its diagonal (Ixx, Iyy, Izz).".strip()
    full = (*batch, 3, 3)
    if free_symbols(value):
        axes = np.ndim(value.tolist() if hasattr(value, "tolist") else value)
    else:
        axes = numbers(name, value, text(full), f" {hint}").ndim
    if axes == len(batch) + 1:
        diagonal = array(name, value, (*batch, 3), hint, symbols=True)
        value = diagonal[..., None] * np.eye(3, dtype=int)
    return array(name, value, full, hint, symbols=True)


def distributable(name: str, value: Array, mass: float, why: str, scale: float = 0.0) -> Array:
    """`value`, an inertia about the mass centre of a body of that mass that some distribution of mass has.

    No principal moment is negative, none exceeds the sum of the others; to rounding of numbers of the size
    `scale`.  An inertia about one axis only passes: that of a body that turns about no other, as in a plane.
    Symbolic ones pass if they are symmetric.
    """
    tiny = 0.0 if free_symbols(mass) else TINY_AREA * float(mass)
    result = semidefinite(name, value, why, max(scale, 1e10 * tiny))
    if result.dtype != object:
        low, middle, high = np.linalg.eigvalsh(result)
        bound = TRIANGLE * max(high, scale) + tiny
        if middle > bound and high - low - middle > bound:
            raise ArgumentValueError(
                f"{name} has the principal moments {low:.6g}, {middle:.6g} and {high:.6g}, but none can be larger than the sum of "
                f"the others: {why}"
            )
    return result


def surely_distributable(value: Array) -> np.ndarray:
    """Which inertias (n, 3, 3) pass `distributable`, (n,), whatever the mass, and with half of the tolerances there."""
    size = np.abs(value).max(axis=(1, 2), keepdims=True)
    unit = value / np.where(size > 0.0, size, 1.0)
    turned = np.swapaxes(unit, 1, 2)
    low, middle, high = np.linalg.eigvalsh(0.5 * (unit + turned)).T
    bound = 0.5 * TRIANGLE * high
    possible = (middle <= bound) | (high - low - middle <= bound)
    symmetric = np.abs(unit - turned).max(axis=(1, 2)) <= 0.5e-9
    return symmetric & (low >= -0.5e-10 * high) & possible


def text(shape: tuple[int | str, ...]) -> str:
    """A shape as people write it: (3,), (n, 3, m), () for a number."""
    if not shape:
        return "() (a single number)"
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
