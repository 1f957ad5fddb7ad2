"""Quadratic programs of real-time iterations, by PIQP or OSQP.

minimize    1/2 z^T P z + c^T z
subject to  A z = b,  lower <= G z <= upper,  z_lower <= z <= z_upper

The patterns of the matrices stay; their values change from one sample to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from limber.checks import Array, shown
from limber.errors import ArgumentValueError, MissingExtraError

SOLVERS = ("piqp", "osqp")


@dataclass
class Program:
    """The data of a program."""

    P: scipy.sparse.csc_matrix  # the upper triangle
    c: Array
    A: scipy.sparse.csc_matrix
    b: Array
    G: scipy.sparse.csc_matrix
    lower: Array
    upper: Array
    z_lower: Array
    z_upper: Array


class Piqp:
    """The interior-point method of PIQP, which sees the stages of the problem."""

    def __init__(self, program: Program, iterations: int):
        piqp = _imported("piqp")
        self._solved = piqp.PIQP_SOLVED
        self._solver = solver = piqp.SparseSolver()
        solver.settings.kkt_solver = piqp.KKTSolver.sparse_multistage
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-6
        solver.settings.max_iter = iterations
        solver.setup(*self._arguments(program))
        self._rows = bool(program.G.shape[0])

    @staticmethod
    def _arguments(p: Program) -> tuple[Any, ...]:
        rows = (p.G, p.lower, p.upper) if p.G.shape[0] else (None, None, None)
        return (p.P, p.c, p.A, p.b, *rows, p.z_lower, p.z_upper)

    def prepare(self, program: Program) -> None:
        """Take new values of everything."""
        self._solver.update(*self._arguments(program))

    def solve(self, program: Program) -> Array | None:
        """The solution for the latest right-hand side b; None if there is none."""
        self._solver.update(b=program.b)
        status = self._solver.solve()
        z = np.array(self._solver.result.x)
        return z if status == self._solved and np.isfinite(z).all() else None


class Osqp:
    """The operator splitting of OSQP, which starts from the last solution."""

    def __init__(self, program: Program, iterations: int):
        osqp = _imported("osqp")
        rows, lower, upper = self._rows(program)
        self._solver = osqp.OSQP()
        self._solver.setup(
            program.P, program.c, rows, lower, upper, verbose=False, eps_abs=1e-5, eps_rel=1e-5,
            max_iter=50 * iterations,
        )  # fmt: skip

    @staticmethod
    def _rows(p: Program) -> tuple[scipy.sparse.csc_matrix, Array, Array]:
        one = scipy.sparse.identity(len(p.c), format="csc")
        return (
            scipy.sparse.vstack([p.A, p.G, one], format="csc"),
            np.concatenate([p.b, p.lower, p.z_lower]),
            np.concatenate([p.b, p.upper, p.z_upper]),
        )

    def prepare(self, program: Program) -> None:
        """Take new values of everything."""
        rows, lower, upper = self._rows(program)
        self._solver.update(Px=program.P.data, Ax=rows.data, q=program.c, l=lower, u=upper)

    def solve(self, program: Program) -> Array | None:
        """The solution for the latest right-hand side b; None if there is none."""
        _, lower, upper = self._rows(program)
        self._solver.update(l=lower, u=upper)
        found = self._solver.solve()
        z = np.asarray(found.x, dtype=float)
        return z if found.info.status_val in (1, 2) and np.isfinite(z).all() else None


def solver(name: str, program: Program, iterations: int) -> Piqp | Osqp:
    """The solver of that name for programs of this pattern."""
    return Piqp(program, iterations) if name == "piqp" else Osqp(program, iterations)


def checked_solver(name: Any) -> str:
    """The name of a solver that is known and installed."""
    if name not in SOLVERS:
        raise ArgumentValueError(f"solver must be one of {', '.join(SOLVERS)}, got {shown(name)}.")
    _imported(name)
    return name


def _imported(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise MissingExtraError(
            f'solver="{name}" needs {name.upper()}: pip install "limber-dynamics[mpc]".'
        ) from error
