"""States and torques in files: whole lists, or entries by body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from limber.assembly import System
from limber.checks import Array, did_you_mean, unit_quaternion
from limber.io.document import Where
from limber.io.fields import Name, numbers
from limber.io.section import Section


class PartSection(Section):
    """The joint and modal entries of a body; a number or a list is for the joint."""

    joint: Annotated[Any, numbers(("r",), scalar=True)] | None = None
    modes: Annotated[Any, numbers(("m",), scalar=True)] | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept numbers, which are those of the joint."""
        return data if isinstance(data, dict) else {"joint": data}


class StateSection(Section):
    """A whole list, or entries by body; entries that are not named keep their default values."""

    values: Annotated[Any, numbers(("n",))] | None = None
    bodies: dict[Name, PartSection] | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept a list, or a mapping by body."""
        if isinstance(data, list):
            return {"values": data}
        return {"bodies": data}

    def fill(self, system: System, kind: str, into: Array, where: Where) -> Array:
        """`into` (q for kind "q", otherwise in the layout of v) with the entries of this section."""
        if self.values is not None:
            if self.values.size != into.size:
                raise where.error(
                    f"must have {into.size} entries for this system ({_layout(system, kind)}), got {self.values.size}."
                )
            return self.values.copy()
        result = into.copy()
        refuse_twice(system, self.bodies or {}, where)
        for name, part in (self.bodies or {}).items():
            check_body(system, name, where / name)
            place = system.layout[name]
            for what in ("joint", "modes"):
                value = getattr(part, what)
                if value is None:
                    continue
                span = getattr(place, f"{kind}_{what}")
                given, size = np.atleast_1d(value), span.stop - span.start
                if given.size != size:
                    raise (where / name).error(
                        f"the {'joint' if what == 'joint' else 'modes'} of body {name!r} needs {size} numbers, got "
                        f"{given.size}.",
                        what,
                    )
                result[span] = given
        return result


def check_body(system: System, name: str, where: Where, *, joints: bool = True) -> None:
    """Reject a body that the system does not have; `joints` says whether the name of its joint is accepted too."""
    if not joints and system.is_joint(name):
        raise where.error(
            f"{name!r} is a joint of {system.name!r}: give the name of its body, {system.joint_body(name)!r}."
        )
    if name not in system.layout:
        hint = did_you_mean(name, system.layout)
        raise where.error(f"is not a body of {system.name!r}. {hint}")


def refuse_twice(system: System, names: Iterable[str], where: Where) -> None:
    """Reject a joint that is named twice, by the name of its body and by its own."""
    seen: dict[int, str] = {}
    for name in names:
        place = system.layout.get(name)
        for i in range(place.v_joint.start, place.v_joint.stop) if place else ():
            if seen.setdefault(i, name) != name:
                raise where.error(f"{seen[i]!r} and {name!r} are the same joint: keep one.", name)


def check_quaternions(system: System, q: Array, where: Where) -> None:
    """Reject quaternions that are not of unit length."""
    for name, joint in system.joints.items():
        start = system.layout[name].q_joint.start
        for span in joint.quaternions():
            with (where / "q" / name).checked():
                at = slice(start + span.start, start + span.stop)
                unit_quaternion(f"the quaternion q[{at.start}:{at.stop}] of body {name!r}", q[at])


def _layout(system: System, kind: str) -> str:
    sizes = []
    for name, place in list(system.layout.items())[:6]:
        for what in ("modes", "joint"):
            span = getattr(place, f"{kind}_{what}")
            if span.stop > span.start:
                sizes.append(f"{name} {what} {span.stop - span.start}")
    more = ", ..." if len(system.layout) > 6 else ""
    return ", ".join(sizes) + more
