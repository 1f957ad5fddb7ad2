"""Seeded random closed systems with consistent states.

A closure is satisfied by construction: at a random q, frame b is placed where the cut joint's image of random joint
coordinates puts it.  Speeds are projected on those that the closures allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

import limber as lb
from constraints.cut_joints import moved
from constraints.placing import close_here
from constraints.reference import projected, rows, solve, undeformed
from helpers.compare import some_externals
from helpers.random_systems import (
    KINDS,
    choose,
    random_attachment,
    random_flexible_body,
    random_joint,
    random_rigid_body,
    random_state,
    rotation_matrix,
)
from limber.assembly.closures import Closure

#: joints of the tree
TREE = KINDS
#: cut joints
CUT = tuple(kind for kind in TREE if kind != "Free")
#: kinds of flexible bodies
FLEXIBLE = ("beam", "stiffened", "points", "free-free")
#: How a closure lies in the tree
PLACES = ("any", "world", "ancestor", "same bodies", "nested")
#: Singular values of the scaled rows in this range, relative to the largest, are neither zero nor safely above it
DOUBTFUL = (1e-12, 2e-3)


@dataclass
class Case:
    """A closed system and a consistent state."""

    assembly: lb.Assembly
    system: lb.System
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    external: dict
    start: dict[str, np.ndarray] = field(default_factory=dict)  # coordinates of the cut joints


@cache
def flexible_body(kind, number):
    """One of a few flexible bodies of a kind, about a metre long.  Making them takes most of the time of a test."""
    rng = np.random.default_rng([FLEXIBLE.index(kind), number])
    modes = int(rng.integers(1, 4))
    if kind == "points":
        return random_flexible_body(rng, modes, second=bool(rng.integers(2)))
    if kind == "free-free":
        return random_flexible_body(rng, modes, clamped=False, second=bool(rng.integers(2)))
    kinds = {"bending": int(rng.integers(1, 3))}
    kinds |= {"torsion": 1} if rng.random() < 0.4 else {}
    kinds |= {"stretch": 1} if rng.random() < 0.3 else {}
    return lb.beam(
        rng.uniform(0.6, 1.4),
        rng.uniform(0.5, 2.0),
        EI=rng.uniform(20.0, 200.0, 2),
        GJ=rng.uniform(20.0, 100.0),
        EA=rng.uniform(1e3, 1e4),
        modes=kinds,
        elements=4,
        damping=rng.uniform(0.0, 0.1),
        polar_inertia=rng.uniform(0.02, 0.2),
        geometric_stiffening=kind == "stiffened",
    )


def random_tree(rng, bodies, flexible=0.5) -> lb.Assembly:
    """A tree of rigid and flexible bodies, some of them held at a node."""
    assembly = lb.Assembly("random", gravity=rng.normal(size=3) * 5.0)
    for i in range(bodies):
        parents = list(assembly.attachments)
        to = "world" if not parents or rng.random() < 0.1 else choose(rng, parents)
        nodes = [] if to == "world" else list(assembly.attachments[to].body.node_set.names)
        keywords = random_attachment(rng, to, nodes)
        if rng.random() < flexible:
            kind = choose(rng, FLEXIBLE)
            body = flexible_body(kind, int(rng.integers(6)))
            if kind == "free-free" or rng.random() < 0.2:
                keywords["inboard"] = int(rng.integers(1, len(body.node_set.names)))
        else:
            body = random_rigid_body(rng)
        kinds = TREE if i else (*TREE, "Free", "Free", "Free")
        assembly.attach(f"b{i}", body, random_joint(rng, kinds), **keywords)
    return assembly


def ancestors(assembly, name) -> list[str]:
    """The bodies between a body and the world, its parent first."""
    found, at = [], assembly.attachments[name].to
    while at != "world":
        found.append(at)
        at = assembly.attachments[at].to
    return found


def random_ends(rng, assembly) -> tuple[str, str]:
    """The bodies, or the world, that a closure joins, in either order."""
    names = list(assembly.attachments)
    place = choose(rng, PLACES)
    closed = [c for c in assembly.closures.values() if isinstance(c, Closure)]
    b = choose(rng, names)
    a = choose(rng, [x for x in ["world", *names] if x != b])
    above = ancestors(assembly, b)
    if place == "world":
        a = "world"
    elif place == "ancestor" and above:
        a = choose(rng, above)
    elif place == "same bodies" and closed:
        a, b = closed[-1].a.body, closed[-1].b.body
    elif place == "nested" and closed:
        of_loop = [x for x in (closed[-1].a.body, closed[-1].b.body) if x != "world"]
        b = choose(rng, of_loop)
        a = choose(rng, [x for x in ["world", *names] if x != b])
    return (a, b) if rng.random() < 0.5 else (b, a)


def random_node(rng, assembly, body):
    """A node of a body, or None."""
    names = assembly.attachments[body].body.node_set.names
    if not names or rng.random() < 0.25:
        return None
    return int(rng.integers(len(names)))


def random_cut_coordinates(rng, joint) -> np.ndarray:
    """Coordinates of a cut joint within a radian of where its frames coincide."""
    return moved(joint, joint.neutral(), rng.uniform(-0.8, 0.8, joint.dofs))


def add_closure(rng, assembly, system, q, bodies, joint, name=None) -> np.ndarray:
    """Close a loop between two bodies by the joint so that q meets it, and return the joint's coordinates."""
    ends = [
        (body, rng.normal(size=3) if body == "world" else random_node(rng, assembly, body))
        for body in bodies
    ]
    offset, rotation = rng.uniform(-0.3, 0.3, 3), rotation_matrix(rng)
    theta = random_cut_coordinates(rng, joint)
    close_here(assembly, system, q, *ends, joint, theta, name, offset, rotation)
    return theta


def add_relation(rng, assembly, system, q) -> bool:
    """Relate two or three joint coordinates so that q meets it; False if there are no such joints."""
    places = [
        (name, i)
        for name, joint in system.joints.items()
        if joint.groups and all(group.has_rates for group in joint.groups)
        for i in range(joint.dofs)
    ]
    if len(places) < 2:
        return False
    chosen = [places[i] for i in rng.permutation(len(places))[: rng.integers(2, 4)]]
    terms = {place: rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0) for place in chosen}
    value = sum(c * q[system.layout[b].q_joint.start + i] for (b, i), c in terms.items())
    assembly.relate(terms, value)
    return True


def drawn(rng, bodies, closures, fidelity, kinds, redundant, tree):
    """One try at a case, and whether it is fit for comparison."""
    assembly = random_tree(rng, bodies) if tree is None else tree(rng)
    tree_system = assembly.build(fidelity)
    q, v, tau = random_state(rng, tree_system)
    where = undeformed(tree_system, q) if fidelity == "ruthless" else q
    start = {}
    for _ in range(closures):
        if rng.random() < 0.15 and add_relation(rng, assembly, tree_system, q):
            continue
        ends = random_ends(rng, assembly)
        joint = random_joint(rng, kinds)
        name = f"loop{len(assembly.closures)}"
        start[name] = add_closure(rng, assembly, tree_system, where, ends, joint, name)
    system = assembly.build(fidelity)
    v = projected(system, q, v, start)
    case = Case(assembly, system, q, v, tau, some_externals(rng, system), start)
    found = solve(system, q, v, tau, start=start)
    size = found.singular_values / max(found.singular_values.max(initial=0.0), 1e-300)
    sure = not ((size > DOUBTFUL[0]) & (size < DOUBTFUL[1])).any()
    moves = np.linalg.norm(v) > 0.1
    independent = found.rank == len(found.lam)
    return case, sure and moves and found.gap < 1e-9 and (independent or redundant)


def random_closed(
    seed, fidelity="full", kinds=CUT, bodies=None, closures=None, redundant=False, tree=None
) -> Case:
    """A random closed system with a consistent state.

    kinds : of cut joints.  redundant : whether rows may depend on each other.  tree : makes the tree from a
    generator; a random one by default.
    """
    rng = np.random.default_rng(seed)
    for _ in range(200):
        n = int(rng.integers(3, 8)) if bodies is None else bodies
        m = int(rng.integers(1, 5)) if closures is None else closures
        case, fit = drawn(rng, n, m, fidelity, kinds, redundant, tree)
        if fit:
            return case
    raise ValueError(f"no consistent closed system found from seed {seed}.")


def check(case) -> float:
    """The largest residual of positions and speeds of a case."""
    found = rows(case.system, case.q, case.v, case.start)
    return max(np.abs(found.residual).max(initial=0.0), np.abs(found.A @ case.v).max(initial=0.0))
