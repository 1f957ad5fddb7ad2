"""Values in elements of SDF, which has numbers and names as the text of elements."""

from __future__ import annotations

import math

import numpy as np

from limber.checks import Array
from limber.io.placement import Pose
from limber.io.rotations import quaternion_matrix, rpy_matrix
from limber.io.xml_tree import Element


def text(element: Element, tag: str, default: str | None = None) -> str:
    """The text of the only child with this tag, which is required if there is no default."""
    child = element.one(tag)
    if child is not None:
        return child.text.strip()
    if default is None:
        raise element.error(f"<{tag}> is missing in <{element.tag}>.")
    return default


def number(element: Element | None, tag: str, default: float) -> float:
    """The number in the only child with this tag."""
    child = None if element is None else element.one(tag)
    if child is None:
        return default
    return float(child.parsed(f"<{tag}>", child.text.strip(), 1)[0])


def bound(element: Element | None, tag: str) -> float | None:
    """A limit: None where it is not given, or is infinite."""
    child = None if element is None else element.one(tag)
    if child is None or child.text.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return None
    return number(element, tag, 0.0)


def truth(element: Element, tag: str, default: bool = False) -> bool:
    """Whether the child with this tag says true."""
    child = element.one(tag)
    if child is None:
        return default
    word = child.text.strip().lower()
    if word not in ("true", "false", "0", "1"):
        raise child.error(f"<{tag}> must be true or false, got {word[:60]!r}.")
    return word in ("true", "1")


def vector(element: Element) -> Array:
    """Three numbers in an element."""
    return element.parsed(f"<{element.tag}>", element.text.strip(), 3)


def pose(element: Element | None) -> Pose:
    """A <pose>, in whichever frame it is."""
    if element is None or not element.text.strip():
        return Pose.here()
    form = element.attributes.get("rotation_format", "euler_rpy")
    if form not in ("euler_rpy", "quat_xyzw"):
        raise element.error(f"rotation_format must be euler_rpy or quat_xyzw, got {form!r}.")
    values = element.parsed("<pose>", element.text.strip(), 6 if form == "euler_rpy" else 7)
    if form == "quat_xyzw":
        if not np.any(values[3:]):
            raise element.error("the quaternion of <pose> is zero.")
        return Pose(quaternion_matrix(values[[6, 3, 4, 5]]), values[:3])
    unit = math.pi / 180.0 if element.attributes.get("degrees") in ("true", "1") else 1.0
    return Pose(rpy_matrix(unit * values[3:]), values[:3])
