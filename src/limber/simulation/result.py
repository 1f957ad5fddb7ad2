"""The result of a simulation: the states over time, and quantities computed from them."""

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
from limber.bodies.beam_forces import section_forces_of
from limber.bodies.section_forces import SectionForces
from limber.checks import Array, shown
from limber.errors import ArgumentTypeError
from limber.notebook import table
from limber.registry import registered
from limber.simulation.closure_history import (
    closure_rows,
    forces_of_closures,
    residual_of_closures,
)
from limber.simulation.data_frames import column_names, data_frame, dataset
from limber.simulation.deformation import deflection, strain
from limber.simulation.events import Happened
from limber.simulation.interpolation import resampled
from limber.simulation.joint_wrench import joint_wrench
from limber.simulation.node_motion import NodeMotion, node_motion
from limber.simulation.power_audit import PowerAudit, audited
from limber.simulation.samples import Samples
from limber.simulation.section_loads import section_loads
from limber.simulation.tanks import drained
from limber.simulation.topology import Interval, TopologyChange, intervals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Statistics:
    """The cost of a simulation: accepted and rejected steps, evaluations of the dynamics, and wall time in s."""

    steps: int
    rejected: int
    evaluations: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Result:
    """A simulation: t (n,), q (n, nq), v (n, nv), tau (n, nv), and quantities computed from them.

    external : {("body", node): (n, 6)}, the external wrenches.
    environment : (n, nv), the generalized forces of the environment; None if there was none.
    masses : {"body": (n,)}, kg, the masses of tanks from which burns took propellant.  Their inertias decrease in
        proportion.  Energies, momenta and accelerations are those of the masses of each row; in `system` the tanks are
        full.
    supplied : (n, 4), the energy supplied up to each time, J: by torques, by wrenches and environment, by dampers,
        friction and stops (negative) and by the actions of events.  It is integrated along the steps.
    driven : the bodies whose joints had a prescribed motion; tau has the torques that it required, and `driving` lists
        them.
    changes : the changes of topology by the actions of events, in order; `topology` says which closures were active
        when.
    stage : (n,), how many of these changes had occurred at each row.  q and v have the same layout in all stages.
    system : the system with the closures at the start.
    signals : what a sampled controller measured and commanded, {name: Samples}, each with `.t` and `.y` at its own
        sample times, whatever the output times are.

    A slice selects rows and gives another Result: result[10:20].
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
    driven: tuple[str, ...] = ()
    signals: Mapping[str, Samples] = field(default_factory=dict)
    changes: tuple[TopologyChange, ...] = ()
    stage: np.ndarray = None  # type: ignore[assignment] # zeros unless given
    environment: Array | None = None
    masses: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.stage is None:
            object.__setattr__(self, "stage", np.zeros(len(self.t), dtype=int))

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

    def rows(self, chosen: np.ndarray) -> Result:
        """Return the rows with these numbers."""
        return self._with(lambda x: x[chosen])

    def _with(self, change: Callable[[Array], Array]) -> Result:
        """Return the result with `change` applied to every array that has a row for each time."""
        return replace(
            self, t=change(self.t), q=change(self.q), v=change(self.v), tau=change(self.tau),
            external={key: change(x) for key, x in self.external.items()},
            supplied=None if self.supplied is None else change(self.supplied),
            stage=change(self.stage),
            environment=None if self.environment is None else change(self.environment),
            masses={body: change(x) for body, x in self.masses.items()},
        )  # fmt: skip

    def followed_by(self, other: Result) -> Result:
        """Return the rows of this result followed by those of `other`, a later part of the same run."""
        supplied, environment = None, None
        if self.supplied is not None and other.supplied is not None:
            supplied = np.concatenate([self.supplied, other.supplied])
        if self.environment is not None and other.environment is not None:
            environment = np.concatenate([self.environment, other.environment])
        return replace(
            self, t=np.append(self.t, other.t), q=np.concatenate([self.q, other.q]),
            v=np.concatenate([self.v, other.v]), tau=np.concatenate([self.tau, other.tau]),
            external={k: np.concatenate([x, other.external[k]]) for k, x in self.external.items()},
            supplied=supplied, stage=np.concatenate([self.stage, other.stage]), environment=environment,
            masses={body: np.append(x, other.masses[body]) for body, x in self.masses.items()},
        )  # fmt: skip

    def __repr__(self) -> str:
        if not len(self):
            return f"Result({self.system.name!r}, no rows, {self.message})"
        return (
            f"Result({self.system.name!r}, {len(self)} rows, t = {self.t[0]:g} .. {self.t[-1]:g} s, "
            f"{self.statistics.steps} steps, {self.statistics.seconds:.3g} s, {self.message})"
        )

    def _repr_html_(self) -> str:
        heads = ("coordinate", "start", "end", "least", "greatest")
        numbers = (
            zip(self.q[0], self.q[-1], self.q.min(axis=0), self.q.max(axis=0)) if len(self) else ()
        )
        rows = [(name, *(f"{x:.5g}" for x in row)) for name, row in zip(self.names()[0], numbers)]
        notes = [f"event at t = {event.t:.6g} s: {event.name}" for event in self.events[:10]]
        more = [f"... and {len(self.events) - 10} more events"] if len(self.events) > 10 else []
        notes += [*more, *(str(change) for change in self.changes)]
        return table(repr(self), heads, rows, notes=notes)

    # --- parts of the state -----------------------------------------------------------------------

    def joint(self, body: str) -> Array:
        """The joint coordinates of a body, or of the joint of that name, (n, size)."""
        return self.q[:, self.system.joint_layout(body).q_joint]

    def joint_speed(self, body: str) -> Array:
        """The joint speeds of a body, or of the joint of that name, (n, dofs)."""
        return self.v[:, self.system.joint_layout(body).v_joint]

    def modal(self, body: str) -> Array:
        """The modal coordinates of a body, (n, modes)."""
        self.system.number(body)
        return self.q[:, self.system.layout[body].q_modes]

    def modal_speed(self, body: str) -> Array:
        """The rates of the modal coordinates of a body, (n, modes)."""
        self.system.number(body)
        return self.v[:, self.system.layout[body].v_modes]

    @property
    def forces(self) -> Array:
        """The sum of tau and of the generalized forces of the environment, (n, nv)."""
        return self.tau if self.environment is None else self.tau + self.environment

    @property
    def driving(self) -> dict[str, Array]:
        """The torques that the prescribed joint motions required, {"body": (n, dofs)}."""
        return {body: self.tau[:, self.system.layout[body].v_joint] for body in self.driven}

    @property
    def wrenches(self) -> Array:
        """The wrenches of `external` side by side, (n, 6 wrenches)."""
        return np.hstack([np.empty((len(self), 0)), *self.external.values()])

    @property
    def environment_forces(self) -> Array:
        """`environment`, or (n, 0) if there was none."""
        return np.empty((len(self), 0)) if self.environment is None else self.environment

    @property
    def tank_masses(self) -> Array:
        """The masses of tanks side by side, (n, tanks)."""
        return np.column_stack([np.empty((len(self), 0)), *self.masses.values()])

    # --- changes of topology ----------------------------------------------------------------------

    @property
    def topology(self) -> tuple[Interval, ...]:
        """The time intervals in which the same closures were active, with their names, from first to last row."""
        if not len(self):
            return ()
        return intervals(self.system, self.changes, float(self.t[0]), float(self.t[-1]))

    @property
    def systems(self) -> tuple[System, ...]:
        """The system with the closures of each stage: at the start, and after each of `changes`."""
        return (self.system, *(change.system for change in self.changes))

    def parts(self) -> list[tuple[System, np.ndarray, Result]]:
        """The parts of the result in which the closures and the tank masses are the same.

        Each part has the system at that time, the numbers of the rows, and the rows.  A result without rows has one
        empty part.
        """
        if not len(self) or not (self.changes or self.masses):
            return [(self.system, np.arange(len(self)), self)]
        kinds = np.column_stack([self.stage, *self.masses.values()])
        found, kind = np.unique(kinds, axis=0, return_inverse=True)
        parts = []
        for i, (stage, *masses) in enumerate(found):
            rows = np.flatnonzero(kind.reshape(-1) == i)
            system = drained(self.systems[int(stage)], dict(zip(self.masses, masses)))
            parts.append((system, rows, self.rows(rows)))
        return parts

    def _by_part(self, function: Callable[..., Any], *rows: Array, width: tuple = ()) -> Array:
        """Evaluate a function of the system and of arrays with a row for each time, as an array (n, *width)."""
        if not self.masses:
            return np.reshape(function(self.system, *rows), (len(self), *width))
        found = np.empty((len(self), *width))
        for system, chosen, _ in self.parts():
            found[chosen] = function(system, *(x[chosen] for x in rows))
        return found

    # --- quantities computed from the states ------------------------------------------------------

    @cached_property
    def vdot(self) -> Array:
        """The rates of the speeds, (n, nv)."""
        found = np.empty_like(self.v)
        for system, rows, part in self.parts():
            external: Any = dict(part.external) or None
            found[rows] = dynamics.forward_dynamics(
                system, part.q, part.v, part.forces, external=external
            )
        return found

    @cached_property
    def kinetic_energy(self) -> Array:
        """The kinetic energy, (n,), J."""
        return self._by_part(dynamics.kinetic_energy, self.q, self.v)

    @cached_property
    def potential_energy(self) -> Array:
        """The elastic and gravitational energy, (n,), J."""
        return self._by_part(dynamics.potential_energy, self.q)

    @property
    def energy(self) -> Array:
        """The sum of kinetic and potential energy, (n,), J."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def momentum(self) -> Array:
        """The momentum [angular, linear] about the world origin, (n, 6)."""
        return self._by_part(dynamics.momentum, self.q, self.v, width=(6,))

    def node(self, body: str, node: str | int | None = None) -> NodeMotion:
        """The motion of a node, or of the body frame if `node` is None."""
        return node_motion(self, body, node)

    def joint_wrench(self, body: str) -> Array:
        """The wrench [moment, force] that acts on a body through its joint from inboard, (n, 6), N m and N.

        It is what the bearings and the drive of the joint carry, in the axes of the joint's inboard frame and about its
        origin, as a sensor `lb.control.ForceTorque(body)` reads it.  It includes the weight, inertia and external forces
        of everything outboard, the forces of closures there, and those that hold the joint while it is locked.  If
        closures are redundant and the wrench is not unique, the closure forces of least norm are used, and a
        ModelWarning says so.  `constraint_forces` gives the forces in the cut joints of closed loops.
        """
        return joint_wrench(self, body)

    def deflection(self, body: str, node: str | int) -> Array:
        """The displacement of a node from its undeformed position, (n, 3), in the axes of its body."""
        return deflection(self, body, node)

    def section_forces(self, body: str, at: Any = None) -> SectionForces:
        """Axial and shear forces, torsion, bending moments, strains and stresses of a beam or reduced frame over time.

        Arrays are (n, stations, ...).  The forces are those that the part beyond a section exerts on the part before it:
        tension is positive, and at the root they are the wrench of the joint with the opposite sign.  The forces in a beam are in equilibrium with the inertia, the weight, the external
        and closure forces and the bodies beyond the section, for any number of modes, in the axes of the deformed
        section; in a ruthless system the geometry is undeformed.  What acts at a node is beyond the section there, except
        at the root.  Strains are these forces over the stiffnesses.  A result made by hand needs the `tau` and `external`
        that act.

        The forces in the members of a frame, and those of a beam in an environment, are those of the modes and converge
        with their number; modes shaped by a load or a static correction are exact for that load at rest.  Forces for
        which a frame has no modes are nan, with a `ModelWarning`.

        Parameters
        ----------
        body : name of the body.
        at : one or several stations.  For a beam, nodes or distances from its root in m.  For a frame, a member "a-b",
            a node "a", the end "a:b" at node a of the member to node b, or ("a-b", distance from a in m).  The
            properties `stations` and `members` of the body list the names.  None: all stations.
        """
        self.system.number(body)
        by_modes = section_forces_of(self.system.bodies[body], at, f"body {body!r}")
        return section_loads(self, body, at, by_modes.at(self.modal(body)))

    def strain(self, body: str, gauge: str | None = None) -> Array:
        """The strain measured by the gauges of a body, (n, gauges), or by one of them, (n,).

        Gauges are given as `strain=` of `FlexibleBody.from_nodes` or `Structure.reduce`; beams and frames have
        `section_forces(...).surface_strain` and `.strain_at(y, z)`.
        """
        return strain(self, body, gauge)

    def power_audit(self) -> PowerAudit:
        """Compare the change of energy with the work of torques, wrenches, dampers, friction, actions and impacts.

        Power is integrated along the steps of the simulation, so the output times do not matter.  The equations of a
        ruthless system are not those of a Lagrangian, so its energy does not balance.
        """
        return audited(self)

    # --- closures ---------------------------------------------------------------------------------

    @cached_property
    def closure_rows(self) -> dict[str, slice]:
        """The columns of `constraint_residual` that belong to each closure that was ever active."""
        return closure_rows(self)

    def constraint_forces(self, name: str | None = None) -> Any:
        """The forces of the closures on their ends b: {name: (n, 6)}, or one of them; see `lb.constraint_forces`.

        Rows in which a closure is not active are nan.
        """
        return forces_of_closures(self, name)

    def constraint_residual(self) -> tuple[Array, Array]:
        """The residuals of the closures, (n, rows) in position and in velocity; see `lb.constraint_residual`.

        `closure_rows` has the columns of each closure.  Rows in which a closure is not active are nan.
        """
        return residual_of_closures(self)

    # --- pictures ---------------------------------------------------------------------------------

    def plot(self, what: str | Iterable[str] = "joints", **options: Any) -> Figure:
        """Return a Matplotlib figure of this result; see `limber.plotting.plot` for `what` and the options."""
        return registered("Result.plot")(self, what, **options)

    def animate(self, path: Any, **options: Any) -> Path:
        """Write a GIF or an MP4 video of the moving system; see `limber.plotting.animate` for the options."""
        return registered("Result.animate")(self, path, **options)

    def report(self, path: Any, **options: Any) -> Path:
        """Write one HTML file with plots, numbers and an animation; see `limber.viewer.report` for the options."""
        return registered("Result.report")(self, path, **options)

    # --- other times, files and tables -------------------------------------------------------------

    def resample(self, times: ArrayLike) -> Result:
        """Return the result at other times between its first and last.

        q and v are interpolated by cubic Hermite splines, forces linearly.  The error is that of cubic interpolation
        between the output times.  Quaternions are normalized.  No spline crosses a change of topology: the splines on
        either side end at the states before and after it.  The time of a change belongs to the motion before it, as in
        the rows of a simulation.
        """
        return resampled(self, times)

    def save(self, path: str | PathLike) -> None:
        """Write an HDF5 file (.h5) that includes the model; `Result.load` restores the result bit for bit.

        The file is written atomically: an existing file is replaced only once everything is written.
        """
        from limber.simulation.storage import save  # noqa: PLC0415

        save(self, path)

    @staticmethod
    def load(path: str | PathLike) -> Result:
        """Read a file written by `save` or by `simulate(..., save=path)`, whether or not the run finished.

        A damaged or changed file raises a `FileError`.  A run that did not finish has its rows in `path` with ".part"
        appended: all complete rows are returned, with a `ModelWarning`.
        """
        from limber.simulation.storage import load  # noqa: PLC0415

        return load(path)

    def names(self) -> tuple[list[str], list[str]]:
        """The names of the columns of q, and those of v and tau: body.joint0, body.mode0, ..."""
        return column_names(self.system)

    def to_pandas(self) -> Any:
        """Return a DataFrame over t with columns q.<name>, v.<name>, tau.<name>."""
        return data_frame(self)

    def to_xarray(self) -> Any:
        """Return a Dataset with q over (t, coordinate), and v and tau over (t, speed)."""
        return dataset(self)


def columns(system: System, y: Array, forces: Array, keys: Sequence[tuple]) -> dict[str, Any]:
    """The arrays of a result, by name, from rows of the engine.

    `y` has [q, v, supplied energy], `forces` has [tau, wrenches, forces of the environment].

    keys : where the wrenches act.
    """
    nq, nv = system.nq, system.nv
    external = {key: forces[:, nv + 6 * i : nv + 6 * (i + 1)] for i, key in enumerate(keys)}
    behind = forces[:, nv + 6 * len(keys) :]
    return {
        "q": y[:, :nq], "v": y[:, nq : nq + nv], "tau": forces[:, :nv], "external": external,
        "supplied": y[:, nq + nv :], "environment": behind if behind.shape[1] else None,
    }  # fmt: skip
