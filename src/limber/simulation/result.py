"""What a simulation leaves: states in time, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber import dynamics
from limber.assembly.system import System
from limber.checks import Array, array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError
from limber.registry import registered
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
    """A node in time, world axes: position, velocity, acceleration (n, 3), axes R (n, 3, 3), and the angular
    velocity and acceleration (n, 3)."""

    position: Array
    velocity: Array
    R: Array
    angular_velocity: Array
    acceleration: Array
    angular_acceleration: Array


@dataclass(frozen=True, eq=False, repr=False)
class PowerAudit:
    """Where the energy came from and went, from the first time on: all (n,), J.  Printed, a table of the totals.

    energy : kinetic and potential.
    work, external : work of the torques, and of the wrenches from outside.
    dissipation : what dampers, friction and stops took, those of modes and of joints, negative.
    actions : what actions of events changed at once.
    residual : `energy` less its first value and less all of these: the error of the integration.
    """

    energy: Array
    work: Array
    external: Array
    dissipation: Array
    actions: Array
    residual: Array

    @property
    def accuracy(self) -> float:
        """The largest residual over the largest energy that came in, went out or changed its form."""
        parts = (self.work, self.external, self.dissipation, self.actions)
        exchanged = max(
            float(np.abs(x).max(initial=0.0)) for x in (self.energy - self.energy[0], *parts)
        )
        largest = float(np.abs(self.residual).max(initial=0.0))
        return largest / exchanged if exchanged > 0.0 else 0.0

    def __repr__(self) -> str:
        rows = {
            "energy at the start": self.energy[0],
            "energy at the end": self.energy[-1],
            "work of torques": self.work[-1],
            "work of external forces": self.external[-1],
            "work of dampers, friction, stops": self.dissipation[-1],
            "work of actions of events": self.actions[-1],
            "residual at the end": self.residual[-1],
            "largest residual": np.abs(self.residual).max(),
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:{width}}  {value:12.6g} J" for name, value in rows.items())


@dataclass(frozen=True, eq=False)
class Result:
    """A simulation: t (n,), q (n, nq), v (n, nv), tau (n, nv) and what follows from them.

    external : {("body", node): (n, 6)}, the wrenches that acted from outside.
    supplied : (n, 4), the energy that came in up to each time, J: by torques, by wrenches, by dampers, friction
        and stops (negative) and by actions of events; integrated along the steps.

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
    external: Mapping[tuple[str, str | int | None], Array] = field(default_factory=dict)
    supplied: Array | None = None

    @staticmethod
    def of_rows(
        system: System,
        t: Array,
        y: Array,
        forces: Array,
        keys: Sequence[tuple],
        events: tuple[Happened, ...] = (),
        statistics: Statistics = Statistics(0, 0, 0, 0.0),  # noqa: B008 (it is immutable)
        message: str = "",
    ) -> Result:
        """The result of rows as the engine writes them: [q; v; supplied energy], and [tau; wrenches]."""
        nq, nv = system.nq, system.nv
        external = {key: forces[:, nv + 6 * i : nv + 6 * (i + 1)] for i, key in enumerate(keys)}
        return Result(
            system, t, y[:, :nq], y[:, nq : nq + nv], forces[:, :nv], events, statistics, message,
            external, y[:, nq + nv :],
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> Result:
        if not isinstance(rows, slice):
            raise ArgumentTypeError(f"a Result is indexed by a slice of rows, got {rows!r}.")
        try:
            range(len(self))[rows]
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(
                f"a slice of rows must be of whole numbers, with a step that is not zero, got {shown(rows)}."
            ) from error
        return self._with(lambda x: x[rows])

    def rows(self, chosen: Array) -> Result:
        """The rows of these numbers."""
        return self._with(lambda x: x[chosen])

    def _with(self, change: Callable[[Array], Array]) -> Result:
        """The result with every array of rows changed alike."""
        return replace(
            self, t=change(self.t), q=change(self.q), v=change(self.v), tau=change(self.tau),
            external={key: change(x) for key, x in self.external.items()},
            supplied=None if self.supplied is None else change(self.supplied),
        )  # fmt: skip

    def followed_by(self, other: Result) -> Result:
        """The rows of this result and then those of another of the same run."""
        supplied = None
        if self.supplied is not None and other.supplied is not None:
            supplied = np.concatenate([self.supplied, other.supplied])
        return replace(
            self, t=np.append(self.t, other.t), q=np.concatenate([self.q, other.q]),
            v=np.concatenate([self.v, other.v]), tau=np.concatenate([self.tau, other.tau]),
            external={k: np.concatenate([x, other.external[k]]) for k, x in self.external.items()},
            supplied=supplied,
        )  # fmt: skip

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

    @property
    def wrenches(self) -> Array:
        """The wrenches of `external` side by side, (n, 6 wrenches)."""
        return np.hstack([np.empty((len(self), 0)), *self.external.values()])

    # --- what follows -----------------------------------------------------------------------------

    @cached_property
    def vdot(self) -> Array:
        """Rates of the speeds, (n, nv)."""
        external: Any = dict(self.external) or None
        return dynamics.forward_dynamics(self.system, self.q, self.v, self.tau, external=external)

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
        rate = dynamics.acceleration(self.system, self.q, self.v, self.vdot, body, node)
        return NodeMotion(p, twist[:, 3:], R, twist[:, :3], rate[:, 3:], rate[:, :3])

    def deflection(self, body: str, node: str | int) -> Array:
        """How far a node is from where it would be undeformed, (n, 3), in the axes of its body."""
        s = self.system
        number = None if node is None else s.node_number(body, node)
        if number is None:
            raise ArgumentTypeError(
                f"node must be a node of body {body!r}, by name or number, got None: the body frame does not deform."
            )
        shapes = s.bodies[body].node_set.shapes[[number]]
        return shapes.displacements(self.modal(body))[:, 0]

    def power_audit(self) -> PowerAudit:
        """Where the energy came from and went: work of torques, wrenches and dampers against the change of energy.

        Power is integrated along the steps of the simulation, so the output times do not matter.  A ruthless system is
        no Lagrangian one and keeps no such balance.
        """
        if self.supplied is None or not len(self):
            raise ArgumentValueError(
                "power_audit needs the rows of a simulation, which records the energy that comes in; this result has "
                + ("no rows." if self.supplied is not None else "no such record.")
            )
        supplied = self.supplied - self.supplied[0]
        change = self.energy - self.energy[0]
        work, external, dissipation, actions = supplied.T
        residual = change - supplied.sum(axis=1)
        return PowerAudit(self.energy, work, external, dissipation, actions, residual)

    # --- pictures ---------------------------------------------------------------------------------

    def plot(self, what: str | Iterable[str] = "joints", **options: Any) -> Figure:
        """A Matplotlib figure of this result; see `limber.plotting.plot` for `what` and the options."""
        return registered("Result.plot")(self, what, **options)

    def animate(self, path: Any, **options: Any) -> Path:
        """Write a GIF of the moving system; see `limber.plotting.animate` for the options."""
        return registered("Result.animate")(self, path, **options)

    def report(self, path: Any, **options: Any) -> Path:
        """Write one HTML file with plots, numbers and an animation; see `limber.viewer.report` for the
        options."""
        return registered("Result.report")(self, path, **options)

    # --- other shapes -----------------------------------------------------------------------------

    def resample(self, times: ArrayLike) -> Result:
        """The result at other times within its own: cubic Hermite in q and v, linear in forces.

        The error is that of cubic interpolation between the output times; quaternions stay unit.
        """
        from scipy.interpolate import CubicHermiteSpline, PchipInterpolator  # noqa: PLC0415

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

        def linear(x: Array) -> Array:
            return np.array([np.interp(t, self.t, c) for c in x.T]).reshape(x.shape[1], len(t)).T

        supplied = None if self.supplied is None else PchipInterpolator(self.t, self.supplied)(t)
        external = {key: linear(x) for key, x in self.external.items()}
        return replace(
            self, t=t, q=q, v=v, tau=linear(self.tau), external=external, supplied=supplied
        )

    def _refuse_unordered(self, what: str, least: int) -> None:
        """Refuse what needs a number of rows at times that increase."""
        if len(self) < least or (np.diff(self.t) <= 0.0).any():
            raise ArgumentValueError(
                f"{what} needs {least} rows at least, at times that increase; this result has {len(self)}"
                + ("." if len(self) < least else ", and times that do not.")
            )

    def save(self, path: str | PathLike) -> None:
        """Write an HDF5 file (.h5) with the model inside; `Result.load` gives the result back bit for bit.

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
