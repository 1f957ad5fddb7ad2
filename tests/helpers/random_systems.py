"""Seeded random joints, bodies, assemblies and states.

Everything is drawn from the `numpy.random.Generator` handed in, is of the order of one in SI units,
and keeps the mass matrix positive definite and well conditioned.
"""

from __future__ import annotations

import numpy as np

import limber as lb

KINDS = (
    "Revolute",
    "Prismatic",
    "Screw",
    "Cylindrical",
    "Universal",
    "Planar",
    "Spherical",
    "Free",
    "Fixed",
    "SimpleJoint",
    "CompoundJoint",
)
ONE_COLUMN_KINDS = ("SimpleJoint1", "CompoundJoint1")  # with no SimpleJoint of several columns
RARE = {"Free": 0.3, "Fixed": 0.3, "SimpleJoint": 2.0, "CompoundJoint": 2.0}
ROTATION_BOUND = 0.45  # of a node, rad, at eta_scale = 1


def unit(rng) -> np.ndarray:
    """A random direction."""
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def quaternion(rng) -> np.ndarray:
    """A random unit quaternion, uniform over the rotations."""
    x = rng.normal(size=4)
    return x / np.linalg.norm(x)


def rotation_matrix(rng) -> np.ndarray:
    """A random proper rotation."""
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.linalg.det(Q)


def choose(rng, items):
    """One of `items`, as it is."""
    return items[rng.integers(len(items))]


# joints


def random_axis(rng) -> np.ndarray:
    """x, y or z (half of the time) or an oblique axis."""
    return np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else unit(rng)


def turn_column(rng, axis, radius=0.4, pitch=0.0) -> np.ndarray:
    """The map [angular; linear] of a screw about a line along `axis`, `radius` off the origin."""
    axis = np.asarray(axis, dtype=float)
    away = np.cross(axis, unit(rng))
    centre = radius * away / np.linalg.norm(away)
    return np.concatenate([axis, np.cross(centre, axis) + pitch * axis])


def random_map(rng, columns=None) -> np.ndarray:
    """A closed 6 x r joint map of 1, 2 or 3 columns, for `lb.SimpleJoint`."""
    columns = rng.integers(1, 4) if columns is None else columns
    Q, centre, rate = rotation_matrix(rng), rng.uniform(-0.4, 0.4, 3), rng.uniform(0.6, 1.5)
    turns = np.vstack([Q, np.cross(centre, Q.T).T])  # rotations about one shifted centre
    slides = np.vstack([np.zeros((3, 3)), Q])
    if columns == 1:
        along = rng.uniform(-0.3, 0.3)
        return rate * choose(rng, [turns, slides, turns + along * slides])[:, :1]
    if columns == 2:
        cylindrical = np.column_stack([turns[:, 0], slides[:, 0]])
        mixed = cylindrical @ np.array([[1.0, rng.uniform(-0.5, 0.5)], [0.2, 1.0]])
        return choose(rng, [cylindrical, mixed, cylindrical[:, ::-1], rate * slides[:, :2]])
    planar = np.column_stack([turns[:, 0], slides[:, 1:]])
    return choose(rng, [turns, planar, planar[:, ::-1]])


def random_compound(rng, one_column=False):
    """Two or three joints in a row whose axes stay independent for angles within a radian."""
    if rng.random() < 0.3:
        off_centre = lb.SimpleJoint(turn_column(rng, unit(rng))[:, None])
        parts = [lb.Spherical(), choose(rng, [lb.Prismatic(random_axis(rng)), off_centre])]
        return lb.CompoundJoint(parts if rng.random() < 0.5 else parts[::-1])
    turns, slides = rotation_matrix(rng).T, rotation_matrix(rng).T
    if not one_column and rng.random() < 0.3:
        turn = turn_column(rng, turns[0], pitch=rng.uniform(-0.3, 0.3))
        slide = np.concatenate([np.zeros(3), turns[0]])
        parts = [lb.SimpleJoint(np.column_stack([turn, slide])), lb.Revolute(turns[1])]
        return lb.CompoundJoint(parts if rng.random() < 0.5 else parts[::-1])
    parts = []
    for turn, slide in list(zip(turns, slides, strict=True))[: rng.integers(2, 4)]:
        kind, pitch = rng.integers(4), rng.uniform(-0.3, 0.3)
        if kind == 0:
            parts.append(lb.Revolute(turn))
        elif kind == 1:
            parts.append(lb.Prismatic(slide))
        elif kind == 2:
            parts.append(lb.Screw(turn, pitch))
        else:
            parts.append(lb.SimpleJoint(turn_column(rng, turn, pitch=pitch)[:, None]))
    return lb.CompoundJoint(parts)


def random_joint(rng, kinds=None):
    """A joint of one of the `kinds` (names from KINDS and ONE_COLUMN_KINDS; by default KINDS)."""
    kinds = list(KINDS if kinds is None else kinds)
    weights = np.array([RARE.get(kind, 1.0) for kind in kinds])
    kind = kinds[rng.choice(len(kinds), p=weights / weights.sum())]
    if kind in ("Spherical", "Free", "Fixed"):
        return getattr(lb, kind)()
    if kind in ("Revolute", "Prismatic", "Cylindrical", "Planar"):
        return getattr(lb, kind)(random_axis(rng))
    if kind == "Screw":
        return lb.Screw(random_axis(rng), rng.uniform(-0.3, 0.3))
    if kind == "Universal":
        axis = random_axis(rng)
        across = np.cross(axis, unit(rng))
        return lb.Universal(axis, across / np.linalg.norm(across) + rng.uniform(-0.7, 0.7) * axis)
    if kind in ("SimpleJoint", "SimpleJoint1"):
        return lb.SimpleJoint(random_map(rng, 1 if kind == "SimpleJoint1" else None))
    if kind in ("CompoundJoint", "CompoundJoint1"):
        return random_compound(rng, one_column=kind == "CompoundJoint1")
    raise ValueError(f"unknown joint kind {kind!r}: expected one of {KINDS + ONE_COLUMN_KINDS}.")


def with_rates(joint) -> np.ndarray:
    """Which speeds of a joint are rates of coordinates of their own: all but those of quaternions and of
    several screws that move each other."""
    found = []
    for group in joint.groups:
        found += [group.nq == group.dofs == 1] * group.dofs
    return np.array(found, dtype=bool)


def random_physics(rng, joint) -> dict:
    """Options of a joint: all that its speeds can have, each there or not."""
    r, rates = joint.dofs, with_rates(joint)
    if r == 0:
        return {}
    options = {
        "damping": rng.uniform(0.0, 2.0, r),
        "friction": rng.uniform(0.0, 1.0, r),
        "friction_speed": rng.uniform(0.1, 0.5, r),
    }
    if rng.random() < 0.5:
        options |= {"static_friction": options["friction"] + rng.uniform(0.1, 1.0, r)}
        options |= {"stribeck_speed": rng.uniform(0.3, 1.0, r)}
    if rates.any():
        options |= {
            "armature": rng.uniform(0.1, 1.0, r) * rates,
            "stiffness": rng.uniform(1.0, 20.0, r) * rates,
            "rest": rng.uniform(-0.5, 0.5, r) * rates,
            "limits": [(-rng.uniform(0.1, 1.0), None) if x else None for x in rates],
            "stop_stiffness": rng.uniform(10.0, 50.0, r),
            "stop_damping": rng.uniform(0.1, 1.0, r),
            "stop_softness": rng.uniform(0.05, 0.2, r),
        }
        options["limits"] = [
            x and choose(rng, [x, (x[0], rng.uniform(0.1, 1.0)), (None, rng.uniform(0.1, 1.0))])
            for x in options["limits"]
        ]
        if r == 1 and rng.random() < 0.5:
            options = {k: x if k == "limits" else float(x[0]) for k, x in options.items()}
            options["limits"] = options["limits"][0]
    if rng.random() < 0.3:
        for name in rng.permutation(["friction", "armature", "stiffness", "damping"])[:2]:
            options.pop(name, None)
        needed = {"rest": "stiffness", "static_friction": "friction", "stribeck_speed": "friction", "friction_speed": "friction"}  # fmt: skip
        options = {k: x for k, x in options.items() if needed.get(k, k) in options}
    return options


def with_physics(joint, **options):
    """The same joint with these options."""
    kind = type(joint)
    if kind in (lb.Spherical, lb.Free, lb.Fixed):
        return kind(**options)
    if kind is lb.Screw:
        return lb.Screw(joint.axis, joint.pitch, **options)
    if kind is lb.Universal:
        return lb.Universal(joint.axis1, joint.axis2, **options)
    if kind is lb.Planar:
        return lb.Planar(joint.normal, **options)
    if kind is lb.SimpleJoint:
        return lb.SimpleJoint(joint.groups[0].H, **options)
    if kind is lb.CompoundJoint:
        return lb.CompoundJoint(joint.joints, **options)
    return kind(joint.axis, **options)


# bodies


def cloud_inertia(rng, mass, size) -> np.ndarray:
    """Inertia about its mass centre of a random cloud of points within about `size`."""
    points = rng.uniform(-size, size, (8, 3))
    points -= points.mean(axis=0)
    second = mass * points.T @ points / len(points)
    return np.trace(second) * np.eye(3) - second


def random_rigid_body(rng):
    """A rigid body with two or three named nodes."""
    mass = rng.uniform(0.3, 2.0)
    names = ["a", "b", "c"][: rng.integers(2, 4)]
    return lb.RigidBody(
        mass=mass,
        com=rng.uniform(-0.3, 0.3, 3),
        inertia=cloud_inertia(rng, mass, 0.3),
        nodes={name: rng.uniform(-0.6, 0.6, 3) for name in names},
    )


def cross_matrix(x) -> np.ndarray:
    """x~ of each row of x, n x 3 x 3."""
    return np.moveaxis(np.cross(x, np.eye(3)[:, None]), 0, -1)


def conditioning(mass, position, translation, rotation, com) -> float:
    """Least eigenvalue of the body's mass matrix (modes and six rigid freedoms), unit diagonal.

    Nodal inertias are left out: they only add to it.
    """
    eye = np.broadcast_to(np.eye(3), (len(mass), 3, 3))
    bent = translation - cross_matrix(com) @ rotation
    rates = np.concatenate([bent, -cross_matrix(position + com), eye], axis=2)
    M = np.einsum("j,jia,jib->ab", mass, rates, rates)
    scale = 1.0 / np.sqrt(np.diag(M))
    return float(np.linalg.eigvalsh(M * np.outer(scale, scale))[0])


def random_spd(rng, n, low, high) -> np.ndarray:
    """A symmetric positive definite matrix with eigenvalues in [low, high], even in logarithm."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    S = (Q * np.exp(rng.uniform(np.log(low), np.log(high), n))) @ Q.T
    return 0.5 * (S + S.T)


def random_damping(rng, modes):
    """None, a definite or a rank-one semidefinite damping matrix."""
    column = rng.normal(size=modes)
    return choose(rng, [None, random_spd(rng, modes, 0.05, 2.0), np.outer(column, column)])


def random_points(rng, modes) -> int:
    """A number of nodes, 5 to 7 or what the modes need for an independent set of shapes."""
    return max(int(rng.integers(5, 8)), (modes + 14) // 3)


def flexible_names(points) -> list[str]:
    """Names of the nodes of `random_flexible_body`."""
    return ["root", *(f"n{i}" for i in range(1, points - 1)), "tip"]


def random_second(rng, points, modes, clamped) -> np.ndarray:
    """Second-order shapes, at most 0.4 m a unit squared."""
    B = rng.uniform(-0.2, 0.2, (points, 3, modes, modes))
    B[: int(clamped)] = 0.0
    return B + np.swapaxes(B, 2, 3)


def random_flexible_body(rng, modes, points=None, rotary=False, clamped=True, second=False):
    """A flexible body of `points` nodes (5 to 7), about a metre long, named root, n1, ..., tip.

    Clamped: node root is at the origin and its shapes vanish. Rotation shapes are at most 1 rad a
    unit. `rotary` adds nodal inertias and offset mass centres, `second` second-order shapes at all nodes but a
    clamped root.
    """
    points = random_points(rng, modes) if points is None else points
    for _ in range(1000):
        mass = rng.uniform(0.1, 1.0, points)
        position = rng.uniform(-0.3, 0.3, (points, 3))
        position[:, 0] += np.linspace(0.0, 1.0, points)
        translation = rng.uniform(-1.0, 1.0, (points, 3, modes))
        rotation = rng.uniform(-0.57, 0.57, (points, 3, modes))
        com = rng.uniform(-0.08, 0.08, (points, 3)) * rotary
        if clamped:
            position[0], translation[0], rotation[0] = 0.0, 0.0, 0.0
        if conditioning(mass, position, translation, rotation, com) > 0.02:
            break
    else:
        raise ValueError(f"no well-conditioned body of {points} points and {modes} modes found.")
    inertia = None
    if rotary:
        far = np.einsum("jik,jlk->jil", cross_matrix(com), cross_matrix(com))
        inertia = np.array([cloud_inertia(rng, m, 0.12) for m in mass]) + mass[:, None, None] * far
    return lb.FlexibleBody.from_nodes(
        second=random_second(rng, points, modes, clamped) if second else None,
        mass=mass,
        position=position,
        translation=translation,
        rotation=rotation,
        stiffness=random_spd(rng, modes, 10.0, 1000.0),
        damping=random_damping(rng, modes),
        inertia=inertia,
        com=com if rotary else None,
        names=flexible_names(points),
    )


# assemblies


def random_attachment(rng, to, names) -> dict:
    """Keywords of `attach`: parent, one of its nodes (name, index or none), fixed transform."""
    place = int(rng.integers(len(names))) if names else 0
    return {
        "to": to,
        "at": choose(rng, [names[place], place, None]) if names else None,
        "offset": rng.uniform(-0.3, 0.3, 3),
        "rotation": rotation_matrix(rng) if rng.random() < 0.7 else np.eye(3),
    }


def random_assembly(
    rng,
    bodies=6,
    flexible=0.5,
    rotary=False,
    inboard=True,
    gravity=True,
    max_modes=4,
    tree=True,
    kinds=None,
    physics=False,
    second=False,
):
    """A random tree (or chain) of `bodies` bodies b0, b1, ..., flexible ones with that probability.

    With `inboard`, some bodies hang by one of their own nodes. Now and then the first body is free.  With
    `physics`, most joints have armature, springs, dampers, friction and stops.  With `second`, most flexible bodies
    have second-order shapes.
    """
    g = 9.81 * unit(rng) if gravity else np.zeros(3)
    assembly = lb.Assembly("random", gravity=g)
    names = {}  # nodes of each body so far
    for i in range(bodies):
        parents = list(names)
        to = parents[-1] if parents else "world"
        if tree and parents:
            to = "world" if rng.random() < 0.1 else choose(rng, parents)
        keywords = random_attachment(rng, to, names.get(to, []))
        joint = random_joint(rng, kinds)
        if i == 0 and rng.random() < 0.3 and (kinds is None or "Free" in kinds):
            joint = lb.Free()
        if physics and rng.random() < 0.8:
            joint = with_physics(joint, **random_physics(rng, joint))
        own_node = inboard and rng.random() < 0.4
        if rng.random() < flexible:
            modes = int(rng.integers(1, max_modes + 1))
            points = random_points(rng, modes)
            clamped = not own_node or rng.random() < 0.5
            stiffened = second and rng.random() < 0.8
            body = random_flexible_body(rng, modes, points, rotary, clamped, stiffened)
            nodes = flexible_names(points)
        else:
            body = random_rigid_body(rng)
            nodes = list(body.nodes)
            own_node = own_node and rng.random() < 0.5
        if own_node:
            place = int(rng.integers(1, len(nodes)))
            keywords["inboard"] = choose(rng, [nodes[place], place])
        assembly.attach(f"b{i}", body, joint, **keywords)
        names[f"b{i}"] = nodes
    return assembly


# states


def quaternion_offsets(joint) -> list[int]:
    """Where the quaternions of a joint begin within its coordinates."""
    if type(joint).__name__ in ("Spherical", "Free"):
        return [0]
    offsets, start = [], 0
    for part in getattr(joint, "joints", ()):
        offsets += [start + i for i in quaternion_offsets(part)]
        start += part.nq
    return offsets


def quaternion_slices(system) -> list[slice]:
    """The slices of q that hold unit quaternions."""
    starts = [
        system.layout[name].q_joint.start + i
        for name, joint in system.joints.items()
        for i in quaternion_offsets(joint)
    ]
    return [slice(i, i + 4) for i in starts]


def random_coordinates(rng, joint) -> np.ndarray:
    """Coordinates of a joint: any angle where no singularity threatens, else within a radian."""
    kind = type(joint).__name__
    if kind == "Spherical":
        return quaternion(rng)
    if kind == "Free":
        return np.concatenate([quaternion(rng), rng.uniform(-1.0, 1.0, 3)])
    if kind in ("Revolute", "Screw", "Universal"):
        return rng.uniform(-np.pi, np.pi, joint.nq)
    if kind == "Cylindrical":
        return np.array([rng.uniform(-np.pi, np.pi), rng.uniform(-0.5, 0.5)])
    if kind == "Planar":
        return np.append(rng.uniform(-0.5, 0.5, 2), rng.uniform(-np.pi, np.pi))
    if kind == "CompoundJoint":
        parts = [
            random_coordinates(rng, part)
            if quaternion_offsets(part)
            else rng.uniform(-1.0, 1.0, part.nq)
            for part in joint.joints
        ]
        return np.concatenate(parts)
    return rng.uniform(-1.0, 1.0, joint.nq)  # prismatic, simple, fixed


def steepest_shape(body) -> float:
    """The largest rotation of a node per unit of one mode, 1 or more."""
    nodes = getattr(body, "node_set", None)
    return 1.0 if nodes is None else np.linalg.norm(nodes.rotation, axis=1).max(initial=1.0)


def random_state(rng, assembly_or_system, eta_scale=1.0):
    """(q, v, tau) of a system: unit quaternions, and node rotations below half a radian.

    `eta_scale` scales the deformation; at 0 the bodies are undeformed (the modal speeds stay).
    """
    system = assembly_or_system
    if not hasattr(system, "layout"):
        system = system.build()
    q = np.array(system.neutral(), dtype=float)
    v = rng.normal(size=system.nv)
    tau = rng.normal(size=system.nv)
    for name, part in system.layout.items():
        modes = part.q_modes.stop - part.q_modes.start
        if modes:
            bound = eta_scale * ROTATION_BOUND / modes / steepest_shape(system.bodies[name])
            q[part.q_modes] = bound * rng.uniform(-1.0, 1.0, modes)
        v[part.v_modes] *= 0.5
        q[part.q_joint] = random_coordinates(rng, system.joints[name])
    return q, v, tau
