"""Limber: dynamics and control of flexible multibody systems by spatial operators."""

import importlib
import typing

from limber import io, models, registry, shapes
from limber.assembly import Assembly, System
from limber.bodies import FlexibleBody, Material, RigidBody, Section, beam
from limber.dynamics import (
    Derivatives,
    LoadPath,
    ModalDamping,
    Modes,
    acceleration,
    bias,
    derivatives,
    difference,
    equilibrium,
    follow,
    forward_dynamics,
    hybrid_dynamics,
    integrate,
    inverse_dynamics,
    jacobian,
    kinetic_energy,
    mass_matrix,
    modal_damping,
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
    FrictionlessPoint,
    HardPoint,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    RigidGrasp,
    Screw,
    SimpleJoint,
    SlidingLine,
    SoftFinger,
    Spherical,
    Universal,
)
from limber.simulation import BatchResult, Event, Result, Table, simulate
from limber.version import __version__ as __version__

if typing.TYPE_CHECKING:
    from limber import (
        algebra,
        campaigns,
        constraints,
        control,
        exchange,
        identification,
        orbit,
        plotting,
        scenarios,
        structures,
        trajectories,
        viewer,
    )
    from limber import symbolic as symbolic
    from limber.algebra import Operator, Operators, denoc, verify_identities
    from limber.algebra.operators import operators
    from limber.campaigns import Campaign, campaign
    from limber.codegen import compile, operation_count
    from limber.constraints import (
        Freedoms,
        Impulse,
        OperationalSpace,
        assemble,
        attach,
        check_grasps,
        constrained_inverse,
        constraint_forces,
        constraint_residual,
        couple,
        freedoms,
        generalized_jacobian,
        grasp_map,
        impulse,
        lock,
        operational_inertia,
        project,
        release,
        share_load,
        unlock,
    )
    from limber.control.linear_model import LinearModel
    from limber.control.linearize import linearize
    from limber.identification import identify
    from limber.structures import Structure
    from limber.viewer import view

#: Packages that are imported when they are first used: `symbolic` needs SymPy, `scenarios` pydantic, `structures`
#: sparse matrices, `plotting` and `viewer` draw, and most programs need neither `algebra`, `control`, `exchange`,
#: `identification`, `orbit` nor `trajectories`.
_LATER = (
    "algebra",
    "campaigns",
    "constraints",
    "control",
    "exchange",
    "identification",
    "orbit",
    "plotting",
    "scenarios",
    "structures",
    "symbolic",
    "trajectories",
    "viewer",
)
#: Names of such packages that are names of this one too.
_LATER_NAMES = {
    "Operator": "algebra",
    "Operators": "algebra",
    "Structure": "structures",
    "compile": "codegen",
    "denoc": "algebra",
    "operation_count": "codegen",
    "operators": "algebra",
    "verify_identities": "algebra",
    "Freedoms": "constraints",
    "OperationalSpace": "constraints",
    "assemble": "constraints",
    "constrained_inverse": "constraints",
    "constraint_forces": "constraints",
    "constraint_residual": "constraints",
    "freedoms": "constraints",
    "generalized_jacobian": "constraints",
    "operational_inertia": "constraints",
    "project": "constraints",
    "check_grasps": "constraints",
    "grasp_map": "constraints",
    "share_load": "constraints",
    "Impulse": "constraints",
    "attach": "constraints",
    "couple": "constraints",
    "impulse": "constraints",
    "lock": "constraints",
    "release": "constraints",
    "unlock": "constraints",
    "LinearModel": "control",
    "linearize": "control",
    "Campaign": "campaigns",
    "campaign": "campaigns",
    "identify": "identification",
    "view": "viewer",
}

# Names that a lower layer offers and a higher one implements.
registry.register(
    {
        "Result.plot": "limber.plotting:plot",
        "Result.animate": "limber.plotting:animate",
        "Result.report": "limber.viewer:report",
        "FlexibleBody.report": "limber.structures:report",
        "BodyReport.plot": "limber.plotting:plot_body",
        "BodyReport.html": "limber.viewer:body_page",
        "forward_dynamics.methods": "limber.algebra.algorithms:METHODS",
        "simulate.controller": "limber.control.loop:loop_of",
        "io.Scenario": "limber.scenarios:Scenario",
        "io.load_scenario": "limber.scenarios:load_scenario",
        "io.schema": "limber.scenarios:schema",
    }
)


def __getattr__(name: str):
    """The packages that are imported when they are first used, and the names in them."""
    if name in _LATER:
        return importlib.import_module(f"limber.{name}")
    if name in _LATER_NAMES:
        value = getattr(importlib.import_module(f"limber.{_LATER_NAMES[name]}"), name)
        globals()[name] = value  # so that this function is not called again
        return value
    raise AttributeError(f"module 'limber' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names and packages, whether imported yet or not; not the modules that they come from."""
    dunders = {name for name in globals() if name.startswith("__")}
    return sorted({*__all__, *_LATER, *dunders})


__all__ = [
    "Assembly",
    "BatchResult",
    "CacheWarning",
    "Campaign",
    "CompoundJoint",
    "Cylindrical",
    "Derivatives",
    "Event",
    "FileError",
    "Fixed",
    "FlexibleBody",
    "Free",
    "Freedoms",
    "FrictionlessPoint",
    "HardPoint",
    "Impulse",
    "Joint",
    "LimberError",
    "LinearModel",
    "LoadPath",
    "Material",
    "ModalDamping",
    "ModelWarning",
    "Modes",
    "OperationalSpace",
    "Operator",
    "Operators",
    "Planar",
    "Prismatic",
    "Result",
    "Revolute",
    "RigidBody",
    "RigidGrasp",
    "Screw",
    "Section",
    "SimpleJoint",
    "SimulationError",
    "SlidingLine",
    "SoftFinger",
    "Spherical",
    "Structure",
    "System",
    "Table",
    "TheoryWarning",
    "Universal",
    "acceleration",
    "algebra",
    "assemble",
    "attach",
    "beam",
    "bias",
    "campaign",
    "campaigns",
    "check_grasps",
    "compile",
    "constrained_inverse",
    "constraint_forces",
    "constraint_residual",
    "constraints",
    "control",
    "couple",
    "denoc",
    "derivatives",
    "difference",
    "equilibrium",
    "exchange",
    "follow",
    "forward_dynamics",
    "freedoms",
    "generalized_jacobian",
    "grasp_map",
    "hybrid_dynamics",
    "identification",
    "identify",
    "impulse",
    "integrate",
    "inverse_dynamics",
    "io",
    "jacobian",
    "kinetic_energy",
    "linearize",
    "load",
    "lock",
    "mass_matrix",
    "modal_damping",
    "models",
    "modes",
    "momentum",
    "operation_count",
    "operational_inertia",
    "operators",
    "orbit",
    "plotting",
    "pose",
    "potential_energy",
    "project",
    "qdot",
    "release",
    "save",
    "scenarios",
    "shapes",
    "share_load",
    "simulate",
    "structures",
    "trajectories",
    "unlock",
    "verify_identities",
    "view",
    "viewer",
]
