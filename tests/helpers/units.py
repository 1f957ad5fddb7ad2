"""The same system in other units."""

import numpy as np

import limber as lb
from limber.bodies.nodes import Nodes
from limber.bodies.points import MassPoints
from limber.bodies.shapes import Shapes


def joint_in_units(joint, length):
    """A joint whose displacements, pitches and arms are in a unit `length` times smaller."""
    if isinstance(joint, lb.Screw):
        return lb.Screw(joint.axis, length * joint.pitch)
    if type(joint) is lb.SimpleJoint:
        return lb.SimpleJoint(np.array([1.0, 1.0, 1.0, *[length] * 3])[:, None] * joint._H)
    if type(joint) is lb.CompoundJoint:
        return lb.CompoundJoint([joint_in_units(part, length) for part in joint.joints])
    return joint


def shapes_in_units(shapes, length):
    return Shapes(length * shapes.position, length * shapes.translation, shapes.rotation)


def body_in_units(body, length, mass, time):
    """A body, its modal coordinates being the same numbers."""
    energy = mass * length**2
    if isinstance(body, lb.RigidBody):
        nodes = {name: length * p for name, p in body.nodes.items()}
        return lb.RigidBody(mass * body.mass, length * body.com, energy * body.inertia, nodes)
    points, nodes = body.points, body.nodes
    return lb.FlexibleBody(
        MassPoints(
            mass * points.mass,
            shapes_in_units(points.shapes, length),
            energy * points.inertia,
            length * points.com,
        ),
        Nodes(nodes.names, shapes_in_units(nodes.shapes, length)),
        energy / time**2 * body.stiffness,
        energy / time * body.damping,
    )


def in_units(assembly, length=1.0, mass=1.0, time=1.0):
    """The assembly with lengths, masses and times in units so many times smaller than before."""
    made = lb.Assembly(assembly.name, length / time**2 * assembly.gravity, assembly.fidelity)
    for name, item in assembly.attachments.items():
        made.attach(
            name,
            body_in_units(item.body, length, mass, time),
            joint_in_units(item.joint, length),
            item.to,
            item.at,
            length * item.offset,
            item.rotation,
            item.inboard,
        )
    return made


def coordinates_in_units(system, q, length):
    """A configuration of the system, for the one in those units."""
    scaled = np.array(q)
    for name, where in system.layout.items():
        scaled[where.q_joint] *= _scales(system.joints[name], length)
    return scaled


def _scales(joint, length):
    if isinstance(joint, lb.Prismatic):
        return [length]
    if isinstance(joint, lb.Free):
        return [1.0] * 4 + [length] * 3
    if isinstance(joint, lb.Cylindrical):
        return [1.0, length]
    if isinstance(joint, lb.Planar):
        return [length, length, 1.0]
    if type(joint) is lb.CompoundJoint:
        return np.concatenate([_scales(part, length) for part in joint.joints])
    return np.ones(joint.nq)
