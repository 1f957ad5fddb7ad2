"""`<compiler>` and `<default>` of MJCF: how attributes are read, and their default values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from limber.checks import Array, did_you_mean
from limber.io.left_out import LeftOut
from limber.io.placement import Pose
from limber.io.rotations import axis_angle_matrix, quaternion_matrix
from limber.io.xml_tree import Element

#: Attributes of <compiler> without a meaning for the dynamics of the bodies that are read.
SILENT = {
    *("strippath", "meshdir", "texturedir", "assetdir", "discardvisual", "usethread"),
    *("fusestatic", "saveinertial", "conflict", "convexhull"),
}
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


@dataclass(frozen=True)
class Compiler:
    """The settings of <compiler> that change the model."""

    degrees: bool = True
    sequence: str = "xyz"
    autolimits: bool = True
    inertia_from_geoms: str = "auto"
    groups: tuple[float, float] = (0.0, 5.0)
    smallest_mass: float = 0.0
    smallest_inertia: float = 0.0
    balance: bool = False
    total_mass: float = 0.0
    exact_meshes: bool = False
    fit_bounds: bool = False

    @property
    def unit(self) -> float:
        """The angles of the file in radians."""
        return math.pi / 180.0 if self.degrees else 1.0

    def pose(self, element: Element) -> Pose:
        """`pos` and the orientation of an element."""
        return Pose(self.rotation(element), element.numbers("pos", 3, "0 0 0"))

    def rotation(self, element: Element) -> Array:
        """The orientation of an element, by whichever attribute gives it."""
        given = [name for name in ORIENTATIONS if name in element.attributes]
        if len(given) > 1:
            raise element.error(
                f"<{element.tag}> has {given[0]} and {given[1]}: give its orientation once."
            )
        if not given:
            return np.eye(3)
        name = given[0]
        values = element.numbers(name, {"quat": 4, "axisangle": 4, "xyaxes": 6}.get(name, 3))
        if name == "euler":
            return self._euler(values)
        if name == "xyaxes":
            x, y = unit(element, name, values[:3]), values[3:]
            y = unit(element, name, y - x * (x @ y))
            return np.column_stack([x, y, np.cross(x, y)])
        if name == "zaxis":
            return turned_z(unit(element, name, values))
        if name == "axisangle":
            return axis_angle_matrix(unit(element, name, values[:3]), self.unit * values[3])
        unit(element, name, values)
        return quaternion_matrix(values)

    def _euler(self, angles: Array) -> Array:
        """Turns about the axes of the sequence: about turned ones if lower case, about fixed ones if upper case."""
        R = np.eye(3)
        for letter, angle in zip(self.sequence, self.unit * angles):
            turn = axis_angle_matrix(np.eye(3)["xyz".index(letter.lower())], float(angle))
            R = R @ turn if letter.islower() else turn @ R
        return R


def unit(element: Element, name: str, vector: Array) -> Array:
    """A vector of the file, of length one."""
    length = float(np.linalg.norm(vector))
    if length < 1e-14:
        raise element.error(f"{name} of <{element.tag}> has a vector of length zero.")
    return vector / length


def turned_z(z: Array) -> Array:
    """The smallest rotation that turns the z axis to a unit vector."""
    sine = math.hypot(z[0], z[1])
    if sine < 1e-14:
        return np.eye(3) if z[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return axis_angle_matrix(np.array([-z[1], z[0], 0.0]) / sine, math.atan2(sine, z[2]))


def read_compiler(root: Element, left_out: LeftOut) -> Compiler:
    """The settings of all <compiler> elements."""
    made = Compiler()
    for element in root.all("compiler"):
        for name, value in element.attributes.items():
            made = _with_setting(made, element, name, value, left_out)
        left_out.tags(element, ())
    return made


def _with_setting(
    compiler: Compiler, element: Element, name: str, value: str, left_out: LeftOut
) -> Compiler:
    if name == "angle":
        return replace(compiler, degrees=word(element, name, ("degree", "radian")) == "degree")
    if name == "eulerseq":
        if len(value) != 3 or set(value.lower()) - set("xyz"):
            raise element.error(f"eulerseq must be three letters of xyzXYZ, got {value!r}.")
        return replace(compiler, sequence=value)
    if name == "autolimits":
        return replace(compiler, autolimits=yes(element, name))
    if name == "balanceinertia":
        return replace(compiler, balance=yes(element, name))
    if name == "inertiafromgeom":
        chosen = word(element, name, ("true", "false", "auto"))
        return replace(compiler, inertia_from_geoms=chosen)
    if name == "inertiagrouprange":
        low, high = element.numbers(name, 2)
        return replace(compiler, groups=(float(low), float(high)))
    if name == "exactmeshinertia":
        return replace(compiler, exact_meshes=yes(element, name))
    if name == "fitaabb":
        return replace(compiler, fit_bounds=yes(element, name))
    if name == "boundmass":
        return replace(compiler, smallest_mass=element.number(name))
    if name == "boundinertia":
        return replace(compiler, smallest_inertia=element.number(name))
    if name == "settotalmass":
        return replace(compiler, total_mass=element.number(name))
    if name == "coordinate":
        if value != "local":
            raise element.error(
                f"coordinate={value!r} belongs to old versions of MuJoCo: save the model with a newer one first."
            )
    elif name == "alignfree" and not yes(element, name):
        pass
    elif name not in SILENT:
        left_out.attributes(element, element.attributes.keys() - {name})
    return compiler


def word(element: Element, name: str, known: Iterable[str]) -> str:
    """An attribute that is one of a few words."""
    value = element.get(name)
    if value not in known:
        hint = did_you_mean(value, known)
        raise element.error(f"{name} of <{element.tag}> is unknown: {value!r}. {hint}")
    return value


def yes(element: Element, name: str, default: str = "false") -> bool:
    """An attribute that is true or false."""
    if name not in element.attributes:
        return default == "true"
    return word(element, name, ("true", "false")) == "true"


@dataclass
class Defaults:
    """The attributes of elements by class and tag."""

    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {"main": {}})

    def read(self, root: Element) -> None:
        """Read all <default> elements of a file; the outermost ones are the class "main", by whatever name."""
        outermost = list(root.all("default"))
        for element in outermost:
            self._read(element, "main", "main")
        for element in outermost:
            self.classes[element.attributes.get("class", "main")] = self.classes["main"]

    def _read(self, element: Element, name: str, parent: str) -> None:
        inherited = self.classes.get(name, self.classes[parent])
        own = {tag: dict(attributes) for tag, attributes in inherited.items()}
        for child in element.children:
            if child.tag != "default":
                own[child.tag] = _merged(own.get(child.tag, {}), child.attributes)
        self.classes[name] = own
        for child in element.all("default"):
            self._read(child, child.get("class"), name)

    def resolved(
        self, element: Element, child_class: str | None, tag: str | None = None
    ) -> Element:
        """The element with the attributes of its class, or of the class that its body gives to its children.

        tag : the tag of the defaults, unless it is that of the element.
        """
        chosen = element.attributes.get("class", child_class) or "main"
        if chosen not in self.classes:
            hint = did_you_mean(chosen, self.classes)
            raise element.error(f"<{element.tag}> has the unknown class {chosen!r}. {hint}")
        given: Mapping[str, str] = self.classes[chosen].get(tag or element.tag, {})
        return replace(element, attributes=_merged(given, element.attributes))


def _merged(defaults: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Attributes over their defaults; an orientation replaces another one, and a `size` its own first numbers."""
    kept = dict(defaults)
    if any(name in own for name in ORIENTATIONS):
        kept = {name: value for name, value in kept.items() if name not in ORIENTATIONS}
    size = own.get("size", "").split()
    size += kept.get("size", "").split()[len(size) :]
    return kept | dict(own) | ({"size": " ".join(size)} if size else {})
