"""The content of MJCF files, the models of MuJoCo: bodies with their joints, inertias and sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from limber.checks import Array
from limber.io.left_out import LeftOut
from limber.io.mjcf_assets import Assets
from limber.io.mjcf_compiler import ORIENTATIONS, Compiler, Defaults, read_compiler, yes
from limber.io.mjcf_geoms import Inertial, geom_inertial, together
from limber.io.mjcf_joints import JointReader, MjcfJoint
from limber.io.mjcf_meshes import Meshes
from limber.io.mjcf_visuals import GeomShapes
from limber.io.placement import Pose
from limber.io.stops import Notes
from limber.io.xml_tree import Element, parse_xml
from limber.shapes import Shape

#: Sections of a file: those that are read, and those about pictures and memory.
SECTIONS = {"compiler", "option", "default", "worldbody", "equality"}
SILENT = {"size", "visual", "statistic", "asset"}
#: Attributes of <option> that change the motion.  The others are about MuJoCo's solver.
MEDIUM = ("wind", "density", "viscosity")
INSIDE = {"inertial", "joint", "freejoint", "geom", "site", "body", "frame", "camera", "light"}
#: What makes bodies of one element: MuJoCo has to write them out first.
MADE = ("composite", "flexcomp", "replicate", "attach")
PLACE = {"name", "pos", "childclass", *ORIENTATIONS}


@dataclass(eq=False)
class MjcfBody:
    """A body: its place in its parent, inertia, joints inboard to outboard, and sites by name."""

    name: str
    parent: str
    pose: Pose
    element: Element
    inertial: Inertial | None = None
    geoms: list[Inertial] = field(default_factory=list)
    joints: list[MjcfJoint] = field(default_factory=list)
    sites: dict[str, Pose] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Mjcf:
    """An MJCF file: its name, gravity, and bodies by name, in the order of the file."""

    name: str
    gravity: Array
    bodies: Mapping[str, MjcfBody]
    equalities: tuple[Element, ...]
    compiler: Compiler
    element: Element
    world_sites: Mapping[str, Pose]


def parse_mjcf(path: Path, left_out: LeftOut, notes: Notes, stops: bool = True) -> Mjcf:
    """Read an MJCF file without making a model of it; what is left out of it is collected."""
    root = _included(parse_xml(path), path, (path,))
    if root.tag != "mujoco":
        raise root.error(f"an MJCF file starts with <mujoco>, got <{root.tag}>.")
    left_out.tags(root, SECTIONS | SILENT)
    compiler, defaults = read_compiler(root, left_out), Defaults()
    defaults.read(root)
    assets = Assets(root, defaults)
    joints = JointReader(compiler, left_out, notes, stops)
    meshes = Meshes(assets, compiler.exact_meshes)
    pictures = GeomShapes(assets, compiler, meshes)
    given = frozenset(_body_names(root))
    reader = _Reader(compiler, defaults, left_out, joints, meshes, pictures, given)
    for world in root.all("worldbody"):
        reader.inside(world, None, Pose.here(), None)
    if reader.colliding > 1:
        left_out.note("contacts of geoms are left out, so nothing collides")
    for words in pictures.visuals.notes():
        left_out.note(words)
    equalities = tuple(
        defaults.resolved(child, None, "equality")
        for section in root.all("equality")
        for child in section.children
    )
    name = root.attributes.get("model") or path.stem
    bodies = {body.name: body for body in reader.bodies}
    gravity = _gravity(root, left_out)
    return Mjcf(name, gravity, bodies, equalities, compiler, root, reader.world_sites)


def _included(element: Element, path: Path, inside: tuple[Path, ...]) -> Element:
    """The element with the content of the files that it includes."""
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            children.append(_included(child, path, inside))
            continue
        file = path.parent / child.get("file")
        if file in inside:
            raise child.error(f"{file.name} includes itself.")
        children += _included(parse_xml(file), path, (*inside, file)).children
    return replace(element, children=children)


def _body_names(element: Element) -> Iterator[str]:
    """The names that the file gives to its bodies."""
    for child in element.children:
        if child.tag == "body" and "name" in child.attributes:
            yield child.get("name")
        yield from _body_names(child)


def _has_inertial(element: Element) -> bool:
    """Whether a body, or a frame in it, has an <inertial>."""
    return any(
        child.tag == "inertial" or (child.tag == "frame" and _has_inertial(child))
        for child in element.children
    )


def _gravity(root: Element, left_out: LeftOut) -> Array:
    gravity = np.array([0.0, 0.0, -9.81])
    for option in root.all("option"):
        gravity = option.numbers("gravity", 3, " ".join(map(repr, gravity.tolist())))
        acting = {name for name in MEDIUM if option.numbers(name, None, "0").any()}
        left_out.attributes(option, option.attributes.keys() - acting)
        for flags in option.all("flag"):
            left_out.attributes(flags, ("gravity",))
            if flags.attributes.get("gravity") == "disable":
                gravity = np.zeros(3)
    return gravity


@dataclass
class _Reader:
    compiler: Compiler
    defaults: Defaults
    left_out: LeftOut
    joints: JointReader
    meshes: Meshes
    pictures: GeomShapes
    given: frozenset[str]
    bodies: list[MjcfBody] = field(default_factory=list)
    world_sites: dict[str, Pose] = field(default_factory=dict)
    colliding: int = 0

    def inside(
        self, element: Element, body: MjcfBody | None, frame: Pose, child_class: str | None
    ) -> None:
        """Read what is in a body, or in a frame of it; the body is None in the world."""
        child_class = element.attributes.get("childclass", child_class)
        self.left_out.tags(element, INSIDE | set(MADE))
        for child in element.children:
            if child.tag in MADE:
                raise child.error(
                    f"<{child.tag}> creates bodies and is not supported: let MuJoCo write the compiled model "
                    "(mj_saveLastXML), and read that."
                )
            if child.tag == "frame":
                self.left_out.attributes(child, PLACE)
                self.inside(child, body, frame.then(self.compiler.pose(child)), child_class)
            elif child.tag == "body":
                self._body(child, "world" if body is None else body.name, frame, child_class)
            elif child.tag in ("joint", "freejoint", "inertial") and body is None:
                raise child.error(f"the world has no <{child.tag}>: put it into a <body>.")
            elif child.tag in ("joint", "geom", "site"):
                self._part(self.defaults.resolved(child, child_class), body, frame)
            elif child.tag == "freejoint" and body is not None:
                body.joints.append(self.joints.read(child, frame))
            elif child.tag == "inertial" and body is not None:
                body.inertial = self._inertial(child, frame)

    def _body(self, element: Element, parent: str, frame: Pose, child_class: str | None) -> None:
        name = element.attributes.get("name") or self._free_name()
        if name == "world" or any(name == body.name for body in self.bodies):
            raise element.error(f"there is a second body {name!r}: names must be unique.")
        known = PLACE | {"user"}
        if element.number("gravcomp", "0") == 0.0:
            known = known | {"gravcomp"}
        if not yes(element, "mocap"):
            known = known | {"mocap"}
        self.left_out.attributes(element, known)
        body = MjcfBody(name, parent, frame.then(self.compiler.pose(element)), element)
        self.bodies.append(body)
        self.inside(element, body, Pose.here(), child_class)
        free = [joint for joint in body.joints if joint.kind == "free"]
        if free and (parent != "world" or len(body.joints) > 1):
            raise free[0].element.error(
                f"body {name!r}: a free joint must be the only joint of its body, and the body must be a child of the "
                "world."
            )

    def _free_name(self) -> str:
        """A name for a body without one: its number, with an underscore for each name of the file that is the same."""
        name = f"body{len(self.bodies) + 1}"
        while name in self.given:
            name += "_"
        return name

    def _part(self, element: Element, body: MjcfBody | None, frame: Pose) -> None:
        if element.tag == "site":
            sites = self.world_sites if body is None else body.sites
            if "name" in element.attributes:
                sites[element.get("name")] = frame.then(self.compiler.pose(element))
            return
        if element.tag == "geom":
            self.colliding += any(
                element.attributes.get(key, "1").strip() != "0"
                for key in ("contype", "conaffinity")
            )
            if element.attributes.get("fluidshape", "none") != "none":
                self.left_out.attributes(element, element.attributes.keys() - {"fluidshape"})
            if body is not None and self._needs_geoms(body):
                found = geom_inertial(element, self.compiler, self.meshes, frame)
                body.geoms += [] if found is None else [found]
            shape = None if body is None else self.pictures.shape(element, frame)
            if body is not None and shape is not None:
                body.shapes.append(shape)
            return
        assert body is not None
        body.joints.append(self.joints.read(element, frame))

    def _needs_geoms(self, body: MjcfBody) -> bool:
        """Whether the geoms of a body make its inertia."""
        how = self.compiler.inertia_from_geoms
        return how == "true" or (how == "auto" and not _has_inertial(body.element))

    def _inertial(self, element: Element, frame: Pose) -> Inertial:
        self.left_out.attributes(
            element, {"pos", "mass", "diaginertia", "fullinertia", *ORIENTATIONS}
        )
        pose = frame.then(self.compiler.pose(element))
        if "fullinertia" in element.attributes:
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            moments = np.diag(element.numbers("diaginertia", 3, "0 0 0"))
        inertia = pose.rotation @ moments @ pose.rotation.T
        return Inertial(element.number("mass"), pose.position, 0.5 * (inertia + inertia.T))


def inertial_of(body: MjcfBody, compiler: Compiler) -> Inertial:
    """Mass, centre and inertia of a body, with the bounds of the compiler."""
    # Of a body without any mass, which only a bound gives one, MuJoCo has the centre at the `pos` of the body.
    nowhere = body.element.numbers("pos", 3, "0 0 0") if compiler.smallest_mass else np.zeros(3)
    found = body.inertial or Inertial(0.0, nowhere, np.zeros((3, 3)))
    if compiler.inertia_from_geoms == "true" or (
        compiler.inertia_from_geoms == "auto" and body.inertial is None
    ):
        found = together(body.geoms) if body.geoms else found
    if not np.isfinite(found.inertia).all():
        raise body.element.error(
            f"body {body.name!r}: its inertia is too large for a number of double precision. Check the sizes, densities "
            "and masses of its geoms, or of its <inertial>."
        )
    mass = max(found.mass, compiler.smallest_mass)
    moments, axes = np.linalg.eigh(found.inertia)
    bounded = np.maximum(moments, compiler.smallest_inertia)
    if compiler.balance and bounded[0] + bounded[1] < bounded[2]:
        bounded = np.full(3, bounded.mean())
    inertia = found.inertia
    if not np.array_equal(bounded, moments) and (compiler.balance or compiler.smallest_inertia):
        inertia = axes @ np.diag(bounded) @ axes.T
    return Inertial(mass, found.com, 0.5 * (inertia + inertia.T))
