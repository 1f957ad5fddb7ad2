"""The physics of a joint apart from its kinematics: rotor, spring, damper, friction, stops, limits.

`limber.kernels.physics` has the equations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, did_you_mean, free_symbols, number, numbers, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L

if TYPE_CHECKING:
    from limber.joints.base import Joint
    from limber.joints.packing import Constants

#: Friction is smooth over this speed, rad/s or m/s, unless specified otherwise.
FRICTION_SPEED = 1e-3
#: The Stribeck speed in smoothing speeds, unless specified otherwise.
STRIBECK = 10.0
#: A stop sets in over this part of the range between the limits, or of 1 rad or 1 m where the range is wider or has
#: one limit only.
SOFTNESS = 1e-4
#: s/rad or s/m, unless specified otherwise.
STOP_DAMPING = 1.0
#: No number is larger than this but limits of effort and speed, and the speeds and lengths that smooth a law are not
#: smaller than its inverse: their squares must stay finite and above zero.
FARTHEST = 1e100


class JointOptions(TypedDict, total=False):
    """The physics that any joint takes as keyword arguments; each is one number, or one number per speed.

    Numbers may be SymPy expressions, for `lb.symbolic.equations`, except those of the limits.  An option that has no
    effect without another one, such as `rest` without `stiffness`, is rejected.

    armature : rotor inertia as reflected through the gear (times the square of the ratio), kg m^2 or kg.
    stiffness, rest : a spring of this stiffness, N m/rad or N/m, relaxed at the coordinate `rest`.
    damping : viscous damping, N m s/rad or N s/m.
    friction : level of Coulomb friction, N m or N; friction = level beta / sqrt(beta^2 + friction_speed^2).
    friction_speed : speed over which friction changes its sign, rad/s or m/s; 1e-3 by default.
    static_friction : level at which the joint breaks away, at least `friction`, which is the default.  The excess fades
        as 1 / (1 + (beta / stribeck_speed)^2).
    stribeck_speed : rad/s or m/s; 10 times `friction_speed` by default.
    limits : (lower, upper) coordinates, with None for no limit; a list of pairs for several speeds.
    stop_stiffness : stiffness of the compliant stops at the limits, N m/rad or N/m; 0 for limits that only controllers
        read.  Limits require it.
    stop_damping : s/rad or s/m; 1 by default.  The force of a stop is multiplied by y + sqrt(y^2 + 1), where y is
        stop_damping times the speed into the stop.  This factor is never negative: a stop does not pull.
    stop_softness : range, rad or m, over which a stop sets in.  The default is 1e-4 of the range between the limits, or
        of 1 rad or 1 m if that range is wider or has only one limit.
    effort_limit, speed_limit : limits of the drive, N m or N, and rad/s or m/s.  The dynamics ignores them; `simulate`
        warns of efforts above theirs.
    """

    armature: ArrayLike
    stiffness: ArrayLike
    rest: ArrayLike
    damping: ArrayLike
    friction: ArrayLike
    friction_speed: ArrayLike
    static_friction: ArrayLike
    stribeck_speed: ArrayLike
    limits: Any
    stop_stiffness: ArrayLike
    stop_damping: ArrayLike
    stop_softness: ArrayLike
    effort_limit: ArrayLike
    speed_limit: ArrayLike


#: The arrays whose numbers may be negative.
SIGNED = ("rest", "lower", "upper")
#: The names of the options, in order, and of those that enter the equations of motion.
OPTIONS = tuple(JointOptions.__annotations__)
FRICTION = frozenset({"friction", "static_friction"})
STOPS = frozenset({"stop_stiffness"})
ACTING = frozenset({"armature", "stiffness", "damping"}) | FRICTION | STOPS
#: Options that need a coordinate whose rate is the speed.
OF_COORDINATES = ("armature", "stiffness", "rest", "limits", "stop_stiffness", "stop_damping", "stop_softness")  # fmt: skip
#: Options that do nothing without one of others, and what they are.  Zero is a value like any other: generated code
#: takes most options as parameters.
DEPENDENT = {
    "rest": (("stiffness",), "the coordinate at which the spring is relaxed"),
    "friction_speed": (
        ("friction", "static_friction"),
        "the speed over which friction changes its sign",
    ),
    "stribeck_speed": (("static_friction",), "the speed over which static_friction fades"),
}


#: The arrays of an option, where there is not one of its name.
_ARRAYS = {"limits": ("lower", "upper")}


@dataclass(frozen=True, eq=False, repr=False)
class JointPhysics:
    """The physics of a joint as arrays with one entry per speed; see `JointOptions`.

    `lower`, `upper` and the limits of effort and speed are infinite where there is no limit.  The repr shows the
    options that the joint was made with.
    """

    armature: Array
    stiffness: Array
    rest: Array
    damping: Array
    friction: Array
    friction_speed: Array
    static_friction: Array
    stribeck_speed: Array
    lower: Array
    upper: Array
    stop_stiffness: Array
    stop_damping: Array
    stop_softness: Array
    effort_limit: Array
    speed_limit: Array
    #: the names of the options that were given, for some speed at least
    options: frozenset[str] = frozenset()
    #: the same with their values, where they were given for the joint as a whole: one value if all speeds have the
    #: same, else a tuple
    given: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self):
        names = [x for name in OPTIONS if name in self.options for x in _ARRAYS.get(name, (name,))]
        return f"JointPhysics({', '.join(f'{x}={getattr(self, x).tolist()}' for x in names)})"

    @property
    def acts(self) -> bool:
        """Whether any option enters the equations of motion, even with the value zero."""
        return bool(self.options & ACTING)

    @property
    def free_symbols(self) -> frozenset:
        """The symbols in the physics, for `lb.symbolic.equations`."""
        return frozenset(free_symbols(*vars(self).values()))

    def records(self) -> np.ndarray:
        """The physics records of the speeds (`kernels.layout`), (r, PHYSICS_RECORD)."""
        r = len(self.armature)
        scalar = object if self.free_symbols else float
        table = np.zeros((r, L.PHYSICS_RECORD), dtype=scalar)
        table[:, L.PH_ARMATURE] = self.armature
        table[:, L.PH_STIFFNESS] = self.stiffness
        table[:, L.PH_REST] = self.rest
        table[:, L.PH_DAMPING] = self.damping
        table[:, L.PH_FRICTION] = self.friction
        table[:, L.PH_SMOOTHING] = self.friction_speed**2
        table[:, L.PH_PEAK] = self.static_friction - self.friction
        table[:, L.PH_STRIBECK] = self.stribeck_speed**-2.0
        for limit, column, stop in (
            (self.lower, L.PH_LOWER, L.PH_LOWER_STOP),
            (self.upper, L.PH_UPPER, L.PH_UPPER_STOP),
        ):
            there = np.isfinite(limit)
            table[there, column] = limit[there]
            table[there, stop] = self.stop_stiffness[there]
        table[:, L.PH_STOP_DAMPING] = self.stop_damping
        table[:, L.PH_SOFTNESS] = self.stop_softness**2
        return table


def physics_of(joint: Joint, given: JointOptions) -> JointPhysics:
    """Return the checked physics of a joint, whose groups are already set, from the options that were given."""
    speeds = joint.dofs
    _refuse_names(joint, given)

    def option(
        name: str, default: float, minimum: float | None = 0.0, above: bool = False
    ) -> Array:
        value = given.get(name, default)
        return _one_each(name, value, speeds, minimum, above)

    friction = option("friction", 0.0)
    friction_speed = option("friction_speed", FRICTION_SPEED, above=True)
    static = option("static_friction", 0.0) if "static_friction" in given else friction
    if (
        "static_friction" in given
        and not free_symbols(static, friction)
        and (static < friction).any()
    ):
        i = int(np.argmax(static < friction))
        raise ArgumentValueError(
            f"static_friction must be at least friction, got {static[i]:g} below {friction[i]:g}: the breakaway "
            "level cannot be below the sliding level."
        )
    stribeck = (
        option("stribeck_speed", 0.0, above=True)
        if "stribeck_speed" in given
        else STRIBECK * friction_speed
    )
    lower, upper = _limits(given.get("limits"), speeds)
    limited = np.isfinite(lower) | np.isfinite(upper)
    _refuse_stops(bool(limited.any()), given)
    softness = (
        option("stop_softness", 0.0, above=True)
        if "stop_softness" in given
        else np.clip(SOFTNESS * (upper - lower), 1.0 / FARTHEST, SOFTNESS)
    )
    made = JointPhysics(
        option("armature", 0.0),
        option("stiffness", 0.0),
        option("rest", 0.0, minimum=None),
        option("damping", 0.0),
        friction,
        friction_speed,
        static,
        stribeck,
        lower,
        upper,
        np.where(limited, option("stop_stiffness", 0.0), 0.0),
        option("stop_damping", STOP_DAMPING),
        softness,
        option("effort_limit", math.inf, above=True),
        option("speed_limit", math.inf, above=True),
    )
    _refuse_without_coordinate(joint, made)
    kept = _as_given(made, given)
    return replace(made, options=frozenset(kept), given=kept)


def changed(physics: JointPhysics, arrays: Mapping[str, Array]) -> JointPhysics:
    """The physics with other arrays, one entry for every speed, checked.

    The breakaway level follows `friction` unless it was given.  The softness of the stops stays, also where it came
    from the range between the limits.
    """
    new: dict[str, Any] = dict(arrays)
    for name, x in new.items():
        if not np.isfinite(x[np.isfinite(getattr(physics, name))]).all():
            raise ArgumentValueError(f"{name} must be finite, got {shown(x.tolist())}.")
        if name not in SIGNED and x.min() < 0.0:
            raise ArgumentValueError(f"{name} must be at least 0, got {x.min():g}.")
        _refuse_size(name, x[np.isfinite(x)], False)
    if "friction" in new and "static_friction" not in physics.options:
        new["static_friction"] = new["friction"]
    made = replace(physics, **new)
    if (made.static_friction < made.friction).any():
        i = int(np.argmax(made.static_friction < made.friction))
        raise ArgumentValueError(
            f"static_friction must be at least friction, got {made.static_friction[i]:g} below "
            f"{made.friction[i]:g}: the breakaway level cannot be below the sliding level."
        )
    if (made.lower >= made.upper).any():
        i = int(np.argmax(made.lower >= made.upper))
        raise ArgumentValueError(
            f"lower must be below upper, got {made.lower[i]:g} and {made.upper[i]:g}."
        )
    options = physics.options
    if {"lower", "upper"} & new.keys():
        options |= {"stop_softness"}
    given = physics.given
    if given:
        given = _as_given(made, {name: getattr(made, name, None) for name in options})  # type: ignore[arg-type]
    for x in new.values():
        x.setflags(write=False)
    return replace(made, options=options, given=given)


def accepted(physics: JointPhysics, arrays: Mapping[str, Array]) -> np.ndarray:
    """For which arrays (cases, speeds) of finite parameters `changed` succeeds, (cases,)."""
    new = dict(arrays)
    if "friction" in new and "static_friction" not in physics.options:
        new["static_friction"] = new["friction"]

    def each(name: str) -> Array:
        return new.get(name, getattr(physics, name))

    good: Any = (each("static_friction") >= each("friction")) & (each("lower") < each("upper"))
    for name, x in arrays.items():
        good = good & ((np.abs(x) <= FARTHEST) | (np.isinf(x) & (name in ("lower", "upper"))))
        if name not in SIGNED:
            good = good & (x >= 0.0)
    return np.asarray(good.all(axis=-1))


def option_of(name: str) -> str:
    """The option that brings an array of `JointPhysics` along, where zero is a value like any other."""
    return {"rest": "stiffness", "lower": "stop_stiffness", "upper": "stop_stiffness"}.get(
        name, name
    )


def _refuse_names(joint: Joint, given: JointOptions) -> None:
    """Reject unknown options, those that this joint cannot have, and those that do nothing without others."""
    kind = type(joint).__name__
    for name in given:
        if name not in OPTIONS:
            raise ArgumentTypeError(f"{kind} has no option {name!r}. {did_you_mean(name, OPTIONS)}")
    if given and not joint.dofs:
        raise ArgumentValueError(
            f"{kind} does not move, so it takes no {next(iter(given))}: remove it."
        )
    of_coordinates = [x for x in OF_COORDINATES if given.get(x) is not None]
    if of_coordinates and not any(joint.has_coordinate):
        raise ArgumentValueError(_NO_COORDINATE.format(joint=kind, name=of_coordinates[0]))
    for name, (needed, what) in DEPENDENT.items():
        if name in given and not any(x in given for x in needed):
            raise ArgumentValueError(
                f"{name} needs {' or '.join(needed)}: it is {what} and has no effect alone. Remove it, or give "
                f"{needed[0]} (zero is allowed)."
            )


def _refuse_stops(limited: bool, given: JointOptions) -> None:
    """Reject limits without a stiffness of their stops, and stops without limits."""
    if limited and "stop_stiffness" not in given:
        raise ArgumentValueError(
            "limits need stop_stiffness, the stiffness of the stops in N m/rad or N/m. Give 0 for limits that have no "
            "stops and are only information, for instance for controllers."
        )
    for name in ("stop_stiffness", "stop_damping", "stop_softness"):
        if name in given and not limited:
            raise ArgumentValueError(f"{name} needs limits: give limits=(lower, upper).")


def _as_given(physics: JointPhysics, given: JointOptions) -> dict[str, Any]:
    """The options that were given, from the arrays: what the caller does with its own later changes nothing."""
    kept: dict[str, Any] = {}
    for name in (option for option in OPTIONS if option in given):
        values = _pairs(physics) if name == "limits" else getattr(physics, name).tolist()
        same = all(repr(x) == repr(values[0]) for x in values)
        if values[0] is not None or not same:  # limits that are none were not given
            kept[name] = values[0] if same else tuple(values)
    return kept


def _pairs(physics: JointPhysics) -> list[tuple[float | None, float | None] | None]:
    """The limits of every speed as a pair, None for a missing one."""
    pairs = []
    for bounds in zip(physics.lower.tolist(), physics.upper.tolist()):
        lower, upper = (x if math.isfinite(x) else None for x in bounds)
        pairs.append(None if lower is None and upper is None else (lower, upper))
    return pairs


def limits_in_words(lower: float, upper: float) -> str:
    """The limits of a speed, of which one or both may be infinite."""
    if math.isinf(lower):
        return "none" if math.isinf(upper) else f"at most {upper:g}"
    return f"at least {lower:g}" if math.isinf(upper) else f"{lower:g} to {upper:g}"


def _one_each(name: str, value: Any, speeds: int, minimum: float | None, above: bool) -> Array:
    """`value` as one number, or expression, for every speed."""
    hint = "Give one number, or one for each speed of the joint."
    if free_symbols(value) and not name.endswith("_limit"):
        single = not isinstance(value, (list, tuple)) and not hasattr(value, "tolist")
        given = [value] * speeds if single else value
        result = array(name, given, (speeds,), hint, symbols=True)
        bound: dict[str, Any] = {"above" if above else "minimum": minimum}
        for i, x in enumerate(result):
            if not free_symbols(x):
                plain = number(f"{name}[{i}]", x, **bound)
                _refuse_size(name, np.array([plain]), above)
        return result
    x = numbers(name, value, f"() or ({speeds},)", f" {hint}")
    if name.endswith("_limit"):  # may be infinite
        if np.isnan(x).any():
            raise ArgumentValueError(f"{name} is nan: give a number, or omit it for no limit.")
        x = np.minimum(x, np.finfo(float).max)
    result = array(name, np.full(speeds, x) if x.ndim == 0 else x, (speeds,), hint).copy()
    if name.endswith("_limit"):
        result[result == np.finfo(float).max] = math.inf
    if minimum is not None and (bad := result < minimum if not above else result <= minimum).any():
        must = "greater than" if above else "at least"
        raise ArgumentValueError(f"{name} must be {must} {minimum:g}, got {result[bad][0]:g}.")
    if not name.endswith("_limit"):
        _refuse_size(name, result, above)
    return result


def _refuse_size(name: str, values: Array, smooths: bool) -> None:
    """Reject numbers too large to compute with, and too small ones where they smooth a law."""
    bad = np.abs(values) > FARTHEST
    if smooths:
        bad |= values < 1.0 / FARTHEST
    if bad.any():
        span, so_that = (
            (f"from {1.0 / FARTHEST:g} to", " and above zero") if smooths else ("within", "")
        )
        raise ArgumentValueError(
            f"{name} must be {span} {FARTHEST:g}, got {values[bad][0]:g}: its square must stay finite{so_that}."
        )


def _limits(value: Any, speeds: int) -> tuple[Array, Array]:
    """Lower and upper limits, infinite where there are none."""
    lower, upper = np.full(speeds, -math.inf), np.full(speeds, math.inf)
    if value is None:
        return lower, upper
    what = "limits must be a pair (lower, upper), each a number or None"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ArgumentTypeError(f"{what}; got {shown(value)}.")
    several = len(value) == speeds and all(
        x is None or (isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str))
        for x in value
    )
    pairs = list(value) if several and (speeds != 2 or not _is_pair(value)) else [value] * speeds
    for i, pair in enumerate(pairs):
        if pair is None:
            continue
        where = f"limits[{i}]" if several else "limits"
        if not _is_pair(pair):
            plural = f", or a list of {speeds} such pairs" if speeds > 1 else ""
            raise ArgumentTypeError(f"{what}{plural}; {where} is {shown(pair)}.")
        for bounds, x, none in ((lower, pair[0], -math.inf), (upper, pair[1], math.inf)):
            if x is not None and x != none:
                bounds[i] = float(array(where, x, ()))
                if abs(bounds[i]) > FARTHEST:
                    raise ArgumentValueError(
                        f"{where} has the limit {bounds[i]:g}, which is too large to compute with: give None for no limit."
                    )
        if not lower[i] < upper[i]:
            raise ArgumentValueError(
                f"{where} must have the lower limit first and below the upper one, got ({lower[i]:g}, {upper[i]:g})."
            )
    return lower, upper


def _is_pair(value: Any) -> bool:
    """Whether `value` is two limits, numbers or None."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) == 2
        and all(x is None or isinstance(x, (int, float, np.number)) for x in value)
        and not all(x is None for x in value)
    )


def joined(parts: Sequence[JointPhysics]) -> JointPhysics:
    """The physics of joints in a row."""
    arrays: dict[str, Any] = {
        f.name: np.concatenate([np.empty(0), *(getattr(p, f.name) for p in parts)])
        for f in fields(JointPhysics)
        if f.name not in ("options", "given")
    }
    return JointPhysics(**arrays, options=frozenset().union(*(p.options for p in parts)))


def _refuse_without_coordinate(joint: Joint, physics: JointPhysics) -> None:
    """Reject what needs coordinates whose rates are the speeds, at the speeds of a joint that have none."""
    if all(joint.has_coordinate):
        return
    without = ~np.array(joint.has_coordinate, dtype=bool)
    for name in ("armature", "stiffness", "rest"):
        x = getattr(physics, name)[without]
        if free_symbols(x) or np.any(x != 0):
            raise ArgumentValueError(_NO_COORDINATE.format(joint=type(joint).__name__, name=name))
    if np.isfinite([physics.lower[without], physics.upper[without]]).any():
        raise ArgumentValueError(_NO_COORDINATE.format(joint=type(joint).__name__, name="limits"))


_NO_COORDINATE = (
    "{joint} takes no {name}: its speeds are not the rates of coordinates, so there is no angle or "
    "displacement for each of them. It takes damping and friction. If you need {name}, use a "
    "CompoundJoint of revolute and prismatic joints."
)


def pack_physics(row: np.ndarray, const: Constants, joint: Joint) -> None:
    """The physics records of a joint, if it has any, and what the kernels branch on."""
    physics = joint.physics
    if not physics.acts:
        return
    row[L.PHYSICS] = const.add(physics.records()[joint.order])
    row[L.HAS_FRICTION] = int(bool(physics.options & FRICTION))
    row[L.HAS_STOPS] = int(bool(physics.options & STOPS))
