"""Products of matrices as programs that others call: written as loops, however large they are.

A product of two dense matrices in straight-line code has a line for each of its multiplications, and compilers take
minutes for some hundred thousand of them.  As a program of its own, called with both matrices, it is three loops.
"""

from __future__ import annotations

from functools import cache

from limber.codegen.graph import Graph
from limber.codegen.program import Argument, Program
from limber.codegen.statements import Dialect


class Product(Program):
    """The program of c = a b, of matrices by rows."""

    def lines(self, dialect: Dialect) -> list[str]:
        """The loops, in which the compiler knows all bounds."""
        (rows, inner), (_, columns) = (a.shape for a in self.inputs)

        def at(name: str, index: str) -> str:
            return dialect.element.format(name=name, i=index)

        c = at("c", f"i * {columns} + j")
        factors = at("a", "i * {0} + {1}"), at("b", "{1} * {2} + j")

        def term(k: str) -> str:
            return " * ".join(factors).format(inner, k, columns)

        return [
            f"for (int i = 0; i < {rows}; ++i) {{",
            f"    for (int j = 0; j < {columns}; ++j) {c} = {term('0')};",
            f"    for (int k = 1; k < {inner}; ++k) {{",
            f"        for (int j = 0; j < {columns}; ++j) {c} += {term('k')};",
            "    }",
            "}",
        ]


@cache
def product(rows: int, inner: int, columns: int) -> Product:
    """The product of a (rows, inner) and a (inner, columns) matrix; the same object for the same sizes."""
    a, b = Argument("a", (rows, inner)), Argument("b", (inner, columns))
    graph = Graph()
    left, right = graph.inputs(0, a.size), graph.inputs(1, b.size)
    results = []
    for i in range(rows):
        for j in range(columns):
            total = left[i * inner] * right[j]
            for k in range(1, inner):
                total = total + left[i * inner + k] * right[k * columns + j]
            results.append(total)
    c = Argument("c", (rows, columns))
    return Product(f"product_{rows}_{inner}_{columns}", (a, b), (c,), (tuple(results),), graph)
