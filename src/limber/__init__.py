"""Limber: dynamics and control of flexible multibody systems by spatial operators."""

import importlib

from limber import algebra, io, models, plotting, trajectories, viewer
from limber.algebra import Operator, Operators, denoc, operators, verify_identities
from limber.assembly import Assembly, System
from limber.bodies import FlexibleBody, RigidBody, beam
from limber.codegen import compile, operation_count
from limber.dynamics import (
    Modes,
    acceleration,
    bias,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    jacobian,
    kinetic_energy,
    mass_matrix,
    modes,
    momentum,
    pose,
    potential_energy,
    qdot,
)
from limber.errors import (
    CacheWarning,
    FileError,
    LimberError,
    ModelWarning,
    SimulationError,
    TheoryWarning,
)
from limber.io import load, save
from limber.joints import (
    CompoundJoint,
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    SimpleJoint,
    Spherical,
    Universal,
)
from limber.simulation import Event, Result, Table, simulate


def __getattr__(name: str):
    """`limber.symbolic`, imported when it is first used: it needs SymPy."""
    if name == "symbolic":
        return importlib.import_module("limber.symbolic")
    raise AttributeError(f"module 'limber' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names of this module, `symbolic` among them before it is imported."""
    return sorted({*globals(), "symbolic"})


__version__ = "0.1.0"

__all__ = [
    "Assembly",
    "CacheWarning",
    "CompoundJoint",
    "Cylindrical",
    "Event",
    "FileError",
    "Fixed",
    "FlexibleBody",
    "Free",
    "Joint",
    "LimberError",
    "ModelWarning",
    "Modes",
    "Operator",
    "Operators",
    "Planar",
    "Prismatic",
    "Result",
    "Revolute",
    "RigidBody",
    "Screw",
    "SimpleJoint",
    "SimulationError",
    "Spherical",
    "System",
    "Table",
    "TheoryWarning",
    "Universal",
    "acceleration",
    "algebra",
    "beam",
    "bias",
    "compile",
    "denoc",
    "forward_dynamics",
    "integrate",
    "inverse_dynamics",
    "io",
    "jacobian",
    "kinetic_energy",
    "load",
    "mass_matrix",
    "models",
    "modes",
    "momentum",
    "operation_count",
    "operators",
    "plotting",
    "pose",
    "potential_energy",
    "qdot",
    "save",
    "simulate",
    "trajectories",
    "verify_identities",
    "viewer",
]
