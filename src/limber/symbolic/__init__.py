"""Closed-form kinematics and equations of motion in SymPy."""

from limber.errors import MissingExtraError

try:
    import sympy
except ImportError as error:  # pragma: no cover - needs an environment without SymPy
    raise MissingExtraError(
        "limber.symbolic needs SymPy, which is not installed: pip install 'limber-dynamics[symbolic]'."
    ) from error

from limber.symbolic.equations import Equations, equations
from limber.symbolic.joints import SymbolicJoint, compound_joint, simple_joint

__all__ = ["Equations", "SymbolicJoint", "compound_joint", "equations", "simple_joint"]

del MissingExtraError, sympy
