"""Simplification of operator expressions by the identities of the sources.

A product is a word of named factors; I - H psi K and I + H phi K count as single letters, W and V.
Words are rewritten by the rules below until none applies.  This terminates, because each rule shortens
the word or removes a sweep.  The transpose of every rule holds as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from limber.algebra.leaves import Matrix, Named, Transposed
from limber.algebra.normal import Letters, TooManyWords, is_zero, normal_form, parse, turn
from limber.algebra.operator import (
    Identity,
    Inverse,
    Operator,
    Product,
    Scaled,
    Sum,
    Zero,
    product,
    total,
)

if TYPE_CHECKING:
    from limber.algebra.operators import Operators

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
    ("P H^T D^-1", "G", "patent (52)"),
    ("D^-1 D", "", ""),
    ("D D^-1", "", ""),
    ("D^-1/2^T D^-1/2", "D^-1", ""),
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

#: those that hold only where no joint has an armature
UNGEARED_RULES = [("H P H^T", "D", "patent (52)")]

#: sums of words with a common beginning and end -> one word
SUMS: list[tuple[str, str, str]] = [
    ("phi - psi K H phi", "psi", "a.15"),
    ("phi - phi K H psi", "psi", "a.23"),
    ("psi + psi K H phi", "phi", "a.14"),
    ("psi + phi K H psi", "phi", "a.22"),
    ("Phi - Psi L H Phi", "Psi", "a.17"),
    ("Phi - Phi L H Psi", "Psi", "a.25"),
    ("Psi + Psi L H Phi", "Phi", "a.16"),
    ("Psi + Phi L H Psi", "Phi", "a.24"),
    ("psi P + P phi^T - P", "psi M phi^T", "a.46, patent (72)"),
    ("phi R + R phi^T - R", "phi M phi^T", "patent lemma 5.1"),
    ("phi P + P phi^T + phi K D K^T phi^T - P", "phi M phi^T", "a.48"),
]
#: those that hold only where no joint has an armature
UNGEARED_SUMS = [("psi P + P psi^T - P", "psi M psi^T", "a.47")]


def _turned(word: str) -> str:
    """The transposed word."""
    return " ".join(turn(letter) for letter in reversed(word.split()))


def _rewrites(rules: list[tuple[str, str, str]]) -> list[tuple[Letters, Letters]]:
    """Rules as words, with those transposed."""
    found = []
    for left, right, _ in rules:
        for pair in {(left, right), (_turned(left), _turned(right))}:
            found.append((tuple(pair[0].split()), tuple(pair[1].split())))
    return found


def _sums(rules: list[tuple[str, str, str]]) -> list[tuple[list[tuple[Letters, float]], Letters]]:
    """Sums as words, with those transposed."""
    found = []
    for text, result, _ in rules:
        # the longest word first: it is the rarest to find
        pattern = sorted(parse(text).items(), key=lambda item: -len(item[0]))
        found.append((pattern, tuple(result.split())))
        turned = [(tuple(_turned(" ".join(w)).split()), n) for w, n in pattern]
        found.append((turned, tuple(_turned(result).split())))
    return found


_GEARED_REWRITES, _GEARED_SUMS = _rewrites(RULES), _sums(SUMS)
_REWRITES, _SUMS = _GEARED_REWRITES + _rewrites(UNGEARED_RULES), _GEARED_SUMS + _sums(UNGEARED_SUMS)


def simplify(expression: Operator) -> Operator:
    """The expression rewritten by the identities; unchanged if its spaces do not belong to the operators of a system.

    The result is zero if the identities make it so.  Otherwise it is the factored or the distributed form
    (`normal`), whichever takes fewer sweeps or, with as many sweeps, fewer multiplications.
    """
    ops = expression.domain.family or expression.codomain.family
    if ops is None:
        return expression
    factored = _Simplifier(ops).run(expression)
    if not _has(Sum, expression) or _has(Inverse, factored):
        return factored
    if is_zero(factored):
        return Zero(expression.codomain, expression.domain)
    distributed = _Simplifier(ops).distributed(factored)
    return min((factored, distributed), key=_cost)


def _has(kind: type, expression: Operator) -> bool:
    """Whether an expression has a part of this kind."""
    return isinstance(expression, kind) or any(_has(kind, part) for part in _parts(expression))


def _cost(expression: Operator) -> tuple[int, int]:
    from limber.algebra.plan import steps, sweeps  # noqa: PLC0415 (it imports this module)

    found = tuple(steps(expression))
    return sweeps(found), sum(step.multiplications for step in found)


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
        self.geared = not isinstance(ops.armature, Zero)
        self.rewrites = _GEARED_REWRITES if self.geared else _REWRITES
        self.sums = _GEARED_SUMS if self.geared else _SUMS

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

    def distributed(self, expression: Operator) -> Operator:
        """The normal form, as an expression; `expression` itself if it has too many words."""
        try:
            words = normal_form(expression, mass=False)
        except TooManyWords:
            return expression
        known = {
            "E_phi",
            "K",
            "L",
            "S",
            "Delta_phi",
            "phi",
            "psi",
            "G",
            "H",
            "P",
            "D",
            "D^-1",
            "M",
            "R",
            "J_a",
        }
        letters = {x.removesuffix("^T") for word in words for x in word}
        if not words or not letters <= known:
            return expression
        space = Identity(expression.codomain)
        order = sorted(words.items(), key=lambda item: (item[1] < 0.0, len(item[0])))
        terms = [n * product([space, *(self.operator(x) for x in w)]) for w, n in order]
        return self.run(total(terms) if len(terms) > 1 else terms[0])

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
            for left, right in self.rewrites:
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
        """The factors of a product, with J and the mass operator written out."""
        if isinstance(expression, Product):
            return [g for f in expression.factors for g in self.flat(f)]
        leaf = expression.leaf if isinstance(expression, Transposed) else expression
        if isinstance(leaf, Named) and leaf.name in ("J", "mass", "Lambda"):
            inner = leaf.expression if leaf is expression else leaf.expression.T
            return self.flat(inner)
        if isinstance(leaf, Matrix) and isinstance(leaf.meaning, Product):
            return self.flat(leaf.meaning if leaf is expression else leaf.meaning.T)
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
        return turn(name[:-2]) if name.endswith("^T") else name

    def operator(self, name: str) -> Operator:
        """The operator of a letter."""
        if name.endswith("^T"):
            return self.operator(name[:-2]).T
        ops = self.ops
        special: dict[str, Callable[[], Operator]] = {
            "W": lambda: ops.whitening,
            "V": lambda: Identity(ops.speeds) + ops.H @ ops.phi @ ops.K,
            "D^-1": ops.D.inv,
            "J_a": lambda: ops.armature,
        }
        return special[name]() if name in special else getattr(ops, name)

    # --- inverses ---------------------------------------------------------------------------------
    def inverse(self, inner: Operator) -> Operator:
        names = [self.letter(f) for f in self.flat(inner)]
        if str(inner) == str(self.ops.mass.expression) or names == ["mass"]:
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
        while self.joined(terms):
            pass
        kept = [(n, t) for n, t in terms if n != 0.0]
        if not kept:
            return Zero(expression.codomain, expression.domain)
        named = [t if n == 1.0 else n * t for n, t in kept]
        result = named[0] if len(named) == 1 else total(named)
        if str(result) in ("I - tau", "I - G H"):
            return self.ops.tau_bar
        return result

    def collect(self, terms: list[tuple[float, Operator]], number: float, term: Operator) -> None:
        """Add a term, or add its coefficient to that of an equal term."""
        for i, (n, other) in enumerate(terms):
            if str(other) == str(term) and other.domain is term.domain:
                terms[i] = (n + number, other)
                return
        terms.append((number, term))

    def joined(self, terms: list[tuple[float, Operator]]) -> bool:
        """Replace terms that an identity combines by one term; returns whether there were any."""
        words = [[self.letter(f) for f in self.flat(t)] for _, t in terms]
        for pattern, result in self.sums:
            (first, sign), others = pattern[0], pattern[1:]
            for i, word in enumerate(words):
                at = _find(word, first)
                if at is None or terms[i][0] == 0.0:
                    continue
                head, tail = word[:at], word[at + len(first) :]
                number = terms[i][0] / sign
                found = [i]
                for middle, factor in others:
                    want = [*head, *middle, *tail]
                    match = [
                        j
                        for j, other in enumerate(words)
                        if j not in found and other == want and terms[j][0] == number * factor
                    ]
                    found += match[:1]
                if len(found) < len(pattern):
                    continue
                factors = self.flat(terms[i][1])
                middle_ = [self.operator(n) for n in result]
                new = product([*factors[:at], *middle_, *factors[at + len(first) :]])
                for k in sorted(found, reverse=True):
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
