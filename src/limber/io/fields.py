"""The kinds of entries in files: numbers, vectors, names, choices.

Each kind is an annotated type for pydantic, with its JSON schema and with one check of our own, whose message
says what came and what was expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from pydantic_core import PydanticCustomError, core_schema

from limber.checks import AXES, shown, suggestion, text


def problem(message: str, *at: int | str) -> PydanticCustomError:
    """An error for pydantic to carry; `at` is the path from the entry to the wrong value."""
    return PydanticCustomError("limber", "{text}", {"text": message, "at": list(at)})


def named(value: Any) -> str:
    """A value for a message, with the name of its kind in files."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"{str(value).lower()} (a boolean)"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, dict):
        return f"a mapping with {', '.join(map(shown, list(value)[:4])) or 'no keys'}"
    if isinstance(value, list):
        return f"the list {shown(value)}"
    return shown(value)


def _finite(value: Any, expected: str, *at: int) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise problem(f"must be {expected}, got {named(value)}.", *at)
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise problem(f"must be finite, got {shown(value)}.", *at)
    return result


class Check:
    """The one check of an annotated type, `Annotated[float, number(above=0)]`, and its JSON schema."""

    def __init__(self, check: Callable[[Any], Any], schema: dict[str, Any]):
        self.check, self.schema = check, schema

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return dict(self.schema)


def number(*, minimum: float | None = None, above: float | None = None) -> Check:
    """A finite number, at least `minimum` or greater than `above`."""
    schema: dict[str, Any] = {"type": "number"}
    if minimum is not None:
        schema["minimum"] = minimum
    if above is not None:
        schema["exclusiveMinimum"] = above

    def check(value: Any) -> float:
        result = _finite(value, "a number")
        if minimum is not None and result < minimum:
            raise problem(f"must be at least {minimum:g}, got {result:g}.")
        if above is not None and result <= above:
            raise problem(f"must be greater than {above:g}, got {result:g}.")
        return result

    return Check(check, schema)


def whole(minimum: int, maximum: int) -> Check:
    """A whole number within bounds."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise problem(f"must be a whole number, got {named(value)}.")
        if not minimum <= value <= maximum:
            raise problem(f"must be from {minimum} to {maximum}, got {shown(value)}.")
        return value

    return Check(check, {"type": "integer", "minimum": minimum, "maximum": maximum})


def numbers(shape: tuple[int | str, ...], *, scalar: bool = False) -> Check:
    """Nested lists of numbers of a given shape; a letter stands for any size.  `scalar` allows a single number."""
    schema: dict[str, Any] = {"type": "number"}
    for want in reversed(shape):
        schema = {"type": "array", "items": schema}
        if isinstance(want, int):
            schema |= {"minItems": want, "maxItems": want}
    if scalar:
        schema = {"anyOf": [{"type": "number"}, schema]}

    def check(value: Any) -> Any:
        if scalar and not isinstance(value, list):
            return _finite(value, f"a number or numbers of shape {text(shape)}")
        return array_of(value, shape)

    return Check(check, schema)


def per_speed(*, minimum: float | None = 0.0, above: bool = False, infinite: bool = False) -> Check:
    """A number, or a list with one for each speed of a joint.  Bounds are for the schema; the joint checks them."""
    one: dict[str, Any] = {"type": "number"}
    if minimum is not None:
        one["exclusiveMinimum" if above else "minimum"] = minimum

    def check(value: Any) -> Any:
        if isinstance(value, list):
            return [entry(x, i) for i, x in enumerate(value)]
        return entry(value)

    def entry(value: Any, *at: int) -> float:
        if infinite and value == math.inf:
            return math.inf
        what = "a number" if at else "a number, or a list of one for every speed of the joint"
        return _finite(value, what, *at)

    return Check(check, {"anyOf": [one, {"type": "array", "items": one}]})


def _limits(value: Any) -> list:
    """[lower, upper], with null for a missing limit, or a list of such pairs; the joint checks how many it takes."""
    expected = "a pair [lower, upper] with null for a missing limit, or a list of such pairs"

    def bound(value: Any, *at: int) -> float | None:
        return None if value is None else _finite(value, "a number or null", *at)

    if not isinstance(value, list):
        raise problem(f"must be {expected}; got {named(value)}.")
    return [
        [bound(x, i, j) for j, x in enumerate(entry)]
        if isinstance(entry, list)
        else bound(entry, i)
        for i, entry in enumerate(value)
    ]


def array_of(value: Any, shape: tuple[int | str, ...]) -> np.ndarray:
    """Nested lists as an array, after checks."""
    expected = f"numbers of shape {text(shape)}"

    def lists(value: Any, depth: int, at: tuple[int, ...]) -> Any:
        if depth == len(shape):
            return _finite(value, "a number", *at)
        if not isinstance(value, list):
            raise problem(f"must be {expected}, got {named(value)}.", *at)
        want = shape[depth]
        if isinstance(want, int) and len(value) != want:
            raise problem(
                f"must be {expected}: {len(value)} entries where {want} are expected.", *at
            )
        return [lists(x, depth + 1, (*at, i)) for i, x in enumerate(value)]

    listed = lists(value, 0, ())
    try:
        result = np.array(listed, dtype=float)
    except ValueError:
        raise problem(f"must be {expected}, but its lists differ in length.") from None
    if result.size == 0:
        # Empty lists hide the sizes of the inner axes.
        sizes = [*result.shape, *shape[result.ndim :]]
        result = np.zeros([0 if isinstance(n, str) else n for n in sizes])
    return result


def moments(*batch: str) -> Check:
    """Inertias: 3 x 3 matrices or their diagonals (Ixx, Iyy, Izz), after leading axes of any size."""
    full, short = numbers((*batch, 3, 3)), numbers((*batch, 3))

    def check(value: Any) -> Any:
        inner = value
        for _ in range(len(batch) + 1):
            inner = inner[0] if isinstance(inner, list) and inner else None
        return (full if isinstance(inner, list) else short).check(value)

    return Check(check, {"anyOf": [full.schema, short.schema]})


def modal_damping() -> Check:
    """A damping ratio, one for each mode, or a damping matrix."""
    ratios, matrix = numbers(("m",), scalar=True), numbers(("m", "m"))

    def check(value: Any) -> Any:
        nested = isinstance(value, list) and value and isinstance(value[0], list)
        return (matrix if nested else ratios).check(value)

    return Check(check, {"anyOf": [*ratios.schema["anyOf"], matrix.schema]})


def choice(*words: str) -> Check:
    """One of a few words."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise problem(f"must be one of {', '.join(words)}; got {named(value)}.")
        if value not in words:
            hint = suggestion(value, words)
            raise problem(f"must be one of {', '.join(words)}; got {shown(value)}.{hint}")
        return value

    return Check(check, {"type": "string", "enum": list(words)})


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        hint = " Put it in quotes." if isinstance(value, (bool, int, float)) else ""
        raise problem(f"must be a name, got {named(value)}.{hint}")
    return value


def _words(value: Any) -> str:
    if not isinstance(value, str):
        hint = " Put it in quotes." if isinstance(value, (bool, int, float)) else ""
        raise problem(f"must be text, got {named(value)}.{hint}")
    return value


def _node(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise problem(f"must be the name or number of a node, got {named(value)}.")
    return value


def _yes(value: Any) -> bool:
    if not isinstance(value, bool):
        raise problem(f"must be true or false, got {named(value)}.")
    return value


def _file(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise problem(f"must be the name of a file, relative to this one, got {named(value)}.")
    if len(value) > 1000:
        raise problem(f"is too long for the name of a file: {shown(value)}.")
    if value.startswith(("/", "\\", "~")) or ":" in value.split("/")[0]:
        raise problem(f"must be relative to this file, got {shown(value)}.")
    return value


def _axis(value: Any) -> np.ndarray:
    if isinstance(value, str) and value in AXES:
        return AXES[value]
    if not isinstance(value, list):
        raise problem(f"must be three numbers or one of {', '.join(AXES)}; got {named(value)}.")
    return array_of(value, (3,))


Name = Annotated[str, Check(_name, {"type": "string", "minLength": 1})]
Text = Annotated[str, Check(_words, {"type": "string"})]
NodeName = Annotated[str | int, Check(_node, {"type": ["string", "integer"]})]
Flag = Annotated[bool, Check(_yes, {"type": "boolean"})]
FileName = Annotated[str, Check(_file, {"type": "string", "description": "relative to this file"})]
Number = Annotated[float, number()]
Vector = Annotated[Any, numbers((3,))]
Matrix = Annotated[Any, numbers((3, 3))]
Inertia = Annotated[Any, moments()]
_VECTOR = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
Axis = Annotated[Any, Check(_axis, {"anyOf": [{"enum": list(AXES)}, _VECTOR]})]
_BOUND = {"type": ["number", "null"]}
_PAIR = {"type": "array", "items": _BOUND, "minItems": 2, "maxItems": 2}
_PAIRS = {"type": "array", "items": {"anyOf": [_PAIR, {"type": "null"}]}}
Limits = Annotated[Any, Check(_limits, {"anyOf": [_PAIR, _PAIRS]})]
