"""The public numeric functions."""

from limber.dynamics.damping import ModalDamping, modal_damping
from limber.dynamics.derivatives import Derivatives, derivatives
from limber.dynamics.difference import difference
from limber.dynamics.energy import kinetic_energy, momentum, potential_energy
from limber.dynamics.equilibrium import equilibrium
from limber.dynamics.follow import LoadPath, follow
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.hybrid import hybrid_dynamics
from limber.dynamics.inverse import bias, inverse_dynamics, mass_matrix
from limber.dynamics.kinematics import acceleration, integrate, jacobian, pose, qdot
from limber.dynamics.modes import Modes, modes

__all__ = [
    "Derivatives",
    "LoadPath",
    "ModalDamping",
    "Modes",
    "acceleration",
    "bias",
    "derivatives",
    "difference",
    "equilibrium",
    "follow",
    "forward_dynamics",
    "hybrid_dynamics",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "kinetic_energy",
    "mass_matrix",
    "modal_damping",
    "modes",
    "momentum",
    "pose",
    "potential_energy",
    "qdot",
]
