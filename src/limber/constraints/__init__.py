"""Closed systems: residuals of closures, states that satisfy them, closure forces and degrees of freedom; operational
space; grasps and changes of topology.
"""

from limber.constraints.coupling import couple
from limber.constraints.floating import generalized_jacobian
from limber.constraints.forces import constraint_forces
from limber.constraints.grasps import GraspCheck, GraspMap, check_grasps, grasp_map
from limber.constraints.impulses import Impulse, impulse
from limber.constraints.inverse import constrained_inverse
from limber.constraints.load_sharing import LoadShare, share_load
from limber.constraints.mobility import Freedoms, freedoms
from limber.constraints.operational import OperationalSpace, operational_inertia
from limber.constraints.projection import assemble, project
from limber.constraints.residual import constraint_residual
from limber.constraints.topology import Change, Changed, attach, lock, release, unlock

__all__ = [
    "Change",
    "Changed",
    "Freedoms",
    "GraspCheck",
    "GraspMap",
    "Impulse",
    "LoadShare",
    "OperationalSpace",
    "assemble",
    "attach",
    "check_grasps",
    "constrained_inverse",
    "constraint_forces",
    "constraint_residual",
    "couple",
    "freedoms",
    "generalized_jacobian",
    "grasp_map",
    "impulse",
    "lock",
    "operational_inertia",
    "project",
    "release",
    "share_load",
    "unlock",
]
