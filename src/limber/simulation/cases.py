"""The cases of a batch: what differs from one simulation to the next."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly import parameters as named
from limber.assembly.system import System
from limber.checks import Array, numbers, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.table import Table


@dataclass(frozen=True, eq=False)
class Cases:
    """What differs from case to case.

    q0, v0 : (cases, nq), (cases, nv), or None if all cases share it.
    torques : one for each case, or None.
    parameters : values by name, each with one entry for every case, and those that all cases share.
    """

    count: int
    q0: Array | None
    v0: Array | None
    torques: Sequence[Any] | Array | None
    parameters: Mapping[str, Array]
    shared: Mapping[str, Any]

    def arguments(self, case: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of `simulate` for one case."""
        own = {**given, **self.start(case, given)}
        if self.torques is not None:
            own["torque"] = self.torques[case]
        if _remembers(own["torque"]) and not self._alone(own["torque"]):
            own["torque"] = _copied(own["torque"])
        return own

    def start(self, case: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """q0 and v0 of one case."""
        own = {"q0": self.q0, "v0": self.v0}
        return {name: given[name] if x is None else x[case] for name, x in own.items()}

    def _alone(self, torque: Any) -> bool:
        """Whether one case alone has a torque."""
        return self.torques is not None and sum(x is torque for x in self.torques) == 1

    def every(self) -> dict[str, Array]:
        """The parameters of all cases, (cases, ...)."""
        shared = {
            name: np.broadcast_to(x, (self.count, *np.shape(x))) for name, x in self.shared.items()
        }
        return {name: np.array(x) for name, x in {**shared, **self.parameters}.items()}

    def numbers(self, case: int) -> dict[str, Any]:
        """The parameters of one case."""
        return {**self.shared, **{name: x[case] for name, x in self.parameters.items()}}


def cases_of(
    system: System, q0: ArrayLike | None, v0: ArrayLike | None, torque: Any, parameters: Any
) -> Cases | None:
    """The cases described by these arguments of `simulate`; None for a single run."""
    sizes: dict[str, int] = {}

    def states(name: str, value: ArrayLike | None, width: int) -> Array | None:
        if value is None or np.ndim(value) < 2:
            return None
        x = numbers(name, value, f"({width},) or (cases, {width})")
        if x.ndim != 2 or x.shape[1] != width:
            raise ArgumentValueError(
                f"{name} must have shape ({width},), or (cases, {width}) for a batch, got {x.shape}."
            )
        sizes[name] = len(x)
        return x

    starts = states("q0", q0, system.nq), states("v0", v0, system.nv)
    torques = _torques(system, torque)
    if torques is not None:
        sizes["torque"] = len(torques)
    varied, shared = _parameters(system, parameters)
    sizes |= {f"parameters[{name!r}]": len(x) for name, x in varied.items()}
    if not sizes:
        return None
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in sizes.items())
        raise ArgumentValueError(
            f"the numbers of cases do not match: {listed}. What differs from case to case must have one entry for each "
            "case."
        )
    return Cases(next(iter(sizes.values())), *starts, torques, varied, shared)


def _torques(system: System, torque: Any) -> Sequence[Any] | Array | None:
    """The torques of the cases; None if all have the same."""
    if torque is None or callable(torque) or isinstance(torque, Table | str):
        return None
    if isinstance(torque, list | tuple) and any(
        x is None or callable(x) or _remembers(x) or isinstance(x, Table) or np.ndim(x) > 0
        for x in torque
    ):
        return torque
    if np.ndim(torque) < 2:
        return None
    x = numbers("torque", torque, f"(cases, {system.nv})")
    if x.ndim != 2:
        raise ArgumentValueError(
            f"torque must have shape ({system.nv},), or (cases, {system.nv}) for a batch, got {x.shape}."
        )
    return x


def _remembers(torque: Any) -> bool:
    """Whether a torque may store what it measured, as controllers do."""
    return any(hasattr(torque, name) for name in ("sample_time", "command", "session"))


def _copied(torque: Any) -> Any:
    """A copy of a controller in its present state, for one case."""
    try:
        return copy.deepcopy(torque)
    except Exception as error:
        raise ArgumentTypeError(
            f"torque: cases that run at the same time cannot share {shown(torque)}, which may have an internal state, and "
            f"it cannot be copied ({error}). Give a list with one object for each case."
        ) from error


def _parameters(system: System, given: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """The parameters with one entry for each case, and those that all cases share."""
    if given is None:
        return {}, {}
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(
            f'parameters must map names to numbers, as in {{"link1.mass": 3.0}}, got {shown(given)}.'
        )
    varied: dict[str, Array] = {}
    shared: dict[str, Any] = {}
    for name, value in given.items():
        parameter = named.find(system, name)
        whole = () if named.one_for_all(parameter) else parameter.whole
        x = numbers(f"parameters[{name!r}]", value, f"{whole} or (cases, ...)")
        if x.shape == whole:
            shared[name] = x
        elif x.shape[1:] in (whole, parameter.whole):
            varied[name] = x
        else:
            raise ArgumentValueError(
                f"parameters[{name!r}] must have shape {whole}, or this shape with the number of cases in front, got "
                f"{x.shape}. It is "
                f"the {parameter.meaning}."
            )
    return varied, shared
