"""The content of URDF files: links, joints, limits, damping, mimics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np

from limber.checks import Array, did_you_mean
from limber.errors import ModelWarning, warn
from limber.io.rotations import rpy_matrix
from limber.io.xml_tree import Element, parse_xml

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: Tags that say nothing about the dynamics and are passed over in silence.
SILENT = {
    "robot": {"link", "joint", "material", "transmission", "gazebo"},
    "link": {"inertial", "visual", "collision"},
    "inertial": {"origin", "mass", "inertia"},
    "joint": {
        *("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
        *("calibration", "safety_controller"),
    },
}


#: Tags whose content is not read.
UNREAD = {"visual", "collision", "material", "transmission", "gazebo"}


@dataclass(frozen=True, eq=False)
class UrdfLink:
    """A link: mass, centre of mass, and inertia about the centre of mass, both in the link frame."""

    name: str
    mass: float
    com: Array
    inertia: Array
    element: Element


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A joint with its limits, damping and friction, and its mimic (joint, multiplier, offset).

    lower, upper, effort, velocity are None if the file does not give them, and may be infinite.
    """

    name: str
    kind: str
    parent: str
    child: str
    offset: Array
    rotation: Array
    axis: Array
    lower: float | None
    upper: float | None
    effort: float | None
    velocity: float | None
    damping: float
    friction: float
    mimic: tuple[str, float, float] | None
    element: Element


@dataclass(frozen=True, eq=False)
class Urdf:
    """A URDF file: its name, its root link, and links and joints by name, in the order of the file."""

    name: str
    root: str
    links: Mapping[str, UrdfLink]
    joints: Mapping[str, UrdfJoint]
    element: Element


def parse_urdf(path: str | PathLike) -> Urdf:
    """Read a URDF file without making a model of it.

    path : the path of the file.  The elements of links keep their visuals.  Materials, transmissions and simulator tags
        are ignored; tags that URDF does not have give a ModelWarning.
    """
    robot = parse_xml(Path(path))
    if robot.tag != "robot":
        raise robot.error(f"a URDF file starts with <robot>, got <{robot.tag}>.")
    _refuse_xacro(robot)
    _report_unknown(robot)
    links: dict[str, UrdfLink] = {}
    for element in robot.all("link"):
        link = _link(element)
        if link.name in links:
            raise element.error(f"there is a second link {link.name!r}: names must be unique.")
        links[link.name] = link
    if not links:
        raise robot.error("the robot has no links.")
    joints: dict[str, UrdfJoint] = {}
    for element in robot.all("joint"):
        joint = _joint(element, links)
        if joint.name in joints:
            raise element.error(f"there is a second joint {joint.name!r}: names must be unique.")
        joints[joint.name] = joint
    root = _root(robot, links, joints)
    name = robot.attributes.get("name") or Path(path).stem
    return Urdf(name, root, MappingProxyType(links), MappingProxyType(joints), robot)


def _refuse_xacro(robot: Element) -> None:
    """Reject a file with macros of xacro, or with its expressions where numbers and names are read."""
    expand = "this is a xacro file: expand it first (`xacro arm.xacro > arm.urdf`)."
    stack = [robot]
    while stack:
        element = stack.pop()
        if element.tag.startswith("xacro:"):
            raise element.error(f"<{element.tag}>: {expand}")
        for name, value in element.attributes.items():
            if "${" in value or re.search(r"\$\((find|arg|env|optenv|eval|dirname|anon)\b", value):
                raise element.error(
                    f"{name}={value[:60]!r} of <{element.tag}> is a xacro expression: {expand}"
                )
        stack += [child for child in reversed(element.children) if child.tag not in UNREAD]


def _report_unknown(robot: Element) -> None:
    found: dict[str, int] = {}
    for parent in (robot, *robot.all("link"), *robot.all("joint")):
        for child in parent.children:
            if child.tag not in SILENT[parent.tag]:
                found.setdefault(f"<{child.tag}> in <{parent.tag}>", child.line)
    if found:
        listed = "; ".join(f"{what} (line {line})" for what, line in found.items())
        warn(f"{robot.file}: tags left out: {listed}.", ModelWarning)


def _number(element: Element | None, name: str, default: str) -> float:
    """The number of an attribute, or the default if there is no element."""
    return float(default) if element is None else element.number(name, default)


def _limit(element: Element | None, name: str) -> float | None:
    """A limit: None where it is not given, infinite where the file says so."""
    if element is None or name not in element.attributes:
        return None
    words = element.attributes[name].strip().lower()
    if words.lstrip("+-") in ("inf", "infinity"):
        return float(words)
    return element.number(name)


def origin_of(element: Element) -> tuple[Array, Array]:
    """The place and the rotation of the <origin> of an element."""
    origin = element.one("origin")
    if origin is None:
        return np.zeros(3), np.eye(3)
    rpy = origin.numbers("rpy", 3, "0 0 0")
    return origin.numbers("xyz", 3, "0 0 0"), rpy_matrix(rpy) if rpy.any() else np.eye(3)


def _link(element: Element) -> UrdfLink:
    name = element.get("name")
    if not name:
        raise element.error("the name of this link is empty.")
    inertial = element.one("inertial")
    if inertial is None:
        return UrdfLink(name, 0.0, np.zeros(3), np.zeros((3, 3)), element)
    for child in inertial.children:
        if child.tag not in SILENT["inertial"]:
            raise child.error(
                f"<{child.tag}> is not a known element of <inertial> of link {name!r}."
            )
    com, R = origin_of(inertial)
    mass = inertial.one("mass")
    moments = inertial.one("inertia")
    if mass is None or moments is None:
        missing = "mass" if mass is None else "inertia"
        raise inertial.error(f"<{missing}> is missing in <inertial> of link {name!r}.")
    xx, xy, xz, yy, yz, zz = (
        moments.number(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = R @ inertia @ R.T
    return UrdfLink(name, mass.number("value"), com, 0.5 * (inertia + inertia.T), element)


def _joint(element: Element, links: Mapping[str, UrdfLink]) -> UrdfJoint:
    name, kind = element.get("name"), element.get("type")
    if kind not in KINDS:
        raise element.error(
            f"joint {name!r} has the unknown type {kind!r}. {did_you_mean(kind, KINDS)}"
        )
    ends = []
    for tag in ("parent", "child"):
        end = element.one(tag)
        if end is None:
            raise element.error(f"<{tag}> is missing in joint {name!r}.")
        link = end.get("link")
        if link not in links:
            raise end.error(
                f"{tag} of joint {name!r} is the unknown link {link!r}. {did_you_mean(link, links)}"
            )
        ends.append(link)
    offset, rotation = origin_of(element)
    axis = element.one("axis")
    direction = np.array([1.0, 0, 0]) if axis is None else axis.numbers("xyz", 3, "1 0 0")
    limit, dynamics, mimic = element.one("limit"), element.one("dynamics"), element.one("mimic")
    follows = None
    if mimic is not None:
        follows = (
            mimic.get("joint"),
            _number(mimic, "multiplier", "1"),
            _number(mimic, "offset", "0"),
        )
    lower, upper, effort, velocity = (
        _limit(limit, key) for key in ("lower", "upper", "effort", "velocity")
    )
    return UrdfJoint(
        name=name,
        kind=kind,
        parent=ends[0],
        child=ends[1],
        offset=offset,
        rotation=rotation,
        axis=direction,
        lower=lower,
        upper=upper,
        effort=effort,
        velocity=velocity,
        damping=_number(dynamics, "damping", "0"),
        friction=_number(dynamics, "friction", "0"),
        mimic=follows,
        element=element,
    )


def _root(robot: Element, links, joints: Mapping[str, UrdfJoint]) -> str:
    """The one link without a parent, from which all others are reached."""
    parents: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        if joint.child in parents:
            raise joint.element.error(
                f"link {joint.child!r} is the child of two joints, {parents[joint.child].name!r} and {joint.name!r}, but "
                "URDF describes trees."
            )
        parents[joint.child] = joint
    roots = [name for name in links if name not in parents]
    if len(roots) > 1:
        listed = ", ".join(map(repr, roots[:6]))
        raise robot.error(
            f"links {listed} have no joint to a parent, but a URDF file has one root link."
        )
    reached = set(roots)
    for link in links:
        chain: dict[str, None] = {}
        name = link
        while name not in reached:
            chain[name] = None
            name = parents[name].parent
            if name in chain:
                raise parents[name].element.error(
                    f"link {name!r} is its own ancestor: the joints form a cycle."
                )
        reached.update(chain)
    return roots[0]
