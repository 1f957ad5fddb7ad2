"""Closed systems: how far closures are from being met, states that meet them, their forces and freedoms, grasps."""

from limber.constraints.couple import couple
from limber.constraints.forces import constraint_forces
from limber.constraints.impulse import Impulse, impulse
from limber.constraints.mobility import Freedoms, freedoms
from limber.constraints.projection import assemble, project
from limber.constraints.residual import constraint_residual
from limber.constraints.topology import Change, Changed, attach, lock, release, unlock

__all__ = [
    "Change",
    "Changed",
    "Freedoms",
    "Impulse",
    "assemble",
    "attach",
    "constraint_forces",
    "constraint_residual",
    "couple",
    "freedoms",
    "impulse",
    "lock",
    "project",
    "release",
    "unlock",
]
