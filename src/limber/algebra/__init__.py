"""The spatial operator algebra: operators as objects, applied by sweeps."""

from limber.algebra.algorithms import Denoc, denoc
from limber.algebra.identities import verify_identities
from limber.algebra.operator import Operator
from limber.algebra.operators import Operators, operators

__all__ = ["Denoc", "Operator", "Operators", "denoc", "operators", "verify_identities"]
