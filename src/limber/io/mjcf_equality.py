"""Equality constraints of MJCF as closures: connect, weld, and joint with a linear law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from limber.assembly import Assembly
from limber.checks import did_you_mean
from limber.errors import FileError, LimberError
from limber.io.left_out import LeftOut
from limber.io.mjcf import Mjcf
from limber.io.mjcf_compiler import yes
from limber.io.placement import Pose
from limber.io.rotations import quaternion_matrix
from limber.io.xml_tree import Element
from limber.joints import Fixed, Spherical

#: Attributes of all kinds; settings of the soft constraints are passed over.
COMMON = {"name", "class", "active", "solref", "solimp"}
READ = {
    "connect": {"body1", "body2", "anchor", "site1", "site2"},
    "weld": {"body1", "body2", "relpose", "anchor", "torquescale", "site1", "site2"},
    "joint": {"joint1", "joint2", "polycoef"},
}


def close_equalities(assembly: Assembly, model: Mjcf, left_out: LeftOut) -> None:
    """Close the loops of a model and relate its joints, as its equality constraints say."""
    poses = _poses(model)
    for element in model.equalities:
        if not yes(element, "active", "true"):
            left_out.note(f"the <{element.tag}> of line {element.line} is not active and left out")
        elif element.tag not in READ:
            left_out.tag(element, "equality")
        else:
            left_out.attributes(element, COMMON | READ[element.tag])
            try:
                if element.tag == "joint":
                    _relate(assembly, model, element, left_out)
                else:
                    _close(assembly, model, element, poses)
            except LimberError as error:
                if isinstance(error, FileError):
                    raise
                raise element.error(str(error)) from error


def _poses(model: Mjcf) -> dict[str, Pose]:
    """The places of the bodies in the world, as the file has them."""
    poses = {"world": Pose.here()}
    for body in model.bodies.values():
        poses[body.name] = poses[body.parent].then(body.pose)
    return poses


def _close(assembly: Assembly, model: Mjcf, element: Element, poses: Mapping[str, Pose]) -> None:
    """A cut joint between two bodies, at the place where the file has it."""
    if "site1" in element.attributes or "site2" in element.attributes:
        ends = [_site(model, element, key) for key in ("site1", "site2")]
    else:
        ends = _body_ends(model, element, poses)
    (first, a), (second, b) = ends
    turns = element.tag == "connect" or element.number("torquescale", "1") == 0.0
    joint = Spherical() if turns else Fixed()
    assembly.close(
        _end(first),
        _end(second),
        joint,
        element.attributes.get("name"),
        a.position,
        a.rotation,
        b.position,
        b.rotation,
    )


def _end(body: str) -> tuple:
    return ("world", (0.0, 0.0, 0.0)) if body == "world" else (body, None)


def _body_ends(model: Mjcf, element: Element, poses: Mapping[str, Pose]) -> list[tuple[str, Pose]]:
    """The bodies of a constraint, and the place of the cut joint in each of them."""
    first = _known(element, "body1", model.bodies)
    second = _known(element, "body2", model.bodies) if "body2" in element.attributes else "world"
    between = poses[first].inverse().then(poses[second])  # the second body in the first one
    if element.tag == "connect":
        here = Pose(np.eye(3), element.numbers("anchor", 3))
        return [(first, here), (second, between.inverse().then(here))]
    there = Pose(
        np.eye(3), element.numbers("anchor", 3, "0 0 0")
    )  # a weld has it in the second body
    relative = element.numbers("relpose", 7, "0 0 0 0 0 0 0")
    if relative[3:].any():  # the anchor is at this place of the first body
        return [(first, Pose(quaternion_matrix(relative[3:]), relative[:3])), (second, there)]
    return [(first, between.then(there)), (second, there)]


def _site(model: Mjcf, element: Element, key: str) -> tuple[str, Pose]:
    """The body of a site and its place there."""
    name = element.get(key)
    places = {site: ("world", pose) for site, pose in model.world_sites.items()}
    for body in model.bodies.values():
        places |= {site: (body.name, pose) for site, pose in body.sites.items()}
    if name not in places:
        hint = did_you_mean(name, places)
        raise element.error(f"{key} of <{element.tag}> is the unknown site {name!r}. {hint}")
    return places[name]


def _known(element: Element, key: str, bodies: Mapping) -> str:
    name = element.get(key)
    if name != "world" and name not in bodies:
        hint = did_you_mean(name, bodies)
        raise element.error(f"{key} of <{element.tag}> is the unknown body {name!r}. {hint}")
    return name


def _relate(assembly: Assembly, model: Mjcf, element: Element, left_out: LeftOut) -> None:
    """theta1 = c0 + c1 theta2, from the positions that the file has."""
    constant, slope, *higher = [*element.numbers("polycoef", None, "0 1 0 0 0"), 0.0, 0.0][:5]
    name = element.attributes.get("name")
    driven = _coordinate(model, element, "joint1")
    if "joint2" not in element.attributes:
        assembly.relate({driven: 1.0}, float(constant), name)
    elif any(higher):
        left_out.note(
            f"the <joint> constraint of line {element.line} is not linear (polycoef) and left out"
        )
    else:
        driver = _coordinate(model, element, "joint2")
        assembly.gear(driven, driver, float(slope), float(constant), name)


def _coordinate(model: Mjcf, element: Element, key: str) -> tuple[str, int]:
    """The body and the number of the coordinate of a hinge or slide."""
    wanted = element.get(key)
    names = []
    for body in model.bodies.values():
        for i, joint in enumerate(body.joints):
            if joint.name == wanted:
                if any(other.kind in ("ball", "free") for other in body.joints):
                    raise element.error(
                        f"{key} of <joint> is {wanted!r}, with a ball or free joint, which has no coordinates to relate."
                    )
                return body.name, i
            names += [joint.name] if joint.name else []
    hint = did_you_mean(wanted, names)
    raise element.error(f"{key} of <joint> is the unknown joint {wanted!r}. {hint}")
