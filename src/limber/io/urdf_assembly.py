"""Assemblies from URDF files, whose links can be made flexible."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from limber.assembly import Assembly
from limber.bodies import Body, RigidBody
from limber.checks import Array, did_you_mean, flag, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError, ModelWarning, warn
from limber.io.lenient import ARMATURE, armature_notes, inertia_notes, link_body
from limber.io.urdf import Urdf, UrdfJoint, parse_urdf
from limber.io.urdf_massless import massless_joints
from limber.io.urdf_mimic import gear_mimics
from limber.io.urdf_physics import joint_physics
from limber.io.urdf_visuals import link_shapes
from limber.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from limber.joints.physics import JointOptions
from limber.shapes import Shape

#: A joint farther than this from the nearest node, as a share of the body's extent, is reported.
FAR = 0.02


def read_urdf(
    path: str | PathLike,
    flexible: Mapping[str, Body] | str | PathLike | None = None,
    *,
    root: str = "fixed",
    attach: Mapping[str, str | int] | None = None,
    gravity=(0.0, 0.0, -9.81),
    stops: bool = True,
    mimic: bool = True,
    lenient: bool = False,
    visuals: bool = True,
) -> Assembly:
    """Read the assembly of a URDF file: one body for each link, under the name of the link.

    Parameters
    ----------
    path : the path of the URDF file.
    flexible : bodies by link name, each in the frame of its link, or the path of a side file with them.  A
        flexible body also replaces the inertia of the link.
    root : "fixed" to the world, or "free".
    attach : {joint: node}, the node of a flexible link that carries a joint; the nearest node by default.
    gravity : the acceleration of gravity in world axes, which URDF does not give.
    stops : False for joints without stops at `lower` and `upper`; their limits can still be read.
    mimic : False to let joints with a `<mimic>` move on their own.
    lenient : True to accept what other programs also accept.  Inertias with negative principal moments are kept as they
        are; `build()` rejects them only if the mass matrix of the system is not positive definite.  Joints that move no
        mass get an armature of 1e-6 kg m^2, or kg.  A ModelWarning says where.
    visuals : False for bodies without the shapes of `<visual>`, which only pictures show.  Meshes are looked for next to
        the file, and `package://` in the folders above it and in $ROS_PACKAGE_PATH.

    The joint coordinate is that of URDF; `floating` becomes Free, `planar` becomes Planar(axis), and `continuous`
    and `revolute` become Revolute.  Fixed joints remain Fixed.

    Joints have the `damping` and `friction` of `<dynamics>`.  `effort` and `velocity` of `<limit>` become
    effort_limit and speed_limit (zero means no limit).  Revolute and prismatic joints have compliant stops at
    `lower` and `upper`.  URDF does not give the stiffness of stops: it is chosen so that `effort` presses the
    joint into the stop by 1 % of its range, stop_stiffness = effort / (0.01 (upper - lower)).  Without an effort
    there are no stops (stop_stiffness=0), and the limits can still be read.

    A joint that mimics another is geared to it (`Assembly.gear`), under the name of the joint: its position is
    `multiplier` times that of the other plus `offset`.  If the other mimics a third joint, it is geared to the third.

    One ModelWarning names joints with limits but no effort; joints whose lower limit is not below the upper
    one; mimics of fixed joints, or all of them with mimic=False; dynamics and limits of planar and floating joints;
    links with an inertia that no distribution of mass has, which are kept as they are; and missing mesh files.
    """
    bodies: Mapping[str, Body] = {}
    nodes: dict[str, str | int] = {}
    if isinstance(flexible, (str, PathLike)):
        from limber.io.model import read_side  # noqa: PLC0415

        bodies, nodes = read_side(Path(flexible))
    elif flexible is not None:
        bodies = flexible
    robot = parse_urdf(path)
    assembly = Assembly(robot.name, gravity)
    nodes |= dict(attach or {})
    return attach_urdf(
        assembly,
        robot,
        bodies,
        root=root,
        attach=nodes,
        stops=stops,
        mimic=mimic,
        lenient=lenient,
        visuals=visuals,
    )


def attach_urdf(
    assembly: Assembly,
    robot: Urdf,
    flexible: Mapping[str, Body],
    *,
    root: str = "fixed",
    attach: Mapping[str, str | int] | None = None,
    stops: bool = True,
    mimic: bool = True,
    lenient: bool = False,
    visuals: bool = True,
) -> Assembly:
    """Add a robot to an assembly; arguments as in `read_urdf`."""
    if root not in ("fixed", "free"):
        raise ArgumentValueError(f'root must be "fixed" or "free", got {shown(root)}.')
    attach = attach or {}
    _check_names("flexible", flexible, robot.links, "link")
    _check_names("attach", attach, robot.joints, "joint")
    for name, body in flexible.items():
        if not isinstance(body, Body):
            raise ArgumentTypeError(f"flexible[{name!r}] must be a body, got {shown(body)}.")
    repair = flag("lenient", lenient)
    rigid = {
        name: link_body(link.mass, link.com, link.inertia, link.element, name, repair)
        for name, link in robot.links.items()
        if name not in flexible
    }
    bodies: dict[str, Body] = {**rigid, **flexible}
    physics, notes = joint_physics(robot.joints.values(), flag("stops", stops))
    if repair:
        notes += _give_armatures(robot, rigid, physics)
    follows = flag("mimic", mimic)
    shapes: dict[str, list[Shape]] = {}
    if flag("visuals", visuals):
        shapes, missing = link_shapes(robot)
        notes += missing
    children: dict[str, list[UrdfJoint]] = {name: [] for name in robot.links}
    for joint in robot.joints.values():
        children[joint.parent].append(joint)
    stack: list[tuple[str, UrdfJoint | None]] = [(robot.root, None)]
    while stack:
        name, inboard = stack.pop()
        if inboard is None:
            # A massless root named "world" is the world.
            if name != "world" or bodies[name].mass > 0.0 or root == "free":
                base = Free() if root == "free" else Fixed()
                assembly.attach(name, bodies[name], base, shapes=shapes.get(name))
        else:
            to, at, offset = _place(robot, inboard, bodies, attach)
            try:
                made = _joint(inboard, physics[inboard.name])
                assembly.attach(
                    name,
                    bodies[name],
                    made,
                    to,
                    at,
                    offset,
                    inboard.rotation,
                    joint_name=inboard.name,
                    shapes=shapes.get(name),
                )
            except LimberError as error:
                raise inboard.element.error(f"joint {inboard.name!r}: {error}") from error
        stack += [(child.child, child) for child in reversed(children[name])]
    notes += gear_mimics(assembly, robot.joints) if follows else _own_motions(robot)
    _report(robot, flexible, rigid, notes)
    return assembly


def _check_names(argument: str, given: Mapping, known: Mapping, what: str) -> None:
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"{argument} must map {what} names, got {shown(given)}.")
    for name in given:
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise ArgumentValueError(f"{argument} names the unknown {what} {shown(name)}. {hint}")


def _own_motions(robot: Urdf) -> list[str]:
    """The warnings about mimics that are left out."""
    return [
        f"joint {joint.name!r} mimics {joint.mimic[0]!r}, but here it moves independently"
        for joint in robot.joints.values()
        if joint.mimic is not None
    ]


def _report(
    robot: Urdf, flexible: Mapping, rigid: Mapping[str, RigidBody], of_joints: list[str]
) -> None:
    """Warn of what the model leaves out and would change the motion."""
    notes = list(of_joints)
    for name, body in flexible.items():
        mass = robot.links[name].mass
        if mass and abs(body.mass - mass) > 0.01 * mass:
            notes.append(f"link {name!r}: mass {body.mass:g} kg replaces {mass:g} kg of the URDF")
    notes += inertia_notes(rigid)
    if notes:
        warn(f"{robot.element.file}: {'; '.join(notes)}.", ModelWarning)


def _give_armatures(
    robot: Urdf, rigid: Mapping[str, RigidBody], physics: dict[str, JointOptions]
) -> list[str]:
    """Give an armature to the joints that move no mass; returns the warnings."""
    names = massless_joints(robot, rigid)
    for name in names:
        physics[name]["armature"] = ARMATURE
    return armature_notes(names)


def _joint(joint: UrdfJoint, physics: JointOptions) -> Joint:
    if joint.kind == "fixed":
        return Fixed()
    if joint.kind == "floating":
        return Free()
    if joint.kind == "planar":
        return Planar(joint.axis, **physics)
    kind = Prismatic if joint.kind == "prismatic" else Revolute
    return kind(joint.axis, **physics)


def _place(
    robot: Urdf, joint: UrdfJoint, bodies: Mapping, attach: Mapping[str, str | int]
) -> tuple[str, int | None, Array]:
    """Parent, node and offset of a joint; in the undeformed state it is at its place in the URDF."""
    to = joint.parent
    body = bodies[to]
    if to == robot.root == "world" and body.mass == 0.0:
        if joint.name in attach:
            raise ArgumentValueError(f"attach[{joint.name!r}]: the world has no nodes.")
        return "world", None, joint.offset
    nodes = body.node_set
    if joint.name in attach:
        at = nodes.index(f"attach[{joint.name!r}]", attach[joint.name], f"link {to!r}")
    elif body.modes == 0:
        return to, None, joint.offset
    else:
        distance = np.linalg.norm(nodes.position - joint.offset, axis=1)
        at = int(distance.argmin())
        extent = float(np.ptp(nodes.position, axis=0).max())
        if distance[at] > FAR * extent:
            warn(
                f"{robot.element.file}: joint {joint.name!r} is {distance[at]:.3g} m from the nearest node "
                f"{nodes.names[at]!r} of the flexible link {to!r}, to which it is tied rigidly. Name the node in "
                "`attach` if this is meant.",
                ModelWarning,
            )
    return to, at, joint.offset - nodes.position[at]
