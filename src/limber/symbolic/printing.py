"""Equations of motion as text and in LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

if TYPE_CHECKING:
    from limber.symbolic.equations import Equations


def in_latex(eq: Equations, settings: dict[str, Any]) -> str:
    """The equations in LaTeX; `settings` go to SymPy's `latex`."""

    def show(x: sp.Matrix) -> str:
        return sp.latex(x, **settings)

    rate = r"\dot{p}"
    resisting = not eq.R.is_zero_matrix
    closed = bool(eq.row_names)
    ends = rf" + A^T \lambda, \quad A {rate} + a_0 = 0" if closed else ""
    lines = [
        rf"M {rate} + C p + G{' + R' * resisting} = Q_p{ends}, \quad \dot{{q}} = V p",
        rf"q = {show(eq.q.T)}^T, \quad p = {show(eq.p.T)}^T",
        rf"M = {show(eq.M)}",
        rf"C p = {show(eq.F)}",
        rf"G = {show(eq.G)}",
        *([rf"R = {show(eq.R)}"] if resisting else []),
        rf"V = {show(eq.V)}",
    ]
    if closed:
        lines += [rf"A = {show(eq.A)}", rf"a_0 = {show(eq.a0)}"]
        lines.append(rf"{show(eq.residual)} = 0")
    return "\\begin{gathered}\n" + " \\\\\n".join(lines) + "\n\\end{gathered}"


def in_text(eq: Equations) -> str:
    """The equations, every element that is not zero in a line."""
    kind = "Lagrange's" if eq.lagrange else "Poincare's"
    resistance = "" if eq.R.is_zero_matrix else " + R"
    closed = " + A^T lambda, A pdot + a0 = 0" if eq.row_names else ""
    lines = [
        f"{kind} equations of {eq.name!r}: M pdot + C p + G{resistance} = Q_p{closed}, qdot = V p",
        f"q = {list(eq.q)}",
        f"p = {list(eq.p)}",
    ]
    if not eq.integrable:
        lines.append("(formulas only: a simple joint here has a map that is not integrable)")
    for i in range(len(eq.q)):
        for j in range(i + 1):
            if eq.M[i, j] != 0:
                lines.append(f"M[{i}, {j}] = {eq.M[i, j]}")
    for letter, column in (("(C p)", eq.F), ("G", eq.G), ("R", eq.R)):
        lines += [f"{letter}[{i}] = {x}" for i, x in enumerate(column) if x != 0]
    for i, name in enumerate(eq.row_names):
        row = [f"A[{i}, {j}] = {x}" for j, x in enumerate(eq.A[i, :]) if x != 0]
        lines += [f"0 = {eq.residual[i]}  ({name})", *row]
        lines += [f"a0[{i}] = {eq.a0[i]}"] if eq.a0[i] != 0 else []
    if not eq.lagrange:
        lines += [f"V = {eq.V.tolist()}"]
    return "\n".join(lines)
