"""Closed systems: how far closures are from being met, states that meet them, their forces and freedoms; operational space."""

from limber.constraints.floating import generalized_jacobian
from limber.constraints.forces import constraint_forces
from limber.constraints.inverse import constrained_inverse
from limber.constraints.mobility import Freedoms, freedoms
from limber.constraints.operational import OperationalSpace, operational_inertia
from limber.constraints.projection import assemble, project
from limber.constraints.residual import constraint_residual

__all__ = [
    "Freedoms",
    "OperationalSpace",
    "assemble",
    "constrained_inverse",
    "constraint_forces",
    "constraint_residual",
    "freedoms",
    "generalized_jacobian",
    "operational_inertia",
    "project",
]
