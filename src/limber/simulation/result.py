"""What a simulation leaves: states in time, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber import dynamics
from limber.assembly.system import System
from limber.bodies import FlexibleBody
from limber.checks import Array, array
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError
from limber.simulation.events import Happened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Statistics:
    """What a simulation cost."""

    steps: int
    rejected: int
    evaluations: int
    seconds: float


@dataclass(frozen=True, eq=False)
class NodeMotion:
    """A node in time, world axes: position and velocity (n, 3), axes R (n, 3, 3), angular velocity (n, 3)."""

    position: Array
    velocity: Array
    R: Array
    angular_velocity: Array


@dataclass(frozen=True, eq=False)
class PowerAudit:
    """Where the energy went, from the first time on: all (n,), J.

    `energy` less its first value equals `work` plus `dissipation` (negative), but for the errors of the
    integration and of the quadrature over the output times: `residual`.
    """

    energy: Array
    work: Array
    dissipation: Array
    residual: Array


@dataclass(frozen=True, eq=False)
class Result:
    """A simulation: t (n,), q (n, nq), v (n, nv), tau (n, nv) and what follows from them.

    Indexing by a slice gives the result between: result[10:20].
    """

    system: System
    t: Array
    q: Array
    v: Array
    tau: Array
    events: tuple[Happened, ...] = ()
    statistics: Statistics = Statistics(0, 0, 0, 0.0)
    message: str = ""

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> Result:
        if not isinstance(rows, slice):
            raise ArgumentTypeError(f"a Result is indexed by a slice of rows, got {rows!r}.")
        return self._with(self.t[rows], self.q[rows], self.v[rows], self.tau[rows])

    def _with(self, t: Array, q: Array, v: Array, tau: Array) -> Result:
        return Result(self.system, t, q, v, tau, self.events, self.statistics, self.message)

    def __repr__(self) -> str:
        if not len(self):
            return f"Result({self.system.name!r}, no rows, {self.message})"
        return (
            f"Result({self.system.name!r}, {len(self)} rows, t = {self.t[0]:g} .. {self.t[-1]:g} s, "
            f"{self.statistics.steps} steps, {self.statistics.seconds:.3g} s, {self.message})"
        )

    # --- parts of the state -----------------------------------------------------------------------

    def joint(self, body: str) -> Array:
        """The joint coordinates of a body, (n, size)."""
        self.system.number(body)
        return self.q[:, self.system.layout[body].q_joint]

    def joint_speed(self, body: str) -> Array:
        """The joint speeds of a body, (n, dofs)."""
        self.system.number(body)
        return self.v[:, self.system.layout[body].v_joint]

    def modal(self, body: str) -> Array:
        """The modal coordinates of a body, (n, modes)."""
        self.system.number(body)
        return self.q[:, self.system.layout[body].q_modes]

    def modal_speed(self, body: str) -> Array:
        """Their rates, (n, modes)."""
        self.system.number(body)
        return self.v[:, self.system.layout[body].v_modes]

    # --- what follows -----------------------------------------------------------------------------

    @cached_property
    def vdot(self) -> Array:
        """Rates of the speeds, (n, nv)."""
        return dynamics.forward_dynamics(self.system, self.q, self.v, self.tau)

    @cached_property
    def kinetic_energy(self) -> Array:
        """(n,), J."""
        return np.atleast_1d(dynamics.kinetic_energy(self.system, self.q, self.v))

    @cached_property
    def potential_energy(self) -> Array:
        """Elastic and gravitational, (n,), J."""
        return np.atleast_1d(dynamics.potential_energy(self.system, self.q))

    @property
    def energy(self) -> Array:
        """Kinetic and potential, (n,), J."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def momentum(self) -> Array:
        """[angular, linear] about the world origin, (n, 6)."""
        return dynamics.momentum(self.system, self.q, self.v)

    def node(self, body: str, node: str | int | None = None) -> NodeMotion:
        """The motion of a node, or of the body frame."""
        R, p = dynamics.pose(self.system, self.q, body, node)
        J = dynamics.jacobian(self.system, self.q, body, node)
        twist = np.einsum("nij,nj->ni", J, self.v)
        return NodeMotion(p, twist[:, 3:], R, twist[:, :3])

    def deflection(self, body: str, node: str | int) -> Array:
        """How far a node is from where it would be undeformed, (n, 3), in the axes of its body."""
        s = self.system
        number = s.node_number(body, node)
        shapes = s.bodies[body].node_set.translation[number]
        return self.modal(body) @ shapes.T

    def power_audit(self) -> PowerAudit:
        """Work of the forces and of the modal dampers against the change of energy.

        Needs output times close enough to integrate power over them (Simpson's rule).  A ruthless system is no
        Lagrangian one and keeps no such balance.
        """
        from scipy.integrate import cumulative_simpson  # noqa: PLC0415

        self._refuse_unordered("power_audit", 3)
        power = np.einsum("ni,ni->n", self.tau, self.v)
        lost = np.zeros(len(self))
        for name, body in self.system.bodies.items():
            if isinstance(body, FlexibleBody) and body.modes:
                rate = self.modal_speed(name)
                lost -= np.einsum("ni,ij,nj->n", rate, body.damping, rate)
        work = cumulative_simpson(power, x=self.t, initial=0.0)
        dissipation = cumulative_simpson(lost, x=self.t, initial=0.0)
        change = self.energy - self.energy[0]
        return PowerAudit(self.energy, work, dissipation, change - work - dissipation)

    # --- pictures ---------------------------------------------------------------------------------

    def plot(self, what: str | Iterable[str] = "joints", **options: Any) -> Figure:
        """A Matplotlib figure of this result; see `limber.plotting.plot` for `what` and the options."""
        from limber.plotting import plot  # noqa: PLC0415 (it imports this module)

        return plot(self, what, **options)

    def animate(self, path: Any, **options: Any) -> Path:
        """Write a GIF of the moving system; see `limber.plotting.animate` for the options."""
        from limber.plotting import animate  # noqa: PLC0415

        return animate(self, path, **options)

    def report(self, path: Any, **options: Any) -> Path:
        """Write one HTML file with plots, numbers and an animation; see `limber.viewer.report` for the
        options."""
        from limber.viewer import report  # noqa: PLC0415

        return report(self, path, **options)

    # --- other shapes -----------------------------------------------------------------------------

    def resample(self, times: ArrayLike) -> Result:
        """The result at other times within its own: cubic Hermite in q and v, linear in tau.

        The error is that of cubic interpolation between the output times; quaternions stay unit.
        """
        from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415

        t = array("times", times, ("n",))
        self._refuse_unordered("resample", 2)
        if t.size and (t.min() < self.t[0] or t.max() > self.t[-1]):
            raise ArgumentValueError(
                f"times must lie within the result, {self.t[0]:g} to {self.t[-1]:g} s, got {t.min():g} to {t.max():g}."
            )
        q = CubicHermiteSpline(self.t, self.q, dynamics.qdot(self.system, self.q, self.v))(t)
        v = CubicHermiteSpline(self.t, self.v, self.vdot)(t)
        for _, at in dynamics.evaluate.quaternions(self.system):
            q[:, at] /= np.linalg.norm(q[:, at], axis=1, keepdims=True)
        tau = (
            np.array([np.interp(t, self.t, x) for x in self.tau.T])
            .reshape(self.tau.shape[1], len(t))
            .T
        )
        return self._with(t, q, v, tau)

    def _refuse_unordered(self, what: str, least: int) -> None:
        """Refuse what needs a number of rows at times that increase."""
        if len(self) < least or (np.diff(self.t) <= 0.0).any():
            raise ArgumentValueError(
                f"{what} needs {least} rows at least, at times that increase; this result has {len(self)}"
                + ("." if len(self) < least else ", and times that do not.")
            )

    def save(self, path: str | PathLike) -> None:
        """Write an HDF5 file with the model inside; `Result.load` gives the result back bit for bit.

        The file appears whole or not at all: one of that name is replaced when all is written.
        """
        from limber.simulation.storage import save  # noqa: PLC0415

        save(self, path)

    @staticmethod
    def load(path: str | PathLike) -> Result:
        """The result of a file of `save`, or of `simulate(..., save=path)`, finished or not.

        A file whose bytes are not those that were written is a `FileError`.  Of a run that did not end, whose rows
        are in `path` with ".part" behind it, all whole rows are given, with a `ModelWarning`.
        """
        from limber.simulation.storage import load  # noqa: PLC0415

        return load(path)

    def names(self) -> tuple[list[str], list[str]]:
        """Names of the columns of q, and of v and tau: body.joint0, body.mode0, ..."""
        q, v = [""] * self.system.nq, [""] * self.system.nv
        for body, where in self.system.layout.items():
            for target, part, label in (
                (q, where.q_modes, "mode"),
                (q, where.q_joint, "joint"),
                (v, where.v_modes, "mode"),
                (v, where.v_joint, "joint"),
            ):
                for i in range(part.start, part.stop):
                    target[i] = f"{body}.{label}{i - part.start}"
        return q, v

    def to_pandas(self) -> Any:
        """A DataFrame over t with columns q.<name>, v.<name>, tau.<name>."""
        try:
            import pandas as pd  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(
                'to_pandas needs pandas: pip install "limber-dynamics[data]".'
            ) from error
        q, v = self.names()
        columns = [*(f"q.{n}" for n in q), *(f"v.{n}" for n in v), *(f"tau.{n}" for n in v)]
        index = pd.Index(self.t, name="t")
        return pd.DataFrame(np.hstack([self.q, self.v, self.tau]), index=index, columns=columns)

    def to_xarray(self) -> Any:
        """A Dataset with q over (t, coordinate) and v, tau over (t, speed)."""
        try:
            import xarray as xr  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(
                'to_xarray needs xarray: pip install "limber-dynamics[data]".'
            ) from error
        q, v = self.names()
        return xr.Dataset(
            {
                "q": (("t", "coordinate"), self.q),
                "v": (("t", "speed"), self.v),
                "tau": (("t", "speed"), self.tau),
            },
            coords={"t": self.t, "coordinate": q, "speed": v},
        )
