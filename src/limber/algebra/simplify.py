"""Simplification of operator expressions by the identities of the sources.

A product is a word of named factors; I - H psi K and I + H phi K count as single letters, W and V.
Words are rewritten by the rules below until none applies; each rule shortens the word or removes a
sweep, so this ends.  Every rule holds transposed as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from limber.algebra.leaves import Named, Transposed
from limber.algebra.operator import (
    Identity,
    Inverse,
    Operator,
    Product,
    Scaled,
    Sum,
    product,
    total,
)

if TYPE_CHECKING:
    from limber.algebra.operators import Operators

Letters = tuple[str, ...]

#: left -> right, with the equation it comes from (a.: Rodriguez & Kreutz; patent: Jain & Rodriguez;
#: framework: Rodriguez, Jain & Kreutz)
RULES: list[tuple[str, str, str]] = [
    ("W H phi", "H psi", "patent (70), framework lemma 4, a.35"),
    ("W H Phi", "H Psi", "a.36"),
    ("V H psi", "H phi", "a.32"),
    ("V H Psi", "H Phi", "a.33"),
    ("phi K W", "psi K", "a.41"),
    ("Phi L W", "Psi L", "a.41"),
    ("psi K V", "phi K", "a.39"),
    ("Psi L V", "Phi L", "a.39"),
    ("W V", "", "patent lemma 6.2, framework lemma 2, fact 4.2"),
    ("V W", "", "patent lemma 6.2, framework lemma 2, fact 4.2"),
    ("H P H^T", "D", "patent (52)"),
    ("P H^T D^-1", "G", "patent (52)"),
    ("D^-1 D", "", ""),
    ("D D^-1", "", ""),
    ("G H", "tau", "framework (3.2)"),
    ("Delta_phi G", "L", "a.12"),
    ("E_phi G", "K", "patent (52)"),
    ("S L", "K", "a.12"),
    ("E_phi tau_bar", "E_psi", "patent (52)"),
    ("Delta_phi tau_bar", "Delta_psi", "framework (3.2)"),
    ("S Delta_phi", "E_phi", "a.11"),
    ("S Delta_psi", "E_psi", "a.10"),
    ("phi S", "Phi", "a.6"),
    ("psi S", "Psi", "a.7"),
    ("psi^T H^T D^-1 H psi", "Omega", "framework (3.10)"),
]

#: sums of two words with a common beginning and end: first + sign second -> result
PAIRS: list[tuple[str, float, str, str, str]] = [
    ("phi", -1.0, "psi K H phi", "psi", "a.15"),
    ("phi", -1.0, "phi K H psi", "psi", "a.23"),
    ("psi", 1.0, "psi K H phi", "phi", "a.14"),
    ("psi", 1.0, "phi K H psi", "phi", "a.22"),
    ("Phi", -1.0, "Psi L H Phi", "Psi", "a.17"),
    ("Phi", -1.0, "Phi L H Psi", "Psi", "a.25"),
    ("Psi", 1.0, "Psi L H Phi", "Phi", "a.16"),
    ("Psi", 1.0, "Phi L H Psi", "Phi", "a.24"),
]


def _turned(word: str) -> str:
    """The transposed word."""
    return " ".join(_turn(letter) for letter in reversed(word.split()))


def _turn(letter: str) -> str:
    if letter in ("D", "D^-1", "P", "M", "R", "Omega", "Upsilon", "mass"):
        return letter
    return letter[:-2] if letter.endswith("^T") else f"{letter}^T"


_REWRITES: list[tuple[Letters, Letters]] = []
for _left, _right, _ in RULES:
    for _pair in {(_left, _right), (_turned(_left), _turned(_right))}:
        _REWRITES.append((tuple(_pair[0].split()), tuple(_pair[1].split())))


def simplify(expression: Operator) -> Operator:
    """The expression rewritten by the identities; unchanged if its operators are of no one system."""
    ops = family(expression)
    return expression if ops is None else _Simplifier(ops).run(expression)


def family(expression: Operator) -> Operators | None:
    """The operators that the leaves of an expression belong to."""
    for part in _parts(expression):
        found = family(part)
        if found is not None:
            return found
    leaf = expression.leaf if isinstance(expression, Transposed) else expression
    return getattr(leaf, "family", None)


def _parts(expression: Operator) -> tuple[Operator, ...]:
    if isinstance(expression, Product):
        return expression.factors
    if isinstance(expression, Sum):
        return expression.terms
    if isinstance(expression, (Scaled, Inverse)):
        return (expression.operator,)
    return ()


class _Simplifier:
    """Rewrites expressions of one family of operators."""

    def __init__(self, ops: Operators):
        self.ops = ops

    def run(self, expression: Operator) -> Operator:
        if isinstance(expression, Scaled):
            return expression.factor * self.run(expression.operator)
        if isinstance(expression, Inverse):
            return self.inverse(self.run(expression.operator))
        if isinstance(expression, Sum):
            if expression.origin is not None:
                return self.run(expression.origin).T
            return self.sum(expression)
        return self.word(expression)

    # --- words ------------------------------------------------------------------------------------
    def word(self, expression: Operator) -> Operator:
        number, factors = 1.0, []
        for factor in self.flat(expression):
            done = factor if not _parts(factor) else self.run(factor)
            if isinstance(done, Scaled):
                number, done = number * done.factor, done.operator
            factors += list(done.factors) if isinstance(done, Product) else [done]
        space = expression.codomain
        names = [self.letter(f) for f in factors]
        changed = True
        while changed:
            changed = False
            for left, right in _REWRITES:
                i = _find(names, left)
                if i is not None:
                    names[i : i + len(left)] = right
                    factors[i : i + len(left)] = [self.operator(n) for n in right]
                    changed = True
                    break
        factors = [f for f in factors if not isinstance(f, Identity)]
        result = product(factors) if factors else Identity(space)
        return result if number == 1.0 else number * result

    def flat(self, expression: Operator) -> list[Operator]:
        """Factors of a product, J and the mass operator written out."""
        if isinstance(expression, Product):
            return [g for f in expression.factors for g in self.flat(f)]
        leaf = expression.leaf if isinstance(expression, Transposed) else expression
        if isinstance(leaf, Named) and leaf.name in ("J", "mass", "Lambda"):
            inner = leaf.expression if leaf is expression else leaf.expression.T
            return self.flat(inner)
        return [expression]

    def letter(self, factor: Operator) -> str:
        """The name of a factor; W and V for I - H psi K and I + H phi K, "?" for other sums."""
        if isinstance(factor, Sum):
            text = str(factor.origin or factor)
            for name, texts in {
                "W": ("I - H psi K", "I - H Psi L"),
                "V": ("I + H phi K", "I + H Phi L"),
            }.items():
                if text in texts:
                    return f"{name}^T" if factor.origin is not None else name
            return "?"
        name = str(factor)
        return _turn(name[:-2]) if name.endswith("^T") else name

    def operator(self, name: str) -> Operator:
        """The operator of a letter."""
        if name.endswith("^T"):
            return self.operator(name[:-2]).T
        ops = self.ops
        special: dict[str, Callable[[], Operator]] = {
            "W": lambda: ops.whitening,
            "V": lambda: Identity(ops.speeds) + ops.H @ ops.phi @ ops.K,
            "D^-1": ops.D.inv,
        }
        return special[name]() if name in special else getattr(ops, name)

    # --- inverses ---------------------------------------------------------------------------------
    def inverse(self, inner: Operator) -> Operator:
        names = [self.letter(f) for f in self.flat(inner)]
        if names == ["H", "phi", "M", "phi^T", "H^T"]:
            return product([self.operator(n) for n in ("W^T", "D^-1", "W")])
        known = {"W": "V", "V": "W", "W^T": "V^T", "V^T": "W^T"}
        if len(names) == 1 and names[0] in known:
            return self.operator(known[names[0]])
        steps = {"E_phi": "phi", "S Delta_phi": "phi", "E_psi": "psi", "S Delta_psi": "psi"}
        for step, name in steps.items():
            if str(inner) == f"I - {step}":
                return self.operator(name)
        if isinstance(inner, Product) and "V" in names:
            return self.word(product([self.inverse(f) for f in reversed(inner.factors)]))
        return inner.inv()

    # --- sums -------------------------------------------------------------------------------------
    def sum(self, expression: Sum) -> Operator:
        terms: list[tuple[float, Operator]] = []
        for term in expression.terms:
            done = self.run(term)
            parts = done.terms if isinstance(done, Sum) else (done,)
            for part in parts:
                number, inner = (
                    (part.factor, part.operator) if isinstance(part, Scaled) else (1.0, part)
                )
                self.collect(terms, number, inner)
        while self.pair(terms):
            pass
        kept = [(n, t) for n, t in terms if n != 0.0]
        if not kept:
            return 0.0 * expression.terms[0]
        named = [t if n == 1.0 else n * t for n, t in kept]
        result = named[0] if len(named) == 1 else total(named)
        if str(result) in ("I - tau", "I - G H"):
            return self.ops.tau_bar
        return result

    def collect(self, terms: list[tuple[float, Operator]], number: float, term: Operator) -> None:
        """Add a term, or its number to an equal one."""
        for i, (n, other) in enumerate(terms):
            if str(other) == str(term) and other.domain is term.domain:
                terms[i] = (n + number, other)
                return
        terms.append((number, term))

    def pair(self, terms: list[tuple[float, Operator]]) -> bool:
        """Replace one pair of terms that an identity joins; whether there was one."""
        words = [[self.letter(f) for f in self.flat(t)] for _, t in terms]
        for first, sign, second, result, _ in PAIRS:
            for left, right, into in (
                (first.split(), second.split(), result.split()),
                (_turned(first).split(), _turned(second).split(), _turned(result).split()),
            ):
                for i, word in enumerate(words):
                    at = _find(word, tuple(right))
                    if at is None or terms[i][0] == 0.0:
                        continue
                    partner = [*word[:at], *left, *word[at + len(right) :]]
                    for j, other in enumerate(words):
                        if other == partner and terms[j][0] * sign == terms[i][0]:
                            factors = self.flat(terms[i][1])
                            middle = [self.operator(n) for n in into]
                            new = product([*factors[:at], *middle, *factors[at + len(right) :]])
                            number = terms[j][0]
                            for k in sorted((i, j), reverse=True):
                                del terms[k]
                            self.collect(terms, number, self.run(new))
                            return True
        return False


def _find(names: list[str], pattern: Letters) -> int | None:
    """Where a pattern stands in a word."""
    n = len(pattern)
    for i in range(len(names) - n + 1):
        if tuple(names[i : i + n]) == pattern:
            return i
    return None
