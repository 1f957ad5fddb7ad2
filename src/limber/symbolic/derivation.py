"""The source of the parts of symbolic equations: polynomials, which are shortened on request."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from limber.assembly import Assembly
from limber.checks import listed, shown
from limber.errors import ArgumentValueError
from limber.symbolic.compact import compact, with_numbers
from limber.symbolic.kinematics import configuration_matrix
from limber.symbolic.names import Naming
from limber.symbolic.poincare import Poincare


class Derivation:
    """Where the parts of the equations come from: polynomials, shortened on request."""

    def __init__(self, assembly: Assembly, naming: Naming, poincare: Poincare, floats: bool | None):
        self.poincare, self.floats = poincare, floats
        model = poincare.model
        self.name = assembly.name
        self.q, self.p = sp.Matrix(model.q_symbols), sp.Matrix(model.p_symbols)
        self.values = model.values
        self.known = frozenset({*naming.q, *naming.p, *naming.parameters, *model.values})
        self.nodes = {item.name: item.body.node_set for item in model.items}

    def part(self, name: str) -> Any:
        """M, C, G, F, R or the potential."""
        if name == "R":
            return sp.Matrix([with_numbers(x, self.floats) for x in self.resistance])
        if name in ("A", "a0", "residual"):
            rows = self.poincare.rows
            found = {"A": rows.A, "a0": rows.bias[:, None], "residual": rows.residual[:, None]}[
                name
            ]
            return sp.Matrix(*found.shape, [compact(x, self.floats) for x in found.flat])
        names = {"M": "mass", "C": "coriolis", "G": "gradient", "F": "force"}
        value = getattr(self.poincare, names.get(name, name))
        if name == "potential":
            return compact(value, self.floats)
        if name == "M":
            n = len(value)
            lower = {
                (i, j): compact(value[i, j], self.floats) for i in range(n) for j in range(i + 1)
            }
            return sp.Matrix(n, n, lambda i, j: lower[max(i, j), min(i, j)])
        rows = value.reshape(len(value), -1)
        return sp.Matrix([[compact(x, self.floats) for x in row] for row in rows])

    @cached_property
    def framed(self) -> Poincare:
        """The same derivation with the joints' frames as generators, for numbers."""
        return Poincare(self.poincare.model, self.poincare.order, written_out=False)

    @cached_property
    def parameters(self) -> list[sp.Expr]:
        """The symbols and functions of parameters in M, C, G, R, the potential and V."""
        derived = self.framed
        parts = [derived.mass, derived.coriolis, derived.gradient, np.array([derived.potential])]
        parts += [derived.rows.A, derived.rows.residual]
        used = {i for part in parts for x in part.flat for i in x.used()}
        expressions = derived.model.ring.expressions
        inner = {
            i for k in used & set(derived.model.frames) for i in derived.model.frames[k].used()
        }
        shown_ones = sorted((used - set(derived.model.frames)) | inner)
        outside = self.kinematic().free_symbols.union(*(x.free_symbols for x in self.resistance))
        return [expressions[i] for i in shown_ones] + list(outside)

    @cached_property
    def resistance(self) -> list[sp.Expr]:
        """R with exact numbers."""
        return self.poincare.model.resistance()

    def kinematic(self) -> sp.Matrix:
        """V of qdot = V p."""
        blocks = []
        for item in self.poincare.model.items:
            blocks += [sp.eye(item.body.modes), self.poincare.model.joints[item.name].Gamma]
        return sp.diag(*blocks)

    def joints(self) -> dict[str, sp.Matrix]:
        """The configuration matrices of the joints, by body."""
        return {name: joint.X for name, joint in self.poincare.model.joints.items()}

    def pose(self, body: str, node: str | int | None) -> sp.Matrix:
        """The configuration of a body frame or node in the world."""
        if not isinstance(body, str) or body not in self.nodes:
            raise ArgumentValueError(
                f"body={shown(body)} is not in the assembly {self.name!r}; it has: {listed(self.nodes)}."
            )
        number = None if node is None else self.nodes[body].index("node", node, f"body {body!r}")
        entries = self.poincare.pose(body, number)
        return configuration_matrix(self.poincare.model.ring, entries, self.floats)
