"""The content of SDF files: links and joints of models, and the frames in which they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from limber.checks import Array, did_you_mean
from limber.io.left_out import LeftOut
from limber.io.placement import Pose
from limber.io.sdf_includes import Includes
from limber.io.sdf_values import number, pose, text, truth, vector
from limber.io.xml_tree import Element

#: The frame of the model itself.
MODEL = "__model__"
#: What is read of a model and of a link, and what says nothing about the dynamics.
IN_MODEL = {"link", "joint", "frame", "model", "pose", "static", "self_collide", "allow_auto_disable", "enable_wind"}  # fmt: skip
IN_LINK = {"inertial", "pose", "visual", "collision", "self_collide", "must_be_base_link", "enable_wind", "light", "gravity", "kinematic"}  # fmt: skip
IN_WORLD = {"model", "frame", "gravity", "light", "gui", "scene", "physics", "spherical_coordinates", "magnetic_field", "audio", "atmosphere"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SdfLink:
    """A link: its place in the world, mass, centre of mass, and inertia about it in the axes of the link."""

    name: str
    pose: Pose
    mass: float
    com: Array
    inertia: Array
    fixed: bool
    element: Element


@dataclass(frozen=True, eq=False)
class SdfJoint:
    """A joint between links by their names: its place in the world, and the axes, in world axes."""

    name: str
    kind: str
    parent: str
    child: str
    position: Array
    axes: tuple[Array, ...]
    element: Element


@dataclass(frozen=True, eq=False)
class Sdf:
    """An SDF file: its name, the gravity of its world if it has one, links and joints in the order of the file."""

    name: str
    gravity: Array | None
    links: Mapping[str, SdfLink]
    joints: tuple[SdfJoint, ...]
    element: Element


def parse_sdf(path: Path, left_out: LeftOut) -> Sdf:
    """Read an SDF file without making a model of it; what is left out of it is collected."""
    includes = Includes(left_out)
    root = includes.root(path)
    reader = _Reader(left_out, includes.versions)
    worlds = list(root.all("world"))
    if len(worlds) > 1:
        raise worlds[1].error("there is a second <world>: keep one.")
    gravity = None
    if worlds:
        (world,) = worlds
        left_out.tags(world, IN_WORLD)
        given = world.one("gravity")
        gravity = np.array([0.0, 0.0, -9.8]) if given is None else vector(given)
        models = list(world.all("model"))
        prefixes = [f"{model.get('name')}::" for model in models] if len(models) > 1 else [""]
    else:
        left_out.tags(root, {"model", "light"})
        models, prefixes = list(root.all("model")), [""]
        if len(models) > 1:
            raise models[1].error("there is a second <model>: put several models into a <world>.")
    if not models:
        raise root.error("the file has no <model>.")
    around = _Frames(worlds[0], Pose.here()) if worlds else None
    for model, prefix in zip(models, prefixes):
        place = (
            around.pose(model.get("name"), model)
            if around
            else _by_placement(model, pose(model.one("pose")))
        )
        reader.model(model, prefix, place, False)
    name = (worlds or models)[0].attributes.get("name") or path.stem
    if not reader.links:
        raise root.error("the model has no links.")
    return Sdf(name, gravity, reader.links, tuple(reader.joints), root)


@dataclass
class _Reader:
    left_out: LeftOut
    versions: Mapping[Path, tuple[int, int]]
    links: dict[str, SdfLink] = field(default_factory=dict)
    joints: list[SdfJoint] = field(default_factory=list)

    def model(self, element: Element, prefix: str, place: Pose, static: bool) -> None:
        """Read a model that is at a place in the world; names in it get the prefix."""
        self.left_out.tags(element, IN_MODEL)
        static = static or truth(element, "static")
        frames = _Frames(element, place)
        for nested in element.all("model"):
            name = nested.get("name")
            self.model(nested, f"{prefix}{name}::", frames.pose(name, nested), static)
        for link in element.all("link"):
            name = prefix + link.get("name")
            if name in self.links:
                raise link.error(f"there is a second link {name!r}: names must be unique.")
            self.links[name] = self._link(link, name, frames, static)
        for joint in element.all("joint"):
            self._joint(joint, prefix, frames)

    def _link(self, element: Element, name: str, frames: _Frames, static: bool) -> SdfLink:
        self.left_out.tags(element, IN_LINK)
        if not truth(element, "gravity", True) or truth(element, "kinematic"):
            self.left_out.note(
                f"link {name!r} moves and falls like the others: <gravity> and <kinematic> are left out"
            )
        if next(element.all("collision"), None) is not None:
            self.left_out.note("collisions are left out")
        where = frames.pose(element.get("name"), element)
        inertial = element.one("inertial")
        if inertial is None:
            if not static:
                self.left_out.note(
                    f"link {name!r} has no <inertial>, so it has 1 kg and the inertia 1 kg m^2 about each axis, as SDF "
                    "defines"
                )
            return SdfLink(name, where, 1.0, np.zeros(3), np.eye(3), static, element)
        if inertial.attributes.get("auto") in ("true", "1"):
            raise inertial.error(
                f"the <inertial> of link {name!r} is automatic: give mass and inertia."
            )
        self.left_out.tags(inertial, {"mass", "pose", "inertia"})
        given = inertial.one("pose")
        local = pose(given)
        if given is not None and given.attributes.get("relative_to"):
            base = frames.pose(given.attributes["relative_to"], given)
            local = where.inverse().then(base.then(local))
        moments = inertial.one("inertia")
        xx, yy, zz = (number(moments, tag, 1.0) for tag in ("ixx", "iyy", "izz"))
        xy, xz, yz = (number(moments, tag, 0.0) for tag in ("ixy", "ixz", "iyz"))
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia = local.rotation @ inertia @ local.rotation.T
        mass = number(inertial, "mass", 1.0)
        return SdfLink(
            name, where, mass, local.position, 0.5 * (inertia + inertia.T), static, element
        )

    def _joint(self, element: Element, prefix: str, frames: _Frames) -> None:
        name = prefix + element.get("name")
        parent, child = (
            self._end(element, tag, name, prefix, frames) for tag in ("parent", "child")
        )
        where = frames.pose(element.get("name"), element)
        axes = []
        for tag in ("axis", "axis2"):
            axis = element.one(tag)
            if axis is not None:
                axes.append(self._axis(axis, where, frames))
        kind = element.get("type")
        self.joints.append(
            SdfJoint(name, kind, parent, child, where.position, tuple(axes), element)
        )

    def _end(self, element: Element, tag: str, name: str, prefix: str, frames: _Frames) -> str:
        """The link at an end of a joint; a parent may be the world."""
        word = text(element, tag)
        if word == "world" and tag == "parent":
            return "world"
        end = prefix + frames.link(word, element)
        if end not in self.links:
            hint = did_you_mean(end, self.links)
            raise element.error(f"{tag} of joint {name!r} is the unknown link {word!r}. {hint}")
        return end

    def _axis(self, axis: Element, joint: Pose, frames: _Frames) -> Array:
        """The direction of an axis in world axes."""
        given = axis.one("xyz")
        if given is None:
            return joint.rotation @ np.array([0.0, 0.0, 1.0])
        direction = vector(given)
        expressed = given.attributes.get("expressed_in")
        if expressed:
            return frames.pose(expressed, given).rotation @ direction
        # Before version 1.5, axes were in the frame of the model; up to 1.6, they could be.
        if truth(axis, "use_parent_model_frame", self.versions[axis.file] < (1, 5)):
            return frames.place.rotation @ direction
        return joint.rotation @ direction


def _by_placement(model: Element, given: Pose) -> Pose:
    """The place of a model whose <pose> is that of its placement_frame, if it has one."""
    frame = model.attributes.get("placement_frame")
    if not frame:
        return given
    return given.then(_Frames(model, Pose.here()).pose(frame, model).inverse())


class _Frames:
    """The frames of a model by their names, placed in the world when they are requested."""

    def __init__(self, model: Element, place: Pose):
        self.model = model
        self.place = place
        self.nested: dict[str, _Frames] = {}
        self._elements: dict[str, Element] = {}
        self._known: dict[str, Pose] = {MODEL: place, "world": Pose.here()}
        self._asked: list[str] = []
        for tag in ("link", "joint", "frame", "model"):
            for element in model.all(tag):
                name = element.get("name")
                if name in self._elements:
                    raise element.error(
                        f"there is a second frame {name!r}: names must be unique in a model."
                    )
                self._elements[name] = element

    def pose(self, name: str, asker: Element) -> Pose:
        """The place of a frame in the world."""
        if name in self._known:
            return self._known[name]
        outer, _, inner = name.partition("::")
        if inner and outer in self._elements and self._elements[outer].tag == "model":
            if outer not in self.nested:
                self.nested[outer] = _Frames(self._elements[outer], self.pose(outer, asker))
            return self.nested[outer].pose(inner, asker)
        if name not in self._elements:
            hint = did_you_mean(name, self._elements)
            raise asker.error(f"there is no frame {name!r} in this model. {hint}")
        if name in self._asked:
            raise asker.error(f"the frame {name!r} is given relative to itself.")
        self._asked.append(name)
        element = self._elements[name]
        given = element.one("pose")
        base = self._base(element)
        if given is not None:
            base = given.attributes.get("relative_to") or given.attributes.get("frame") or base
        made = self.pose(base, element).then(pose(given))
        if element.tag == "model":
            made = _by_placement(element, made)
        self._asked.remove(name)
        self._known[name] = made
        return made

    def _base(self, element: Element) -> str:
        """The frame in which an element is given if it names none."""
        if element.tag == "joint":
            return text(element, "child")
        if element.tag == "frame":
            return element.attributes.get("attached_to") or MODEL
        return MODEL

    def link(self, name: str, asker: Element) -> str:
        """The link to which a frame is attached, which may be a link itself."""
        seen = [name]
        while True:
            element = self._elements.get(name)
            if element is None or element.tag == "link":
                return name
            name = self._base(element)
            if name in seen or name == MODEL:
                raise asker.error(f"the frame {seen[0]!r} is not attached to a link: name a link.")
            seen.append(name)
