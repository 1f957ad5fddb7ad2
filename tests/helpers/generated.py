"""What the tests of generated code share: systems, inputs, and the engine's answers."""

from __future__ import annotations

import cmath
import math
from functools import cache

import numpy as np

import limber as lb
from helpers.random_systems import random_flexible_body, random_rigid_body, random_state
from limber.codegen.compiler import programmed
from limber.codegen.generated import GENERATED, ONLY_CLOSED, OPERATIONAL
from limber.codegen.program import split
from limber.kernels.functions import FUNCTIONS, HYBRID

REAL = {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "log": math.log}
COMPLEX = {"sin": cmath.sin, "cos": cmath.cos, "sqrt": cmath.sqrt, "log": cmath.log}

FIDELITIES = ("full", "ruthless")
#: The functions of any system; hybrid_dynamics, which needs driven joints, has tests of its own.
INPUTS = {
    name: row.inputs
    for name, row in GENERATED.items()
    if name not in (*ONLY_CLOSED, *HYBRID, *OPERATIONAL)
}
ENGINE = tuple(FUNCTIONS)  # what lb.* has too
FORCED = tuple(name for name, row in FUNCTIONS.items() if row.forced)
OF_NODE = tuple(name for name, row in FUNCTIONS.items() if row.of_node)


@cache
def pendulum(name="pendulum", gravity=(0.0, -9.81, 0.0)) -> lb.System:
    """A bob of mass 2 at 3 below a hinge along z: one coordinate."""
    bob = lb.RigidBody(
        2.0, (0.0, -3.0, 0.0), np.diag([5e-4, 5e-4, 1e-3]), nodes={"end": (0, -3, 0)}
    )
    return lb.Assembly(name, gravity=gravity).attach("bob", bob, lb.Revolute([0, 0, 1])).build()


@cache
def mixed(fidelity="full") -> lb.System:
    """Quaternions (free and in a compound), a simple joint of three columns, inboard nodes, two flexible
    bodies, a branch, joints with physics: nq = 20, nv = 18."""
    return mixed_assembly().build(fidelity=fidelity)


def mixed_assembly(gravity=(0.3, -0.2, -9.81)) -> lb.Assembly:
    rng = np.random.default_rng(11)
    a = lb.Assembly("mixed", gravity=gravity)
    a.attach("hull", random_flexible_body(rng, 2, rotary=True), lb.Free(), inboard=1)
    turns = np.vstack([np.eye(3), np.zeros((3, 3))])
    wrist = lb.SimpleJoint(turns, damping=(0.1, 0.2, 0.3))
    a.attach("wrist", random_rigid_body(rng), wrist, "hull", "tip", (0.1, 0, 0.2))
    slide = lb.Prismatic([0, 1, 0], stiffness=4.0, limits=(-0.2, 0.1), stop_stiffness=30.0)
    ball = lb.CompoundJoint([slide, lb.Spherical(friction=0.3, friction_speed=0.2)])
    a.attach("ball", random_rigid_body(rng), ball, "hull", 2, (0, 0.2, 0), inboard="b")
    hinge = lb.Revolute([0, 0.6, 0.8], armature=0.2, friction=0.4, static_friction=0.7)
    a.attach("link", random_flexible_body(rng, 2, second=True), hinge, "wrist", "a")
    return a


@cache
def arm(fidelity="full", gravity=(0.0, 0.0, -9.81)) -> lb.System:
    """A flexible link between two rigid ones, revolute: nq = nv = 5, no quaternions."""
    return arm_assembly(gravity=gravity).build(fidelity=fidelity)


def arm_assembly(
    gravity=(0.0, 0.0, -9.81),
    *,
    mass=0.8,
    com=(0.2, 0.0, 0.1),
    inertia=None,
    offset=(0.1, 0, 0.2),
    link=None,
    base_mass=1.5,
) -> lb.Assembly:
    """The arm with some of its numbers changed."""
    inertia = (
        np.array([[0.02, 0.001, 0.002], [0.001, 0.03, -0.003], [0.002, -0.003, 0.04]])
        if inertia is None
        else inertia
    )
    link = {} if link is None else link
    rng = np.random.default_rng(3)
    beam = random_flexible_body(rng, 2)
    nodes = beam.node_set
    body = lb.FlexibleBody.from_nodes(
        **({
            "mass": np.linspace(0.2, 0.6, len(nodes.position)), "position": nodes.position, "translation": nodes.translation,
            "rotation": nodes.rotation, "stiffness": [[30.0, 4.0], [4.0, 50.0]], "damping": [[0.3, 0.1], [0.1, 0.2]],
            "names": list(nodes.names),
        } | link)
    )  # fmt: skip
    a = lb.Assembly("arm", gravity=gravity)
    base = lb.RigidBody(
        base_mass, (0.1, 0.2, 0.0), np.diag([0.2, 0.3, 0.4]), nodes={"top": (0.1, 0.3, 0.2)}
    )
    a.attach("base", base, lb.Revolute([0, 0, 1]))
    a.attach("link", body, lb.Revolute([0, 1, 0]), "base", "top", offset)
    hand = lb.RigidBody(
        mass, com, inertia, nodes={"grip": (0.3, 0.1, 0), "root": (0.05, 0.02, -0.1)}
    )
    a.attach("hand", hand, lb.Revolute([1, 2, 0]), "link", "tip", (0.0, 0.05, 0.0), inboard="root")
    return a


def values(rng, system, function, ends=0) -> list:
    """Inputs of `function` at a random state, wrenches at `ends` nodes last."""
    q, v, tau = random_state(rng, system)
    known = {"q": q, "v": v, "tau": tau, "vdot": tau, "dt": 0.01}
    extra = [rng.standard_normal((ends, 6))] if ends else []
    return [*(known[name] for name in INPUTS[function]), *extra]


def engine(system, function, args, ends=(), body=None, node=None):
    """lb.<function>, wrenches last in `args` where there are ends."""
    if function in OF_NODE:
        return getattr(lb, function)(system, *args, body, node)
    if ends:
        *args, wrenches = args
        external = dict(zip(ends, np.asarray(wrenches)))
        if function == "bias":  # which takes no external forces: at zero vdot they shift it
            return lb.inverse_dynamics(system, *args, np.zeros(system.nv), external=external)
        return getattr(lb, function)(system, *args, external=external)
    return getattr(lb, function)(system, *args)


def parts(result) -> list[np.ndarray]:
    """The results of a function of one or several, as a list of arrays."""
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def program(system, function, **options):
    """The program that `lb.compile` would print."""
    given = {"body": None, "node": None, "wrt": None, "external": (), "parameters": ()} | options
    return programmed(system, function, **given)


def evaluated(p, args, functions=REAL) -> list[np.ndarray]:
    """The results of a program in plain Python: no compiler between its graph and its numbers."""
    flat = [x for a in args for x in np.ravel(a).tolist()]
    found = split(p.evaluate(flat, functions), p.outputs)
    return [np.array(x).reshape(o.shape) for x, o in zip(found, p.outputs)]
