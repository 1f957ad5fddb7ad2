"""A plant in an optimal control problem: its intervals, its errors, its nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from limber.assembly.parameters import find
from limber.assembly.system import System
from limber.checks import Array, number
from limber.codegen.shooting import Shooting
from limber.control.joints import JointPlaces, joint_places
from limber.control.optimal.terms import stiffness
from limber.dynamics import jacobian, mass_matrix, pose
from limber.dynamics.evaluate import check_system
from limber.dynamics.kinematics import qdot
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentValueError

#: The largest product of a frequency and a substep; the classical Runge-Kutta method is stable up to 2.8.
STEP = 1.0


class Plants:
    """One system with several sets of parameters under the same forces; the first set is the model itself.

    joints : the bodies whose joints are driven; None for all joints whose speeds are the rates of their coordinates.
    scenarios : {parameter: value} of each further plant.
    """

    def __init__(
        self,
        system: System,
        joints: Any = None,
        scenarios: Sequence[Mapping[str, Any]] = (),
        timed: bool = False,
        owner: str = "OptimalControl",
    ):
        check_system(system)
        if system.closures:
            raise ArgumentValueError(
                f"{owner} is for open systems, but {system.name!r} has closures: {', '.join(system.closures)}."
            )
        self.system, self.timed = system, timed
        self.places: JointPlaces = joint_places(system, joints, owner)
        names = tuple(dict.fromkeys(key for case in scenarios for key in case))
        self.systems = [system, *(system.with_parameters(dict(case)) for case in scenarios)]
        #: The numbers of each plant, in the order of the arguments of the code.
        self.numbers = np.array(
            [
                np.concatenate([np.zeros(0), *(np.ravel(find(s, key).value) for key in names)])
                for s in self.systems
            ]
        )
        self.nx, self.nu = system.nq + system.nv, len(self.places)
        self.shooting = Shooting(system, self.places.v.tolist(), names, timed)
        self.quaternions = [at for _, at in quaternions(system)]

    def __len__(self) -> int:
        return len(self.systems)

    def substeps(self, dt: float, given: int | None, q: Array) -> int:
        """The number of steps in an interval: the given one, or as many as the highest frequency requires."""
        if given is not None:
            return int(number("substeps", given, minimum=1))
        highest = max(
            float(scipy.linalg.eigh(stiffness(s, q), mass_matrix(s, q), eigvals_only=True)[-1])
            for s in self.systems
        )
        return max(1, math.ceil(dt * math.sqrt(max(highest, 0.0)) / STEP))

    def unit(self, x: Array) -> Array:
        """States with normalized quaternions."""
        if not self.quaternions:
            return x
        x = np.array(x)
        for at in self.quaternions:
            x[..., at] /= np.linalg.norm(x[..., at], axis=-1, keepdims=True)
        return x

    def near(self, x: Array, other: Array) -> Array:
        """The same state with the signs of its quaternions chosen nearest to another state."""
        x = np.array(x)
        for at in self.quaternions:
            if x[at] @ other[at] < 0.0:
                x[at] = -x[at]
        return x

    def node(self, case: int, x: Array, body: str, node: Any) -> tuple[Array, Array]:
        """Positions (n, 3) of a node of one plant in the states x (n, nx), and their derivatives (n, 3, nq)."""
        s = self.systems[case]
        q = np.ascontiguousarray(self.unit(x)[:, : s.nq])
        _, p = pose(s, q, body, node)
        J = jacobian(s, q, body, node)[:, 3:]
        if not self.quaternions:
            return p, J
        N = np.stack([qdot(s, q, np.tile(e, (len(q), 1))) for e in np.eye(s.nv)], axis=-1)
        J = J @ np.linalg.pinv(N)
        for at in self.quaternions:
            J[:, :, at] /= np.linalg.norm(x[:, at], axis=-1)[:, None, None]
        return p, J
