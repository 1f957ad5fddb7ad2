"""The base class of all joints: a sequence of groups, from inboard to outboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, Unpack

import numpy as np

from limber.checks import Array, array, unit_quaternion
from limber.errors import ArgumentTypeError
from limber.frozen import Frozen
from limber.joints.packing import pack_joint
from limber.joints.physics import (
    JointOptions,
    JointPhysics,
    changed,
    physics_of,
)
from limber.kernels import layout


@dataclass(frozen=True)
class Group:
    """One factor of a joint: its kind, its constant joint map and the sizes of theta and beta."""

    kind: int
    H: Array = field(repr=False)  # 6 x r, outboard axes
    nq: int
    dofs: int

    @property
    def has_rates(self) -> bool:
        """Whether each speed is the rate of one coordinate, which holds for screws that commute."""
        return self.kind == layout.SCREWS and not any(
            np.any(bracket(self.H[:, i], self.H[:, j])) for i in range(self.dofs) for j in range(i)
        )

    def screws(self) -> list[np.ndarray]:
        """The screw records of a group of screws (`kernels.layout`)."""
        return [screw_constants(h) for h in self.H.T]


def bracket(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The Lie bracket of se(3) on twists [w; v]."""
    return np.concatenate([np.cross(x[:3], y[:3]), np.cross(x[:3], y[3:]) + np.cross(x[3:], y[:3])])


def screw_constants(h: np.ndarray) -> np.ndarray:
    """exp(h theta) of one column h = [h1; h2] as constants (Kwatny & Blankenship, Eq. (12b))."""
    h1, h2 = h[:3], h[3:]
    rate = float(np.linalg.norm(h1))
    if rate == 0.0:
        return np.concatenate([[0.0], np.zeros(3), h2, np.zeros(6)])
    u = h1 / rate
    along = u * (u @ h2)
    return np.concatenate([[rate], u, along, (h2 - along) / rate, np.cross(u, h2) / rate])


class Joint(Frozen):
    """A joint between an inboard and an outboard frame.

    `H(theta)` is the 6 x r joint map (H^T in the sources): the relative velocity [angular; linear] of the outboard
    frame, in its own axes, per unit speed.  `configuration(theta)` is (R, p), the outboard frame in the inboard frame.
    `Gamma(theta)` relates coordinates and speeds, theta_dot = Gamma beta.

    Every joint takes its physics as keyword arguments, each as one number or as one number per speed: `armature`,
    `stiffness` with `rest`, `damping`, `friction`, `limits` with stops, and more; see `JointOptions`.
    `physics` holds all options as arrays.
    """

    groups: tuple[Group, ...] = ()
    physics: JointPhysics
    #: whether the joint can only be used in `lb.symbolic.equations`
    symbolic = False

    def _finish(self, physics: JointPhysics | JointOptions) -> None:
        """Complete every `__init__`, once the groups are set."""
        if isinstance(physics, JointPhysics):  # of joints that were checked
            self.physics = physics
        else:
            self.physics = physics_of(self, physics)
        self._freeze()

    def with_physics(self, arrays: Mapping[str, Array]) -> Joint:
        """Return the same joint with other physics: arrays of `JointPhysics` by name, with one entry per speed."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), physics=changed(self.physics, arrays))
        return made

    def _written(self, *arguments: object) -> str:
        """The Python expression that makes the joint."""
        given = [f"{name}={value!r}" for name, value in self.physics.given.items()]
        return f"{type(self).__name__}({', '.join([*map(str, arguments), *given])})"

    def with_options(self, **physics: Unpack[JointOptions]) -> Self:
        """Return the same joint with additional or changed physics options."""
        if self.physics.options - self.physics.given.keys():
            raise ArgumentTypeError(
                f"{self!r} consists of joints with their own physics: give the options to those joints."
            )
        made = object.__new__(type(self))
        vars(made).update(vars(self), _frozen=False)
        given: Any = {**self.physics.given, **physics}
        made._finish(given)
        return made

    @cached_property
    def nq(self) -> int:
        """The number of coordinates theta."""
        return sum(g.nq for g in self.groups)

    @cached_property
    def dofs(self) -> int:
        """The number of speeds beta."""
        return sum(g.dofs for g in self.groups)

    @cached_property
    def order(self) -> list[int]:
        """The numbers of the speeds in the order of the kernels, with groups from inboard to outboard."""
        return list(range(self.dofs))

    @cached_property
    def has_coordinate(self) -> tuple[bool, ...]:
        """For each speed, whether it is the rate of a coordinate; springs and limits need one."""
        of_kernels = [g.has_rates for g in self.groups for _ in range(g.dofs)]
        return tuple(x for _, x in sorted(zip(self.order, of_kernels)))

    @property
    def free_symbols(self) -> frozenset:
        """The symbols in the physics, for `lb.symbolic.equations`."""
        return self.physics.free_symbols

    def neutral(self) -> Array:
        """Return the coordinates at which the two frames coincide."""
        parts = [
            np.zeros(g.nq) if g.kind == layout.SCREWS else np.eye(1, g.nq)[0] for g in self.groups
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    @cached_property
    def kernel_kind(self) -> tuple[int, int]:
        """The (kind, axis) of this joint in the kernels."""
        if not self.groups:
            return layout.FIXED, 0
        if len(self.groups) == 1 and self.dofs == 1:
            h = self.groups[0].H[:, 0]
            axis = int(np.argmax(h))
            if np.array_equal(h, np.eye(6)[axis]):
                return (layout.REVOLUTE if axis < 3 else layout.PRISMATIC), axis
        return layout.GENERAL, 0

    def quaternions(self) -> Iterator[slice]:
        """The slices of theta that are quaternions."""
        at = 0
        for g in self.groups:
            if g.kind != layout.SCREWS:
                yield slice(at, at + 4)
            at += g.nq

    def configuration(self, theta) -> tuple[Array, Array]:
        """Return (R, p): R transforms outboard components into inboard ones, and p is the outboard origin."""
        R, p, _ = self._evaluate(theta)
        return R, p

    def H(self, theta) -> Array:
        """Return the 6 x r joint map at theta, in outboard axes."""
        return self._evaluate(theta)[2]

    def Gamma(self, theta) -> Array:
        """Return the kinematic matrix Gamma in theta_dot = Gamma beta."""
        theta = self._coordinates(theta)
        single = pack_joint(self)
        columns = []
        for beta in np.eye(self.dofs):
            rate = np.zeros(self.nq)
            single.kernels.manifold.joint_rate(
                single.topo, single.const, single.work, theta, beta, rate, layout.COLUMNS
            )
            columns.append(rate)
        return np.array(columns).reshape(self.dofs, self.nq).T

    def _coordinates(self, theta) -> Array:
        """theta, checked and with normalized quaternions."""
        theta = array("theta", theta, (self.nq,), f"The coordinates of {self!r}.").copy()
        for at in self.quaternions():
            where = f"theta[{at.start}:{at.stop}], a quaternion of {self!r},"
            theta[at] = unit_quaternion(where, theta[at])
        return theta

    def _evaluate(self, theta) -> tuple[Array, Array, Array]:
        """R, p and H at theta."""
        theta = self._coordinates(theta)
        if not self.groups:
            return np.eye(3), np.zeros(3), np.zeros((6, 0))
        single = pack_joint(self)
        R, p = single.kernels.joints.general_joint_pose(
            single.topo, single.const, single.work, theta, layout.COLUMNS
        )
        start = single.topo[layout.COLUMNS + layout.W_JOINT] + layout.J_H
        rows = start + layout.JOINT_WORK * np.arange(self.dofs)[:, None] + np.arange(6)
        return np.array(R, dtype=float).reshape(3, 3), np.array(p, dtype=float), single.work[rows].T
