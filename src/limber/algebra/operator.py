"""Lazy operators: products, sums and transposes, applied factor by factor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from limber.algebra.spaces import Space
from limber.checks import Array, number, numbers, whole
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError
from limber.notebook import table

MEMORYLESS, CAUSAL, ANTICAUSAL, FULL = "memoryless", "causal", "anticausal", "full"


class Operator(ABC):
    """A linear map between stacked spaces: `@`, `+`, `-`, scalar `*`, `.T`, `.inv()`, `**`.

    Applied to a stacked vector, or to a matrix of such columns, it runs its sweeps; no dense matrix is formed
    except by `.dense()`.  `structure` is the direction in which it carries information:
    memoryless (block diagonal), causal (tip to base), anticausal (base to tip) or full.  It is immutable.
    """

    codomain: Space
    domain: Space
    structure: str

    # --- what every kind defines ------------------------------------------------------------------
    @abstractmethod
    def apply(self, x: Array) -> Array:
        """Return the operator times a contiguous vector (domain.size,) or matrix (domain.size, columns)."""

    @property
    @abstractmethod
    def T(self) -> Operator:
        """The transpose."""

    def inv(self) -> Operator:
        """The inverse, unevaluated; `simplify` replaces it by its closed form if one is known."""
        if self.shape[0] != self.shape[1]:
            raise ArgumentValueError(
                f"{self} is {self.shape[0]} x {self.shape[1]}: it has no inverse."
            )
        return Inverse(self)

    def simplify(self) -> Operator:
        """Rewrite this expression by the operator identities of the sources."""
        from limber.algebra.simplify import simplify  # noqa: PLC0415 (it imports this module)

        return simplify(self)

    def plan(self):
        """The passes needed to apply this expression, as written and simplified, with their operation counts."""
        from limber.algebra.plan import plan  # noqa: PLC0415 (it imports this module)

        return plan(self)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the dense matrix."""
        return self.codomain.size, self.domain.size

    # --- algebra ----------------------------------------------------------------------------------
    def __matmul__(self, other):
        if isinstance(other, Operator):
            return product([self, other])
        return self._times(other)

    def _times(self, x) -> Array:
        if type(x) is not np.ndarray or x.dtype != np.float64 or not x.flags.c_contiguous:
            x = np.ascontiguousarray(
                numbers(f"what {self} is applied to", x, f"({self.domain.size},)")
            )
        if x.ndim not in (1, 2) or x.shape[0] != self.domain.size:
            raise ArgumentValueError(
                f"{self} takes vectors of the {self.domain.name} space, shape ({self.domain.size},) or "
                f"({self.domain.size}, columns), got {x.shape}."
            )
        return self.apply(x)

    def __add__(self, other):
        return total([self, _operator(other)])

    def __sub__(self, other):
        return total([self, -_operator(other)])

    def __neg__(self):
        return Scaled(-1.0, self)

    def __mul__(self, factor):
        return Scaled(number("the factor of an operator", factor), self)

    __rmul__ = __mul__

    def __pow__(self, n: int):
        n = whole("the power", n, 0)
        if self.domain is not self.codomain:
            raise ArgumentValueError(f"{self} is not square: it has no powers.")
        return product([Identity(self.domain), *([self] * n)])

    # --- looking ----------------------------------------------------------------------------------
    def dense(self) -> Array:
        """The dense matrix."""
        return self.apply(np.eye(self.domain.size))

    def block(self, i: int | str, j: int | str) -> Array:
        """Return block (i, j), by number or by the names of the bodies."""
        rows, columns = self.codomain.part(i), self.domain.part(j)
        x = np.zeros((self.domain.size, columns.stop - columns.start))
        x[columns] = np.eye(columns.stop - columns.start)
        return self.apply(x)[rows]

    def __repr__(self):
        rows, columns = self.shape
        return f"<{self}: {self.structure}, {self.codomain.name} from {self.domain.name}, {rows} x {columns}>"

    def latex(self) -> str:
        """The expression in LaTeX."""
        return str(self)

    def _repr_latex_(self):
        return f"${self.latex()}$"

    def _repr_html_(self) -> str:
        # notebooks set the formula between dollar signs
        row = (self.structure, self.codomain.name, self.domain.name, "{} x {}".format(*self.shape))
        return table(
            f"${self.latex()}$", ("structure", "to", "from", "size"), [row], left=(0, 1, 2)
        )


def _operator(x) -> Operator:
    if not isinstance(x, Operator):
        raise ArgumentTypeError(f"an operator can only be added to an operator, got {x!r:.60}.")
    return x


class Identity(Operator):
    """The identity of a space."""

    structure = MEMORYLESS

    def __init__(self, space: Space):
        self.codomain = self.domain = space

    def apply(self, x):
        return x.copy()

    @property
    def T(self):
        return self

    def inv(self):
        return self

    def __str__(self):
        return "I"


class Zero(Operator):
    """The zero operator between two spaces."""

    structure = MEMORYLESS

    def __init__(self, codomain: Space, domain: Space):
        self.codomain, self.domain = codomain, domain

    def apply(self, x):
        return np.zeros((self.codomain.size, *x.shape[1:]))

    @property
    def T(self):
        return Zero(self.domain, self.codomain)

    def __str__(self):
        return "0"


class Scaled(Operator):
    """A number times an operator."""

    def __init__(self, factor: float, operator: Operator):
        inner = operator.operator if isinstance(operator, Scaled) else operator
        self.factor: float = factor * operator.factor if isinstance(operator, Scaled) else factor
        self.operator: Operator = inner
        self.codomain, self.domain = operator.codomain, operator.domain
        self.structure = operator.structure

    def apply(self, x):
        return self.factor * self.operator.apply(x)

    @property
    def T(self):
        return Scaled(self.factor, self.operator.T)

    def inv(self):
        return Scaled(1.0 / self.factor, self.operator.inv())

    def __str__(self):
        inner = f"({self.operator})" if isinstance(self.operator, Sum) else str(self.operator)
        if self.factor == -1.0:
            return f"-{inner}"
        return inner if self.factor == 1.0 else f"{self.factor:g} {inner}"

    def latex(self):
        inner = self.operator.latex()
        inner = rf"\left({inner}\right)" if isinstance(self.operator, Sum) else inner
        return f"-{inner}" if self.factor == -1.0 else f"{self.factor:g} {inner}"


class Inverse(Operator):
    """The inverse of a square expression whose closed form is not known yet."""

    def __init__(self, operator: Operator):
        self.operator = operator
        self.codomain, self.domain = operator.domain, operator.codomain
        self.structure = operator.structure

    def solved(self) -> Operator:
        """The closed form, if simplification finds one."""
        closed = self.simplify()
        if isinstance(closed, Inverse):
            raise LimberError(
                f"{self} has no closed form for this. The mass operator, phi, psi, I + H phi K, I - H psi K and "
                "block-diagonal operators have one; for others use np.linalg.solve on .dense()."
            )
        return closed

    def apply(self, x):
        return self.solved().apply(x)

    @property
    def T(self):
        return Inverse(self.operator.T)

    def inv(self):
        return self.operator

    def __str__(self):
        return f"({self.operator})^-1"

    def latex(self):
        return rf"\left({self.operator.latex()}\right)^{{-1}}"


class Product(Operator):
    """Operators one after the other, the rightmost first."""

    def __init__(self, factors: Sequence[Operator]):
        self.factors = tuple(factors)
        self.codomain, self.domain = self.factors[0].codomain, self.factors[-1].domain
        kinds = {f.structure for f in self.factors} - {MEMORYLESS}
        self.structure = MEMORYLESS if not kinds else kinds.pop() if len(kinds) == 1 else FULL

    def apply(self, x):
        for factor in reversed(self.factors):
            x = factor.apply(x)
        return x

    @property
    def T(self):
        return Product([f.T for f in reversed(self.factors)])

    def inv(self):
        if all(f.shape[0] == f.shape[1] for f in self.factors):
            return product([f.inv() for f in reversed(self.factors)])
        return super().inv()

    def __str__(self):
        return " ".join(f"({f})" if _needs_brackets(f) else str(f) for f in self.factors)

    def latex(self):
        return r"\,".join(
            rf"\left({f.latex()}\right)" if _needs_brackets(f) else f.latex() for f in self.factors
        )


class Sum(Operator):
    """A sum of operators between the same spaces."""

    def __init__(self, terms: Sequence[Operator], origin: Sum | None = None):
        self.terms = tuple(terms)
        self.origin = origin  # the operator of which this is the transpose
        self.codomain, self.domain = self.terms[0].codomain, self.terms[0].domain
        kinds = {t.structure for t in self.terms} - {MEMORYLESS}
        self.structure = MEMORYLESS if not kinds else kinds.pop() if len(kinds) == 1 else FULL

    def apply(self, x):
        y = self.terms[0].apply(x)
        for term in self.terms[1:]:
            y = y + term.apply(x)
        return y

    @property
    def T(self):
        return self.origin or Sum([t.T for t in self.terms], self)

    def __str__(self):
        if self.origin is not None:
            return f"({self.origin})^T"
        return _joined([str(t) for t in self.terms])

    def latex(self):
        if self.origin is not None:
            return rf"\left({self.origin.latex()}\right)^T"
        return _joined([t.latex() for t in self.terms])


def _needs_brackets(factor: Operator) -> bool:
    """Whether a factor of a product is written in brackets; a transposed sum already has them."""
    return isinstance(factor, Scaled) or (isinstance(factor, Sum) and factor.origin is None)


def _joined(texts: list[str]) -> str:
    """Terms with their signs."""
    out = texts[0]
    for text in texts[1:]:
        out += f" - {text[1:]}" if text.startswith("-") else f" + {text}"
    return out


def product(factors: Sequence[Operator]) -> Operator:
    """The product, checked, flat, without identities; numbers go in front."""
    flat: list[Operator] = []
    number = 1.0
    for factor in factors:
        inner = factor
        if isinstance(factor, Scaled):
            number, inner = number * factor.factor, factor.operator
        flat += inner.factors if isinstance(inner, Product) else [inner]
    for left, right in pairwise(flat):
        if left.domain is not right.codomain:
            why = (
                "they belong to different systems or states"
                if left.domain.name == right.codomain.name
                else f"{left} takes the {left.domain.name} space, {right} gives the {right.codomain.name} space"
            )
            raise ArgumentValueError(f"{left} and {right} cannot be multiplied: {why}.")
    kept = [f for f in flat if not isinstance(f, Identity)]
    result = Product(kept) if len(kept) > 1 else kept[0] if kept else flat[0]
    return result if number == 1.0 else Scaled(number, result)


def total(terms: Sequence[Operator]) -> Operator:
    """The sum, checked and flat."""
    flat: list[Operator] = []
    for term in terms:
        flat += term.terms if isinstance(term, Sum) else [term]
    first = flat[0]
    for term in flat[1:]:
        if term.domain is not first.domain or term.codomain is not first.codomain:
            raise ArgumentValueError(
                f"{first} ({first.codomain.name} from {first.domain.name}) and {term} ({term.codomain.name} from "
                f"{term.domain.name}) cannot be added: their spaces, systems or states differ."
            )
    return Sum(flat)
