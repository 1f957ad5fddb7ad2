"""Families of systems: those of the cases of a batch, which differ from one system in some numbers, all at once.

`System.with_parameters` makes one member, which takes a millisecond.  A family answers for all members at once, in
microseconds each: which of them can certainly be made, and what their constants are.  Checks here are never less strict
than those of `with_parameters`; members that do not pass are left to it, with its errors and warnings.

The constants come from the same code as those of generated functions (`parameter_constants`), whose scalars are here
`Column`s: the values that a number has in all members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.joint_parameters import accepts
from limber.assembly.parameter_changes import HARMLESS
from limber.assembly.parameter_constants import constants, of_attachment
from limber.assembly.parameters import Parameter, find
from limber.checks import Array
from limber.errors import collected_warnings
from limber.kernels import layout as L
from limber.native.calls import Call

if TYPE_CHECKING:
    from limber.assembly.system import System

#: So many members are examined at once, so that their constants stay in the cache of the processor.
AT_ONCE = 256


class Column:
    """A scalar of the kernels' constants: one number for each member."""

    __slots__ = ("x",)
    __array_ufunc__ = None  # products with numbers of NumPy are left to this class

    def __init__(self, x: Array):
        self.x = x

    def __add__(self, other: Column | float) -> Column:
        return Column(self.x + _numbers(other))

    def __sub__(self, other: Column | float) -> Column:
        return Column(self.x - _numbers(other))

    def __rsub__(self, other: Column | float) -> Column:
        return Column(_numbers(other) - self.x)

    def __mul__(self, other: Column | float) -> Column:
        return Column(self.x * _numbers(other))

    def __truediv__(self, other: Column | float) -> Column:
        return Column(self.x / _numbers(other))

    def __rtruediv__(self, other: Column | float) -> Column:
        return Column(_numbers(other) / self.x)

    __radd__, __rmul__ = __add__, __mul__

    def sqrt(self) -> Column:
        """The square roots."""
        return Column(np.sqrt(self.x))


def _numbers(x: Column | float) -> Any:
    return x.x if isinstance(x, Column) else x


class Family:
    """The systems that `system.with_parameters` makes from values (members, ...) of parameters, by name."""

    def __init__(self, system: System, values: Mapping[str, Array], count: int):
        self.system, self.values, self.count = system, values, count
        self._parameters = {name: find(system, name) for name in values}

    def __len__(self) -> int:
        return self.count

    def numbers(self, member: int) -> dict[str, Any]:
        """The parameters of one member."""
        return {name: x[member] for name, x in self.values.items()}

    def member(self, number: int) -> System:
        """One of the systems."""
        return self.system.with_parameters(self.numbers(number)) if self.values else self.system

    def some(self, members: np.ndarray) -> Family:
        """The family of some of the members."""
        values = {name: x[members] for name, x in self.values.items()}
        return Family(self.system, values, len(members))

    def of_body(self, body: str, members: Any = slice(None)) -> dict[str, Array]:
        """The parameters of a body itself, by quantity, (members, ...)."""
        found = {p.quantity: name for name, p in self._parameters.items() if p.body == body}
        return {q: self.values[name][members] for q, name in found.items() if not of_attachment(q)}

    def of_joint(self, body: str, members: Any = slice(None)) -> dict[str, Array]:
        """The parameters of the joint of a body, by their names in `OF_JOINT`, (members, ...)."""
        return {
            p.quantity.removeprefix("joint_"): self.values[name][members]
            for name, p in self._parameters.items()
            if p.body == body and p.quantity.startswith("joint_")
        }

    def factors(self, body: str, members: Any = slice(None)) -> dict[str, Any]:
        """The factors of a body's mass and stiffnesses (`Body.factors`), numbers or arrays (members,)."""
        given = self.of_body(body, members)
        columns = {q: _columns(x, x.shape[1:]) for q, x in given.items()}
        factors = self.system.bodies[body].factors(columns)
        return {name: _numbers(x) for name, x in factors.items()}

    @cached_property
    def certain(self) -> np.ndarray:
        """(members,): which members can certainly be made, without a warning."""
        good = np.ones(self.count, dtype=bool)
        if not (self.values and self.count):
            return good
        with np.errstate(all="ignore"):
            good &= self._accepted()
            if not (good.any() and self._fits(int(good.argmax()))):
                return np.zeros(self.count, dtype=bool)
            for members in parts(np.flatnonzero(good), AT_ONCE):
                const = self.constants(members)
                good[members] = np.isfinite(const[:, self._places]).all(axis=1)
                if not self._harmless:
                    good[members] &= self._regular(const)
        return good

    def _accepted(self) -> np.ndarray:
        """(members,): whether bodies and joints certainly accept their numbers."""
        finite = [np.isfinite(x.reshape(self.count, -1)).all(axis=1) for x in self.values.values()]
        good = np.all(finite, axis=0)
        members, parameters = np.flatnonzero(good), self._parameters.values()
        plain = all(p.name == "gravity" or p.body for p in parameters)
        if not plain or any(p.quantity in ("offset", "rotation") for p in parameters):
            return np.zeros(self.count, dtype=bool)
        if not members.size:
            return good
        for body, item in self.system.attachments.items():
            of_body, of_joint = self.of_body(body, members), self.of_joint(body, members)
            if of_body:
                good[members] &= item.body.accepts(of_body)
            if of_joint:
                good[members] &= accepts(item.joint, of_joint)
        return good

    def _fits(self, member: int) -> bool:
        """Whether these parameters go together, which does not depend on their numbers: whether one member can be made."""
        try:
            with collected_warnings():
                self.member(member)
        except Exception:
            return False
        return True

    @property
    def _harmless(self) -> bool:
        """Whether no number can make the mass matrix singular, or it need not be regular."""
        quantities = {p.quantity for p in self._parameters.values()}
        return not self.system._regular or quantities <= HARMLESS

    def _regular(self, const: Array) -> np.ndarray:
        """(members,): whether no pivot is small, by which `with_parameters` first checks mass matrices."""
        system = self.system
        packed, zeros = system.dynamics, np.zeros((len(const), system.nv)).ravel()
        q = np.tile(system._generic, len(const))
        call = Call(system, "articulated_sweep", packed.topo, packed.const)
        work = np.empty(packed.topo[L.WORK_SIZE])
        return call.run_each(const, (q, zeros, zeros), work, np.empty_like(zeros), 1, 0, len(const))

    @cached_property
    def _places(self) -> np.ndarray:
        """The places of the constants that differ from those of the system."""
        found = self._constants(np.arange(1))
        return np.array([i for i, x in enumerate(found) if isinstance(x, Column)], dtype=int)

    def constants(self, members: np.ndarray) -> Array:
        """The constants of the dynamics of some members, (members, numbers)."""
        found = self._constants(members)
        const = np.tile(self.system.dynamics.const, (len(members), 1))
        for i in self._places:
            const[:, i] = found[i].x
        return const

    def _constants(self, members: np.ndarray) -> list:
        """The constants of some members as floats and columns."""
        system = self.system
        given = {
            name: (p, _columns(self.values[name][members], _shape(p, self.values[name])))
            for name, p in self._parameters.items()
        }
        with np.errstate(all="ignore"):
            return constants(system, system.dynamics, given, system.dynamics.const.tolist())


def _shape(parameter: Parameter, x: Array) -> tuple[int, ...]:
    """The shape of the numbers of one member: one number may stand for all."""
    return parameter.whole if x.ndim == 1 and parameter.value.ndim else x.shape[1:]


def _columns(x: Array, shape: tuple[int, ...]) -> list[Column]:
    """Numbers (members, ...) as a flat list of columns; a single one is repeated to fill a shape."""
    flat = x.reshape(len(x), -1).T
    size = int(np.prod(shape, dtype=int))
    return [Column(np.ascontiguousarray(flat[i if len(flat) == size else 0])) for i in range(size)]


def parts(numbers: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Numbers in parts of at most so many."""
    for start in range(0, len(numbers), most):
        yield numbers[start : start + most]
