"""Section forces of beams from equilibrium.

The part of a beam beyond a section needs a force for its motion: that of its inertia, less its weight and the external
forces on it, and what the bodies that it carries need.  The section supplies that force.

Here all sections cut the beam into parts (`bodies.cut_beam`), and each part i is attached to the frame of the beam by
itself.  One inverse dynamics in the actual motion gives the wrenches W_i that the parts need, with everything that they
carry, from the modal integrals of the parts.  The force on the part before a section is then

    - (sum of W_i over the parts beyond the section)

If the joint holds the beam beyond the section, it is the sum of W_i over the parts before the section, which hang on it.
The sections are where the deformed beam has them and turn with it, as its nodes do.  In a ruthless system, where all
forces act on undeformed bodies, the sections are those of the undeformed beam.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limber import dynamics
from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies import RigidBody
from limber.bodies.beam import shapes_of
from limber.bodies.beam_forces import beam_of, compliances
from limber.bodies.cut_beam import CutBeam, cut_beam
from limber.bodies.recipe import BeamRecipe
from limber.bodies.section_forces import COMPONENTS, SectionForces
from limber.bodies.stations import along_beam
from limber.checks import Array
from limber.dynamics.closure_loads import closure_loads, loads_in_motion
from limber.dynamics.evaluate import External
from limber.dynamics.freedoms import modal_speeds, undeformed
from limber.dynamics.rows import row_space
from limber.errors import ModelWarning, warn
from limber.joints import Free
from limber.simulation.tanks import drained

if TYPE_CHECKING:
    from limber.simulation.result import Result

#: The number of sections that are cut at the same time.
CUTS = 24
#: The most numbers in an array of states of the opened system.
NUMBERS = 4_000_000
#: A component that closure forces of no effect change by more than this fraction of them is not unique.
MATTERS = 1e-6
#: A component below this fraction of the largest is zero.
NOTHING = 1e-9


def section_loads(result: Result, body: str, at: Any, by_modes: SectionForces) -> SectionForces:
    """The section forces of a body over time at the stations `at`, by equilibrium as far as that determines them.

    by_modes : those of the modes, which remain in frames and where the forces of an environment act.
    """
    of = result.system.bodies[body]
    recipe = beam_of(of)
    if recipe is None:
        if missing := _missing(by_modes):
            warn(
                f"no mode of body {body!r} has these section forces in some of its members: {missing}. They are nan there, "
                "as are the strains and stresses computed from them. To obtain them, reduce the frame with more modes, or "
                'with method="static-correction" and interface=... at the nodes that carry loads.',
                ModelWarning,
            )
        return by_modes
    around = result.environment is not None
    if around:
        missing = _missing(by_modes)
        if not missing:
            return by_modes
        warn(
            f"no mode of body {body!r} has these section forces: {missing}. They are computed from the inertia, torques "
            "and external forces of everything outboard and do not include what the environment does there: gravity, "
            "drag and burns. If that matters, give the beam modes for them, such as stretch and torsion.",
            ModelWarning,
        )
    x, _ = along_beam(of.node_set.names, recipe.length, at, f"body {body!r}")
    forces = _by_equilibrium(result, body, recipe, x)
    strains = forces * compliances(shapes_of(recipe)[0], x)
    if around:
        return by_modes.with_absent(forces, strains)
    return replace(by_modes, forces=forces, strains=strains)


def _missing(forces: SectionForces) -> str:
    """The components that no mode has, in words."""
    absent = forces.absent.reshape(-1, 6).any(axis=0)
    return ", ".join(COMPONENTS[i] for i in np.flatnonzero(absent))


def _by_equilibrium(result: Result, body: str, recipe: BeamRecipe, x: Array) -> Array:
    """(n, stations, 6): the section forces at x (stations,)."""
    cuts, station = np.unique(x, return_inverse=True)
    found, unsure = np.zeros((len(result), cuts.size, 6)), np.zeros(6, dtype=bool)
    if not found.size:
        return found[:, station]
    groups = [cuts[i : i + CUTS] for i in range(0, cuts.size, CUTS)]
    opened = [_opened(result.system, body, cut_beam(recipe, tuple(x.tolist()))) for x in groups]
    for closed, rows, part in result.parts():
        external: Any = dict(part.external)
        motion = part.q, part.v, result.vdot[rows]
        if closed.closures:
            external = loads_in_motion(closed, *motion, part.forces, external)
        masses = {tank: float(mass[0]) for tank, mass in part.masses.items()}
        loads = []
        for full in opened:
            here = replace(full, system=drained(full.system, masses))
            loads.append(here.section_forces(*motion, external))
            if closed.closures:
                unsure |= here.unsure(closed, part.q[0])
        found[rows] = np.concatenate(loads, axis=1)
    # across the plane of a planar mechanism that is not loaded there, nothing acts
    size = np.abs(found).max(axis=(0, 1))
    unsure &= size > NOTHING * size.max()
    if unsure.any():
        names = ", ".join(COMPONENTS[i] for i in np.flatnonzero(unsure))
        warn(
            f"section_forces: the closures of {result.system.name!r} are redundant, so these section forces of body "
            f"{body!r} are not unique in this model: {names}. The closure forces of least norm are used.",
            ModelWarning,
        )
    return found[:, station]


@dataclass(frozen=True, eq=False)
class _OpenedBeam:
    """A system in which the parts of a cut beam are bodies of their own.

    They are attached, by joints of six degrees of freedom at rest, to a body without mass in place of the beam.

    system : the opened system.
    whole : the given one, with the beam of the name `body`.
    parts : the names of the parts.
    """

    system: System
    whole: System
    body: str
    cut: CutBeam
    parts: tuple[str, ...]

    @property
    def _inboard(self) -> int | None:
        return self.whole.attachments[self.body].inboard

    def section_forces(self, q: Array, v: Array, vdot: Array, external: Mapping) -> Array:
        """(n, sections, 6): the section forces in motions (n, ...) of the given system."""
        step = max(1, NUMBERS // self.system.nq)
        if len(q) > step:
            parts = [slice(i, i + step) for i in range(0, len(q), step)]
            some = [{end: wrench[i] for end, wrench in external.items()} for i in parts]
            found = [self.section_forces(q[i], v[i], vdot[i], x) for i, x in zip(parts, some)]
            return np.concatenate(found)
        if self.whole.fidelity == "ruthless":  # it moves as if nothing were deformed
            q, v = undeformed(self.whole, q), v * ~modal_speeds(self.whole)
        tau = dynamics.inverse_dynamics(
            self.system,
            self._states(q),
            self._speeds(v),
            self._speeds(vdot),
            external=self._on_parts(external) or None,
        )
        layout = self.system.layout
        needed = np.stack([tau[:, layout[part].v_joint] for part in self.parts], axis=1)
        before = np.cumsum(needed, axis=1)[:, :-1]
        beyond = np.cumsum(needed[:, ::-1], axis=1)[:, -2::-1]
        holder = 0 if self._inboard is None else self.cut.part_of[self._inboard]
        held = np.arange(before.shape[1]) >= holder
        eta = q[:, self.whole.layout[self.body].q_modes]
        return self._in_sections(np.where(held[:, None], -beyond, before), eta)

    def unsure(self, closed: System, q: Array) -> np.ndarray:
        """(6,): the components that depend on which of several closure forces act."""
        states = undeformed(closed, q) if closed.fidelity == "ruthless" else q
        null = row_space(closed, states).null
        if not null.size:
            return np.zeros(6, dtype=bool)
        loads = {
            end: np.vstack([np.zeros(6), wrench])
            for end, wrench in closure_loads(closed, np.tile(q, (null.shape[1], 1)), null.T).items()
        }
        still = np.zeros((null.shape[1] + 1, closed.nv))
        found = self.section_forces(np.tile(q, (len(still), 1)), still, still, loads)
        largest = max((np.abs(wrench).max() for wrench in loads.values()), default=0.0)
        change = np.abs(found[1:] - found[0]).max(axis=(0, 1))
        return np.array(change > MATTERS * largest)

    def _on_parts(self, external: Mapping) -> External:
        """External wrenches on the bodies of the opened system."""
        found: External = {}
        for (body, node), wrench in external.items():
            on = body
            if body == self.body:
                number = self.whole.node_number(body, node)
                on = self.parts[self.cut.part_of[-1 if number is None else number]]
            found[on, node] = wrench
        return found

    def _states(self, q: Array) -> Array:
        found = np.tile(self.system.neutral(), (len(q), 1))
        return self._spread(q, found, "q_joint", "q_modes")

    def _speeds(self, v: Array) -> Array:
        return self._spread(v, np.zeros((len(v), self.system.nv)), "v_joint", "v_modes")

    def _spread(self, given: Array, found: Array, joint: str, modes: str) -> Array:
        """The rows of the given system, with the modes of the beam in each of its parts."""
        old, new = self.whole.layout, self.system.layout
        for name in self.whole.attachments:
            found[:, getattr(new[name], joint)] = given[:, getattr(old[name], joint)]
            for target in self.parts if name == self.body else (name,):
                found[:, getattr(new[target], modes)] = given[:, getattr(old[name], modes)]
        return found

    def _in_sections(self, wrenches: Array, eta: Array) -> Array:
        """(n, sections, 6): [force, moment] in the axes of the deformed sections and about their centres.

        wrenches : [moment, force] in the frame of the joint, outboard.
        """
        from scipy.spatial.transform import Rotation  # noqa: PLC0415 (slow to import)

        moment, force = wrenches[..., :3], wrenches[..., 3:]
        if self._inboard is not None:
            node = self.cut.parts[0].nodes.shapes[[self._inboard]]
            E = Rotation.from_rotvec(node.turns(eta)[:, 0]).as_matrix()
            moment, force = (np.einsum("nij,nsj->nsi", E, x) for x in (moment, force))
            moment = moment + np.cross(node.places(eta), force)
        moment = moment - np.cross(self.cut.sections.places(eta), force)
        turns = self.cut.sections.turns(eta)
        E = Rotation.from_rotvec(turns.reshape(-1, 3)).as_matrix().reshape(*turns.shape, 3)
        axes = E @ self.cut.axes
        return np.concatenate(
            [np.einsum("nsij,nsi->nsj", axes, x) for x in (force, moment)], axis=-1
        )


def _opened(system: System, body: str, cut: CutBeam) -> _OpenedBeam:
    """The system with the parts of a beam in its place."""
    beam = body
    while any(name.startswith(f"{beam} (part ") for name in system.attachments):
        beam += " "  # another body has the name of a part
    parts = tuple(f"{beam} (part {i})" for i in range(len(cut.parts)))
    place = np.zeros(3), np.eye(3)
    items: list[Attachment] = []
    for name, item in system.attachments.items():
        if name == body:
            items.append(replace(item, body=RigidBody(0.0), inboard=None))
            for part, carrier in zip(parts, cut.parts):
                items.append(Attachment(part, carrier, Free(), body, None, *place, item.inboard))
        elif item.to == body:
            items.append(replace(item, to=parts[cut.part_of[-1 if item.at is None else item.at]]))
        else:
            items.append(item)
    opened = System(system.name, tuple(items), system.gravity, "full", regular=False)
    return _OpenedBeam(opened, system, body, cut, parts)
