"""Reports on how far to trust flexible bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from limber.bodies.flexible import FlexibleBody
from limber.bodies.integrals import ModalIntegrals, full, tilde
from limber.bodies.load_stiffness import relative_changes
from limber.checks import Array, shown, whole
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import read_only
from limber.notebook import as_text
from limber.registry import registered
from limber.structures.beam_theory import beam_comparison
from limber.structures.comparison import Comparison, StaticLoad

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from limber.structures.structure import Node

#: The body has a mode of the full model if the frequency is within this fraction and the modal assurance above this.
CLOSE, ALIKE = 0.01, 0.9
#: A static deflection that is too small by more than this fraction is noted.
LACKING = 0.01
#: A buckling force that exceeds that of the full model by more than this fraction is noted.
STIFF = 0.1
#: Mass and inertia below this fraction of the largest count as zero.
NONE = 1e-12


@dataclass(frozen=True)
class Match:
    """A mode of the full model and the most similar mode of the body, both counted from 0."""

    full: int
    body: int
    omega: float
    own: float
    mac: float

    @property
    def alike(self) -> bool:
        """Whether the modes are more similar than not."""
        return self.mac >= 0.5

    @property
    def error(self) -> float:
        """The relative amount by which the frequency of the body is too high."""
        return self.own / self.omega - 1.0


@dataclass(frozen=True)
class BucklingForce:
    """A force at a node at which a body buckles.

    node, along : where it acts, and its direction in the body frame, such as "-x".
    force : N, in the shapes that the body has; its real value is lower if these are not the buckling shapes.
    full : N, that of the full model, including parts of it; None if it is not known.
    """

    node: str
    along: str
    force: float
    full: float | None


@dataclass(frozen=True, eq=False, repr=False)
class BodyReport:
    """How far to trust a flexible body; it prints as tables, and `plot` and `html` draw it.

    body, name : the body, and its name in headings.
    omega, damping : (m,) its frequencies with the body frame held, rad/s, ascending, and damping ratios.
    shapes : (m, m) these modes in the coordinates of the body, with modal mass 1.
    mass, com, inertia : kg; m in the body frame; (3, 3) about the centre of mass, kg m^2.
    total : (6,) mass along x, y, z and inertia about the x, y, z axes of the body frame through its origin.
    effective_mass : (m, 6) how much of `total` reacts to accelerations of the frame in each mode, kg and kg m^2.
    comparison : the comparison (`Comparison`) of the body with the full model: a structure, a superelement or beam
        theory; None if the body has no full model.
    buckling : the lowest force along an axis of the body, at one of the nodes with unit loads, at which it buckles;
        None if it is not known, or if no such force buckles the body.
    notes : caveats, and what cannot be determined, in words.
    """

    body: FlexibleBody
    name: str
    omega: Array
    damping: Array
    shapes: Array
    mass: float
    com: Array
    inertia: Array
    total: Array
    effective_mass: Array
    comparison: Comparison | None
    buckling: BucklingForce | None
    notes: tuple[str, ...]

    def __post_init__(self):
        read_only(self)

    @property
    def frequencies(self) -> Array:
        """The frequencies omega in Hz."""
        return self.omega / (2.0 * np.pi)

    @property
    def parts(self) -> Array:
        """(m, 6): `effective_mass` as fractions of `total`; nan where a direction has no mass or inertia."""
        none = np.where(self.total > 0.0, self.total, np.nan)
        return self.effective_mass / none

    @property
    def movable_parts(self) -> Array | None:
        """(6,): the largest possible sum of `parts`, with all modes of the full model; None if not known."""
        if self.comparison is None or self.comparison.movable is None:
            return None
        return self.comparison.movable / np.where(self.total > 0.0, self.total, np.nan)

    @property
    def matches(self) -> tuple[Match, ...]:
        """Every mode of the full model with the most similar mode of the body."""
        c = self.comparison
        if c is None:
            return ()
        nearest = c.mac.argmax(axis=0)
        return tuple(
            Match(k, int(i), float(c.omega[k]), float(c.own[i]), float(c.mac[i, k]))
            for k, i in enumerate(nearest)
        )

    @property
    def static(self) -> tuple[StaticLoad, ...]:
        """Deflections of the full model and of the body under unit loads."""
        return () if self.comparison is None else self.comparison.static

    @property
    def good_modes(self) -> int:
        """The number of modes of the full model, from the lowest, that the body reproduces.

        Frequencies must agree within 1 %, and the modal assurance must be above 0.9.
        """
        bad = [i for i, m in enumerate(self.matches) if abs(m.error) > CLOSE or m.mac < ALIKE]
        return bad[0] if bad else len(self.matches)

    @property
    def good_to(self) -> float | None:
        """The frequency, Hz, of the last of the `good_modes`; 0 if there are none, None without a full model."""
        if self.comparison is None:
            return None
        count = self.good_modes
        return float(self.comparison.omega[count - 1]) / (2.0 * np.pi) if count else 0.0

    def plot(self, **options: Any) -> Figure:
        """Return a Matplotlib figure of mode shapes, modal assurance, effective masses and static deflections.

        See `limber.plotting.plot_body` for the options.
        """
        return registered("BodyReport.plot")(self, **options)

    def html(self, path: Any, **options: Any) -> Path:
        """Write one HTML file with the tables and pictures; see `limber.viewer.body_page` for the options."""
        return registered("BodyReport.html")(self, path, **options)

    def __repr__(self) -> str:
        modes = len(self.omega)
        lowest = f", lowest {self.frequencies[0]:.4g} Hz" if modes else ""
        count = len(self.notes)
        notes = f", {count} note{'s' if count > 1 else ''}" if count else ""
        name = f"{self.name!r}, " if self.name else ""
        return f"BodyReport({name}{self.mass:.6g} kg, {modes} modes{lowest}{notes}; print it for the tables)"

    _repr_html_ = as_text

    def __str__(self) -> str:
        from limber.structures.report_text import text  # noqa: PLC0415 (only to print)

        return text(self)


def report(
    body: FlexibleBody,
    *,
    interface: Node | Iterable[Node] | None = None,
    loads: Mapping[Node, Any] | None = None,
    modes: int | None = None,
    name: str = "",
    progress: bool | None = None,
) -> BodyReport:
    """Report how far to trust a flexible body; `body.report()` is the same.

    Parameters
    ----------
    body : a body from `Structure.reduce`, `Superelement.reduce` or `beam`, which is compared with the structure, the
        superelement or beam theory; or any other body, for which only its own properties are reported.
    interface : nodes with unit forces and moments for the static comparison.  None: those that the body was reduced
        with, those that carry loads, or the tip.
    loads : {node: (mass, inertia)} as in `reduce`: body and structure are compared under these loads.  None: those
        that the structure was reduced with; {}: none.
    modes : how many modes of the full model to compare; one more is compared if its frequency equals that of the last.
        None: as many as the body has; for a body reduced to a frequency band, all up to its top.
    name : name of the body, for headings.
    progress : whether to show a progress bar; by default it is shown in a terminal, if the report takes more than a
        second.

    The structure is factored again, which takes about as long as the reduction.  Model files, pickles and copies of a
    body do not contain its structure: use the body that `reduce` returned.
    """
    if getattr(body, "kind", None) != FlexibleBody.kind:
        raise ArgumentTypeError(f"body must be a FlexibleBody, got {shown(body)}.")
    if body.free_symbols:
        raise ArgumentValueError(
            "the body contains symbols, but a report needs numbers. Substitute them first."
        )
    if not body.modes:
        raise ArgumentValueError("the body has no modes: there is nothing to report on.")
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name must be text, got {shown(name)}.")
    count = None if modes is None else whole("modes", modes, 1)
    comparison = _comparison(body, interface, loads, count, progress)
    integrals = body.integrals
    value, shapes = scipy.linalg.eigh(body.stiffness, integrals.G0)
    omega = np.sqrt(np.maximum(value, 0.0))
    loss = np.einsum("ri,rs,si->i", shapes, body.damping, shapes)
    with np.errstate(divide="ignore", invalid="ignore"):
        damping = np.where(omega > 0.0, loss / (2.0 * omega), np.nan)
    rigid = np.diag(integrals.rigid_block())[[3, 4, 5, 0, 1, 2]]
    largest = np.repeat([rigid[:3].max(), rigid[3:].max()], 3)
    total = np.where(rigid > NONE * largest, rigid, 0.0)
    reaction = shapes.T @ np.hstack([integrals.E0, integrals.F0])
    effective = np.where(total > 0.0, reaction**2, 0.0)
    made = BodyReport(
        body, name, omega, damping, shapes, *_mass_properties(integrals), total, effective, comparison,
        _buckling(body, comparison), ()
    )  # fmt: skip
    return replace(made, notes=tuple(_notes(made)))


def _comparison(
    body: FlexibleBody, interface: Any, loads: Any, count: int | None, progress: bool | None
) -> Comparison | None:
    """Compare the body with the model that it approximates, if that is known."""
    if body.reduced_from is not None:
        return body.reduced_from.compare(body, interface, loads, count, progress)
    for argument, given in (("interface", interface), ("loads", loads), ("modes", count)):
        if given is not None:
            what = (
                "a beam is compared with beam theory, with its own modes, loads and tip"
                if body.recipe is not None
                else "this body has no structure, like all bodies from files, from nodes and from participation factors"
            )
            raise ArgumentValueError(
                f"{argument} is for bodies from `reduce` of a structure: {what}. Leave {argument} out."
            )
    return None if body.recipe is None else beam_comparison(body.recipe)


def _buckling(body: FlexibleBody, comparison: Comparison | None) -> BucklingForce | None:
    """The lowest force at which the body buckles, and that of the full model in the same direction."""
    if body.recipe is not None:
        EI, length = body.recipe.bending_stiffness(), body.recipe.length
        if EI is None:
            return None
        x = np.eye(3)[0] if body.recipe.rotation is None else np.array(body.recipe.rotation)[:, 0]
        return BucklingForce("tip", _along(-x), float(np.pi**2 * EI / (4.0 * length**2)), None)
    by_force = _stiffness_by_force(body)
    if by_force is None:
        return None
    names = body.nodes.names
    nodes = _far_node(body) if comparison is None else [s.node for s in comparison.static[::6]]
    found: list[tuple[float, str, Array]] = []
    for node in nodes:
        if node not in names:
            continue
        least, most = relative_changes(by_force[names.index(node)], body.stiffness)
        for part, sign in ((least, 1.0), (-most, -1.0)):
            i = int(part.argmin())
            if part[i] < 0.0:
                found.append((-1.0 / float(part[i]), node, sign * np.eye(3)[i]))
    if not found:
        return None
    force, node, direction = min(found, key=lambda x: x[0])
    if body.reduced_from is None:
        return BucklingForce(node, _along(direction), force, None)
    exact = body.reduced_from.buckling_force(node, direction)
    return None if exact is None else BucklingForce(node, _along(direction), force, exact)


def _stiffness_by_force(body: FlexibleBody) -> Array | None:
    """(n, 3, m, m): the change of the modal stiffness due to forces at the nodes of a clamped body, if it is known."""
    if body.load_stiffness is not None:
        held = body.load_stiffness.acceleration.shape[-1] == body.modes
        return body.load_stiffness.forces if held else None
    if body.nodes.second is None or body.reduced_from is None:
        return None
    return -body.nodes.second


def _along(direction: Array) -> str:
    """A direction in words: an axis with its sign, or a vector."""
    i = int(np.abs(direction).argmax())
    if abs(direction[i]) > 1.0 - 1e-9:
        return f"{'-' if direction[i] < 0.0 else ''}{'xyz'[i]}"
    return "(" + ", ".join(f"{x:.4g}" for x in direction) + ")"


def _far_node(body: FlexibleBody) -> list[str]:
    """The node "tip", or the one farthest from the body frame."""
    if body.end_node is not None:
        return [body.end_node]
    return [body.nodes.names[int(np.linalg.norm(body.nodes.position, axis=1).argmax())]]


def _mass_properties(integrals: ModalIntegrals) -> tuple[float, Array, Array]:
    """Mass, centre of mass, and inertia about it."""
    com = integrals.S0 / integrals.mass
    arm = tilde(com)
    return integrals.mass, com, full(integrals.J0) + integrals.mass * arm @ arm


def _notes(r: BodyReport) -> list[str]:
    """The caveats, and what cannot be determined."""
    notes = []
    c = r.comparison
    if c is None:
        notes.append(
            "This body has no structure to be compared with: it was made from nodes or from participation factors, or "
            "read from a file. How its frequencies differ from those of a full model, its modal assurance and its static "
            "errors are not known. If it was reduced from a structure, use report() of the body that Structure.reduce "
            "returned."
        )
    if not r.effective_mass.max() > 1e-12 * r.mass:
        notes.append(
            "Like those of any free body, the modes do not react to accelerations of the body frame: they have no "
            "effective mass."
        )
    if c is None:
        return notes
    absent = [m for m in r.matches if not m.alike]
    if absent:
        first = absent[0]
        more = f" and {len(absent) - 1} above it" if len(absent) > 1 else ""
        notes.append(
            f"Mode {first.full + 1} of the full model, {first.omega / (2.0 * np.pi):.4g} Hz,{more} of the {len(c.omega)} "
            f"compared {'have' if more else 'has'} no mode of the body similar to {'them' if more else 'it'}."
        )
    if c.static:
        worst = max(c.static, key=lambda s: s.error)
        if worst.error > LACKING:
            notes.append(
                f"A {worst.load} at {worst.node!r} deflects the body by {100.0 * worst.error:.3g} % too little; {c.remedy}."
            )
    b = r.buckling
    if b is not None and b.full is not None and b.force > (1.0 + STIFF) * b.full:
        notes.append(
            f"Under a force along {b.along} at {b.node!r}, the full model buckles at {b.full:.4g} N, in a shape that the "
            f"modes of the body cannot represent: the body buckles at {b.force:.4g} N, and warnings about its loads come "
            "too late."
        )
    return notes
