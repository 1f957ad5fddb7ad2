"""The spatial operator algebra: operators as objects, applied by sweeps."""

from limber.algebra.algorithms import Denoc, denoc
from limber.algebra.identities import Residuals, verify_identities
from limber.algebra.operator import Identity, Operator
from limber.algebra.operators import Operators, operators
from limber.algebra.spaces import Space

__all__ = [
    "Denoc",
    "Identity",
    "Operator",
    "Operators",
    "Residuals",
    "Space",
    "denoc",
    "operators",
    "verify_identities",
]
