"""Closed systems: how far closures are from being met, states that meet them, their forces and freedoms."""

from limber.constraints.forces import constraint_forces
from limber.constraints.mobility import Freedoms, freedoms
from limber.constraints.projection import assemble, project
from limber.constraints.residual import constraint_residual

__all__ = [
    "Freedoms",
    "assemble",
    "constraint_forces",
    "constraint_residual",
    "freedoms",
    "project",
]
