"""Assemblies from MJCF files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import numpy as np

from limber.assembly import Assembly
from limber.bodies import RigidBody
from limber.checks import flag
from limber.errors import LimberError
from limber.io.files import file_path
from limber.io.left_out import LeftOut
from limber.io.mjcf import Mjcf, MjcfBody, inertial_of, parse_mjcf
from limber.io.mjcf_equality import close_equalities
from limber.io.mjcf_geoms import Inertial
from limber.io.mjcf_joints import one_joint
from limber.io.stops import Notes

#: The node of a body whose joints are not at the origin of its frame.
ANCHOR = "joint anchor"


def read_mjcf(path: str | PathLike, *, stops: bool = True, equality: bool = True) -> Assembly:
    """Read the assembly of an MJCF file (MuJoCo): one body for each `<body>`, under its name.

    Parameters
    ----------
    path : the path of the file.  Files that it includes are looked for next to it.
    stops : False for joints without stops at their `range`; their limits can still be read.
    equality : False to leave out the equality constraints of the file.

    Hinge, slide, ball and free joints become Revolute, Prismatic, Spherical and Free.  Several joints of a body become
    a CompoundJoint; a body without joints is Fixed to its parent.  Coordinates are zero where the file places the
    bodies: those of hinges and slides are the positions of MuJoCo minus `ref`, and those of a free joint are relative
    to the place of the body in the file.  Bodies without a name are named body1, body2, ... by their numbers in MuJoCo.
    Sites become nodes.

    Inertias are those of `<inertial>`, or follow from the geoms, including meshes, as in MuJoCo, with its defaults.
    Joints have their armature, damping, stiffness, springref, and frictionloss (as `friction`).  actuatorfrcrange
    becomes effort_limit.  Joints have compliant stops at `range`, as in `read_urdf`, if an actuatorfrcrange determines
    their stiffness.

    Equality constraints of the kinds connect, weld and joint (with a linear polycoef) become closures.  They hold
    exactly, while those of MuJoCo are soft.

    One ModelWarning lists what is left out, such as contacts, tendons, actuators, sensors and keyframes.  Appearance
    and solver settings are ignored silently.
    """
    file = file_path(path)
    left_out, notes = LeftOut(file), Notes()
    with np.errstate(over="ignore", invalid="ignore"):  # inertias that are too large are rejected
        model = parse_mjcf(file, left_out, notes, flag("stops", stops))
        inertials = _inertials(model)
    if not model.bodies:
        raise model.element.error("the model has no bodies.")
    assembly = Assembly(model.name, model.gravity)
    for body in model.bodies.values():
        _attach(assembly, body, inertials[body.name])
    if flag("equality", equality):
        close_equalities(assembly, model, left_out)
    elif model.equalities:
        left_out.note("the equality constraints are left out, as requested")
    for line in notes.lines():
        left_out.note(line)
    left_out.report()
    return assembly


def _inertials(model: Mjcf) -> Mapping[str, Inertial]:
    """The inertias of the bodies, scaled to the total mass that the file specifies."""
    found = {name: inertial_of(body, model.compiler) for name, body in model.bodies.items()}
    total = sum(x.mass for x in found.values())
    if model.compiler.total_mass <= 0.0 or total == 0.0:
        return found
    factor = model.compiler.total_mass / total
    return {n: Inertial(factor * x.mass, x.com, factor * x.inertia) for n, x in found.items()}


def _attach(assembly: Assembly, body: MjcfBody, inertial: Inertial) -> None:
    """Add a body to the assembly."""
    joint, anchor = one_joint(body.joints)
    nodes = {name: pose.position for name, pose in body.sites.items()}
    away = bool(anchor.any())
    if away:
        nodes[ANCHOR] = anchor
    try:
        made = RigidBody(inertial.mass, inertial.com, inertial.inertia, nodes)
        place = body.pose.point(anchor), body.pose.rotation
        inboard = ANCHOR if away else None
        names = [each.name or "" for each in body.joints]
        assembly.attach(
            body.name, made, joint, body.parent, None, *place, inboard, names, body.shapes
        )
    except LimberError as error:
        raise body.element.error(f"body {body.name!r}: {error}") from error
