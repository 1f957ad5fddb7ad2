"""Grasp analysis: the combined effect of closures on an object, and whether contacts hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Closure
from limber.assembly.system import System
from limber.checks import Array, array, listed, number, numbers, shown
from limber.constraints.ends import end_pose
from limber.constraints.residual import check_closed
from limber.dynamics.evaluate import evaluated
from limber.dynamics.freedoms import undeformed
from limber.dynamics.sought import warn_where_missed
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints import Grasp
from limber.notebook import as_text

#: A singular value of the grasp matrix below this fraction of the largest counts as zero.
DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False)
class GraspMap:
    """The wrench that the closures of an object exert on it, at one configuration; `grasp_map` makes it.

    matrix : G (6, rows), the wrench [moment, force] on the object at `point`, in world axes, per unit of each closure
        row.
    columns : the columns of each closure.
    point : (3,), the reference point of the wrenches.
    squeeze : (rows, n), a basis of the null space of G: forces that act on the object but do not move it.  They are
        orthonormal as forces and moments at the contacts, with moments divided by `length`.
    """

    matrix: Array
    columns: dict[str, slice]
    point: Array
    squeeze: Array
    _exerted: Array  # (rows, closures, 6), wrenches at the ends b
    _at_contacts: Array  # (6 closures, rows), wrenches at the contacts, moments / length
    _places: Array  # (closures, 3), the contacts

    def multipliers(self, forces: Mapping[str, ArrayLike]) -> Array:
        """Return the rows (rows,) of closure forces given as in `constraint_forces`; closures left out exert none."""
        unknown = [name for name in forces if name not in self.columns]
        if unknown:
            raise ArgumentValueError(
                f"forces: {unknown[0]!r} is not a closure of the object; these are {listed(self.columns)}."
            )
        found = np.zeros(self.matrix.shape[1])
        for i, (name, columns) in enumerate(self.columns.items()):
            if name in forces:
                wrench = array(f"forces[{name!r}]", forces[name], (6,), "A wrench at end b.")
                exerted = self._exerted[columns, i].T
                found[columns] = np.linalg.lstsq(exerted, wrench, rcond=None)[0]
                left = np.abs(exerted @ found[columns] - wrench).max()
                if left > 1e-6 * max(np.abs(wrench).max(), 1e-300):
                    raise ArgumentValueError(
                        f"forces[{name!r}]: the closure cannot exert this wrench: {left:.3g} of it remains, because its "
                        "joint is free in that direction."
                    )
        return found

    def forces(self, multipliers: ArrayLike) -> dict[str, Array]:
        """Return the closure forces of rows (rows,) at the ends b, in the form of `constraint_forces`."""
        lam = array("multipliers", multipliers, (self.matrix.shape[1],), "One for each row.")
        wrenches = np.einsum("r,rcx->cx", lam, self._exerted)
        return dict(zip(self.columns, wrenches))

    def split(self, forces: Mapping[str, ArrayLike]) -> tuple[dict[str, Array], dict[str, Array]]:
        """Split closure forces into those that move the object and those that squeeze it; they add up to `forces`.

        The moving forces are the smallest ones, at the contacts, that exert the same wrench on the object.
        """
        lam = self.multipliers(forces)
        squeezing = self.squeeze @ self.squeezes(lam)
        return self.forces(lam - squeezing), self.forces(squeezing)

    def squeezes(self, multipliers: Array) -> Array:
        """Return the component of rows along each column of `squeeze`."""
        C = self._at_contacts
        return self.squeeze.T @ (C.T @ (C @ multipliers))

    def along_line(self, first: str, second: str) -> Array:
        """Return the rows with which two closures press on the object with 1 N, each towards the other."""
        for name in (first, second):
            if name not in self.columns:
                raise ArgumentValueError(
                    f"squeeze: {shown(name)} is not a closure of the object; these are {listed(self.columns)}."
                )
        names = list(self.columns)
        i, j = names.index(first), names.index(second)
        line = self._places[j] - self._places[i]
        distance = float(np.linalg.norm(line))
        if i == j or distance < 1e-12:
            raise ArgumentValueError(
                f"squeeze: {first!r} and {second!r} are at the same point, so there is no line between them."
            )
        wanted = np.zeros((len(names), 6))
        wanted[i, 3:], wanted[j, 3:] = line / distance, -line / distance
        found = np.linalg.lstsq(self._at_contacts, wanted.ravel(), rcond=1e-12)[0]
        rows = found.astype(np.float64)
        left = np.abs((self._at_contacts @ rows).reshape(-1, 6) - wanted).max(axis=1)
        if left.max() > 1e-9:
            raise ArgumentValueError(
                f"squeeze: {names[int(left.argmax())]!r} cannot press along the line from {first!r} to {second!r}: its joint is "
                "free in that direction. Give the squeeze force of each closure instead."
            )
        return rows

    def pressing(self, first: str, second: str) -> Array:
        """Return (rows,) p such that p @ rows is the force, N, with which two closures press on the object.

        The force is along the line between them, positive if they press towards each other.
        """
        C = self._at_contacts
        direction = C @ self.along_line(first, second)
        return C.T @ direction / (direction @ direction)


def grasp_map(
    system: System,
    q: ArrayLike,
    obj: str = "object",
    *,
    point: ArrayLike | None = None,
    length: float = 1.0,
) -> GraspMap:
    """The grasp matrix of an object and its null space, at q.

    obj : the name of the object in a coupled system, as in `couple`, or that of one body.
    point : reference point of the wrenches in world axes; by default the origin of the first body of the object.
    length : length, m, by which moments are divided to compare them with forces.
    """
    check_closed(system, "grasp_map")
    q = numbers("q", q, f"({system.nq},)")
    if q.shape != (system.nq,):
        raise ArgumentValueError(f"q must have shape ({system.nq},), got {q.shape}.")
    at = undeformed(system, q) if system.fidelity == "ruthless" else q
    bodies = object_bodies(system, obj)
    holding = _holding(system, bodies, obj)
    if point is None:
        about = evaluated(system, "pose", (at,), node=(bodies[0], None))[1]
    else:
        about = array("point", point, (3,), "A place in the world.")
    scale = 1.0 / number("length", length, above=0.0)
    every = evaluated(system, "wrenches", (at, np.eye(system.rows)))
    warn_where_missed(system, q)
    order = list(system.closure_rows)
    rows = np.concatenate([np.arange(system.rows)[system.closure_rows[name]] for name in holding])
    columns: dict[str, slice] = {}
    G = np.zeros((6, len(rows)))
    exerted = every[rows][:, [order.index(name) for name in holding]]
    C = np.zeros((len(holding), 6, len(rows)))
    places = np.zeros((len(holding), 3))
    start = 0
    for i, name in enumerate(holding):
        closure = system.closures[name]
        assert isinstance(closure, Closure)
        n = system.closure_rows[name].stop - system.closure_rows[name].start
        columns[name] = here = slice(start, start + n)
        start += n
        ends_at = end_pose(system, at, closure.b)[1]
        places[i] = _contact(system, at, closure)
        wrench = exerted[here, i].T
        if closure.b.body not in bodies:
            wrench = -wrench
        G[:, here] = _moved(wrench, ends_at - about)
        C[i, :, here] = _moved(wrench, ends_at - places[i])
    C[:, :3] *= scale
    contacts = C.reshape(-1, len(rows))
    return GraspMap(G, columns, about, _null_space(G, contacts, scale), exerted, contacts, places)


def object_bodies(system: System, obj: str) -> list[str]:
    """The bodies of an object of a coupled system, or the body of that name."""
    if not isinstance(obj, str):
        raise ArgumentTypeError(f"obj must be the name of an object or a body, got {shown(obj)}.")
    if obj in system.bodies:
        return [obj]
    found = [body for body in system.bodies if body.startswith(f"{obj}/")]
    if not found:
        raise ArgumentValueError(
            f"obj={obj!r}: {system.name!r} has no object or body of that name. Its bodies are {listed(system.bodies)}."
        )
    return found


def _holding(system: System, bodies: list[str], obj: str) -> list[str]:
    """The closures with one end on the object."""
    found = [
        name
        for name, c in system.closures.items()
        if isinstance(c, Closure) and (c.a.body in bodies) != (c.b.body in bodies)
    ]
    if not found:
        raise ArgumentValueError(
            f"no closure of {system.name!r} holds {obj!r}: none has one end on it and one elsewhere."
        )
    return found


def _contact(system: System, q: Array, closure: Closure) -> Array:
    """The point at which the closure touches the object."""
    slides = isinstance(closure.joint, Grasp) and closure.joint.slides
    return end_pose(system, q, closure.a if slides else closure.b)[1]


def _moved(wrench: Array, arm: Array) -> Array:
    """Wrenches (6, n) at a point, moved to the point from which `arm` leads there."""
    return np.vstack([wrench[:3] + np.cross(arm, wrench[3:].T).T, wrench[3:]])


def _null_space(G: Array, contacts: Array, scale: float) -> Array:
    """A basis of the null space of G, orthonormal at the contacts."""
    _, R = np.linalg.qr(contacts)  # rows of a closure are independent
    unit = np.linalg.solve(R.T, G.T).T
    unit[:3] *= scale
    _, s, Vt = np.linalg.svd(unit)
    rank = int((s > DEPENDENT * s.max(initial=0.0)).sum())
    return np.linalg.solve(R, Vt[rank:].T)


@dataclass(frozen=True, eq=False)
class GraspCheck:
    """Whether grasps hold under given forces; `check_grasps` makes it.

    margins : (...) by closure, the normal force minus the one that the contact needs for its other forces, N; negative
        if it would slip or separate.  It is infinite for rigid grasps.
    """

    margins: dict[str, Array]

    @property
    def slipping(self) -> list[str]:
        """The closures whose contact does not hold in at least one state."""
        return [name for name, margin in self.margins.items() if np.any(margin < 0.0)]

    @property
    def holds(self) -> bool:
        """Whether all contacts hold in all states."""
        return not self.slipping

    _repr_html_ = as_text

    def __str__(self):
        parts = [f"{name!r} {np.min(margin):.4g} N" for name, margin in self.margins.items()]
        verdict = f"slipping: {listed(self.slipping)}" if self.slipping else "all contacts hold"
        return f"{verdict}; margins {', '.join(parts)}"


def check_grasps(system: System, q: ArrayLike, forces: Mapping[str, ArrayLike]) -> GraspCheck:
    """Check whether the contacts of grasp models hold, by their cones of wrenches.

    q : (..., nq).
    forces : closure forces (..., 6), as given by `constraint_forces` or `share_load`; closures whose joints are not
        grasp models are ignored.
    """
    check_closed(system, "check_grasps")
    if not isinstance(forces, Mapping):
        raise ArgumentTypeError(
            f"forces must map names of closures to wrenches, as constraint_forces gives them; got {shown(forces)}."
        )
    q = numbers("q", q, f"(..., {system.nq})")
    if system.fidelity == "ruthless":
        q = undeformed(system, q)
    margins = {}
    for name, closure in system.closures.items():
        if not isinstance(closure, Closure) or not isinstance(closure.joint, Grasp):
            continue
        if name not in forces:
            raise ArgumentValueError(
                f"forces has no {name!r}: give the force of every grasp; it has {listed(forces)}."
            )
        wrench = numbers(f"forces[{name!r}]", forces[name], "(..., 6)")
        axes, end = end_pose(system, q, closure.b)
        arm = end - _contact(system, q, closure)
        moment = wrench[..., :3] + np.cross(arm, wrench[..., 3:])
        local = [np.einsum("...ji,...j->...i", axes, x) for x in (moment, wrench[..., 3:])]
        margins[name] = closure.joint.margin(np.concatenate(local, axis=-1))
    return GraspCheck(margins)
