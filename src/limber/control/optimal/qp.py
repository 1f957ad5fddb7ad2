"""Quadratic programs of real-time iterations, by PIQP.

minimize    1/2 z^T P z + c^T z
subject to  A z = b,  lower <= G z <= upper,  z_lower <= z <= z_upper

The sparsity patterns of the matrices are fixed; their values change from sample to sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from limber.checks import Array
from limber.errors import MissingExtraError

#: Of the optimality conditions, absolute and relative.
ACCURACY = 1e-6


@dataclass
class Program:
    """The data of a quadratic program."""

    P: scipy.sparse.csc_matrix  # the upper triangle
    c: Array
    A: scipy.sparse.csc_matrix
    b: Array
    G: scipy.sparse.csc_matrix
    lower: Array
    upper: Array
    z_lower: Array
    z_upper: Array


class Solver:
    """The interior-point method of PIQP (Schwan et al. 2023), whose factorization uses the stages of the problem."""

    def __init__(self, program: Program, iterations: int, accuracy: float):
        piqp = imported()
        self._solved = piqp.PIQP_SOLVED
        self._solver = solver = piqp.SparseSolver()
        solver.settings.kkt_solver = piqp.KKTSolver.sparse_multistage
        solver.settings.eps_abs = solver.settings.eps_rel = ACCURACY
        solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = accuracy
        solver.settings.max_iter = iterations
        solver.settings.preconditioner_reuse_on_update = True
        solver.setup(*self._arguments(program))

    @staticmethod
    def _arguments(p: Program) -> tuple[Any, ...]:
        rows = (p.G, p.lower, p.upper) if p.G.shape[0] else (None, None, None)
        return (p.P, p.c, p.A, p.b, *rows, p.z_lower, p.z_upper)

    def prepare(self, program: Program) -> None:
        """Set new values of all data."""
        self._solver.update(*self._arguments(program))

    def solve(self, program: Program) -> Array | None:
        """Solve for the latest right-hand side b; None if there is no solution."""
        self._solver.update(b=program.b)
        status = self._solver.solve()
        z = np.array(self._solver.result.x)
        return z if status == self._solved and np.isfinite(z).all() else None


def imported() -> Any:
    """Import the module of PIQP, or raise an error that names the extra."""
    try:
        import piqp  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError('NMPC needs PIQP: pip install "limber-dynamics[mpc]".') from error
    return piqp
