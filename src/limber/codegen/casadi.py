"""Programs as CasADi functions, ready for Opti, do-mpc or acados."""

from __future__ import annotations

from typing import Any

from limber.codegen import graph as g
from limber.codegen.program import Argument, Program, split
from limber.errors import ArgumentValueError, MissingExtraError


def function(program: Program, name: str | None = None) -> Any:
    """A `casadi.Function` of SX expressions with named arguments and results.

    Vectors are columns, and an array of two dimensions is a matrix of that shape.  An array of more dimensions is a
    matrix whose rows are its first dimension.
    """
    try:
        import casadi as ca  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'target="casadi" needs CasADi: pip install "limber-dynamics[symbolic]".'
        ) from error

    symbols = [ca.SX.sym(a.name, *_matrix(a)) for a in program.inputs]
    flat: list[Any] = []
    for x in symbols:
        flat += ca.vertsplit(ca.vec(x.T)) if x.numel() else []
    found = program.evaluate(flat, {g.SIN: ca.sin, g.COS: ca.cos, g.SQRT: ca.sqrt, g.LOG: ca.log})
    outputs = []
    for a, values in zip(program.outputs, split(found, program.outputs)):
        rows, columns = _matrix(a)
        outputs.append(
            ca.reshape(ca.vertcat(*values), columns, rows).T if values else ca.SX(rows, columns)
        )
    if name is not None and (not isinstance(name, str) or not ca.Function.check_name(name)):
        raise ArgumentValueError(
            f"name={name!r} must be a name that CasADi accepts: letters, digits and single underscores."
        )
    return ca.Function(
        name or program.name, symbols, outputs,
        [a.name for a in program.inputs], [a.name for a in program.outputs],
    )  # fmt: skip


def _matrix(a: Argument) -> tuple[int, int]:
    rows = a.shape[0] if a.shape else 1
    return rows, (a.size // rows if rows else 0)
