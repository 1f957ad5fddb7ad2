"""A normal form of operator expressions: a sum of words that no rule shortens.

Products are distributed over sums, names are written out (Phi = phi S, E_psi = E - K H, ...), and words
are rewritten by relations from which the identities of the sources follow.  With E = E_phi, they are

    phi E = E phi = phi - I          psi E = psi - I + psi K H       E psi = psi - I + K H psi
    psi K H phi = phi K H psi = phi - psi        phi G = phi K + G        psi G = G        E G = K
    H P = D G^T                      H G = I
    M = P - E P E^T + K D K^T,  or, where R occurs and P does not,  M = R - E R E^T
    with an armature J_a             H G = I - J_a D^{-1}            psi G = G + psi K J_a D^{-1}
    A B_hinge = Delta_phi,  and where Upsilon occurs  H^T D^{-1} H = Upsilon - X

(Rodriguez & Kreutz, Appendix A; Jain & Rodriguez, Eqs. (52), (65) to (68)).  Two expressions whose
difference has no words left are equal for every system.
"""

from __future__ import annotations

from collections import defaultdict

from limber.algebra.leaves import Matrix, Named, Transposed
from limber.algebra.operator import Identity, Operator, Product, Scaled, Sum, Zero

SYMMETRIC = ("D", "D^-1", "P", "M", "R", "Upsilon", "Omega", "mass", "X", "J_a")

#: names that are written out in terms of others
DEFINITIONS = {
    "Phi": "phi S",
    "Psi": "psi S",
    "E_psi": "E_phi - K H",
    "Delta_psi": "Delta_phi - L H",
    "tau": "G H",
    "tau_bar": "I - G H",
    "Omega": "psi^T H^T D^-1 H psi",
}
RELATIONS = {
    "phi E_phi": "phi - I",
    "E_phi phi": "phi - I",
    "psi E_phi": "psi - I + psi K H",
    "E_phi psi": "psi - I + K H psi",
    "psi K H phi": "phi - psi",
    "phi K H psi": "phi - psi",
    "phi G": "phi K + G",
    "psi G": "G",
    "E_phi G": "K",
    "H G": "I",
    "H P": "D G^T",
    "D^-1 D": "I",
    "D D^-1": "I",
    "D^-1/2^T D^-1/2": "D^-1",
    "S Delta_phi": "E_phi",
    "S L": "K",
    "Delta_phi G": "L",
    "A B_hinge": "Delta_phi",
}
#: the same where joints have an armature
GEARED = {"H G": "I - J_a D^-1", "psi G": "G + psi K J_a D^-1"}
#: where Upsilon occurs: X is the block diagonal of E_psi^T Upsilon E_psi (framework paper, Eq. (A.3))
UPSILON = {"H^T D^-1 H": "Upsilon - X"}
MASS = {"P": "P - E_phi P E_phi^T + K D K^T", "R": "R - E_phi R E_phi^T"}
#: expressions with more words than this are left as they are
LIMIT = 400

Letters = tuple[str, ...]
Words = dict[Letters, float]


def turn(letter: str) -> str:
    """The transposed letter."""
    if letter in SYMMETRIC:
        return letter
    return letter[:-2] if letter.endswith("^T") else f"{letter}^T"


def _turned(words: Words) -> Words:
    return {tuple(turn(x) for x in reversed(word)): number for word, number in words.items()}


def parse(text: str) -> Words:
    """A sum of words, in the notation above."""
    words: Words = defaultdict(float)
    number = 1.0
    word: list[str] = []
    for token in [*text.split(), "+"]:
        if token in "+-":
            words[tuple(x for x in word if x != "I")] += number
            number, word = (1.0 if token == "+" else -1.0), []
        else:
            word.append(token)
    return dict(words)


_DEFINED = {name: parse(text) for name, text in DEFINITIONS.items()}


def _both_ways(relations: dict[str, str]) -> list[tuple[Letters, Words]]:
    """The relations as rules, with those transposed."""
    rules = []
    for left, right in relations.items():
        word, into = tuple(left.split()), parse(right)
        rules.append((word, into))
        flipped = tuple(turn(x) for x in reversed(word))
        if flipped != word:
            rules.append((flipped, _turned(into)))
    return rules


_RULES = _both_ways(RELATIONS)
_GEARED_RULES = _both_ways(RELATIONS | GEARED)


class TooManyWords(Exception):
    """The expression has more words than `LIMIT`."""


def words(expression: Operator) -> Words:
    """The expression distributed into words of base letters."""
    if isinstance(expression, Identity):
        return {(): 1.0}
    if isinstance(expression, Zero):
        return {}
    if isinstance(expression, Scaled):
        return {w: expression.factor * n for w, n in words(expression.operator).items()}
    if isinstance(expression, Sum):
        return _added([words(term) for term in expression.terms])
    if isinstance(expression, Product):
        result: Words = {(): 1.0}
        for factor in expression.factors:
            result = _multiplied(result, words(factor))
        return result
    if isinstance(expression, Transposed):
        return _turned(words(expression.leaf))
    name = str(expression)
    if name in _DEFINED:
        return dict(_DEFINED[name])
    if isinstance(expression, Named) and name in ("mass", "J", "Lambda", "siblings"):
        return words(expression.expression)
    if isinstance(expression, Matrix) and expression.meaning is not None:
        return words(expression.meaning)
    return {(name,): 1.0}


def _added(parts: list[Words]) -> Words:
    total: Words = defaultdict(float)
    for part in parts:
        for word, number in part.items():
            total[word] += number
    return {word: number for word, number in total.items() if number != 0.0}


def _multiplied(left: Words, right: Words) -> Words:
    if len(left) * len(right) > LIMIT:
        raise TooManyWords
    product: Words = defaultdict(float)
    for a, m in left.items():
        for b, n in right.items():
            product[a + b] += m * n
    return {word: number for word, number in product.items() if number != 0.0}


def is_geared(expression: Operator) -> bool:
    """Whether an expression belongs to a system whose joints have an armature."""
    ops = expression.domain.family or expression.codomain.family
    return ops is not None and not isinstance(ops.armature, Zero)


def normal_form(expression: Operator, *, mass: bool) -> Words:
    """The normal form; with `mass`, M is written in terms of P, or of R if only R occurs."""
    current = words(expression)
    letters = {letter for word in current for letter in word}
    rules = _GEARED_RULES if is_geared(expression) else _RULES
    if "Upsilon" in letters:
        rules = [*rules, *((tuple(k.split()), parse(t)) for k, t in UPSILON.items())]
    if mass:
        by = "R" if "R" in letters and not letters & {"P", "G", "D", "D^-1", "K", "psi"} else "P"
        current = _added(
            [
                _scaled(number, _replaced(word, "M", parse(MASS[by])))
                for word, number in current.items()
            ]
        )
    return _reduced(current, rules)


def _scaled(number: float, part: Words) -> Words:
    return {word: number * n for word, n in part.items()}


def _replaced(word: Letters, letter: str, by: Words) -> Words:
    result: Words = {(): 1.0}
    for x in word:
        result = _multiplied(result, by if x == letter else {(x,): 1.0})
    return result


def _reduced(current: Words, rules: list[tuple[Letters, Words]]) -> Words:
    """Apply the relations until none fits."""
    done: Words = defaultdict(float)
    waiting = dict(current)
    while waiting:
        word, number = waiting.popitem()
        found = _first_match(word, rules)
        if found is None:
            done[word] += number
            continue
        i, pattern, into = found
        for middle, n in into.items():
            new = word[:i] + middle + word[i + len(pattern) :]
            waiting[new] = waiting.get(new, 0.0) + number * n
        if len(waiting) + len(done) > LIMIT:
            raise TooManyWords
    return {word: number for word, number in done.items() if abs(number) > 1e-12}


def _first_match(
    word: Letters, rules: list[tuple[Letters, Words]]
) -> tuple[int, Letters, Words] | None:
    for pattern, into in rules:
        for i in range(len(word) - len(pattern) + 1):
            if word[i : i + len(pattern)] == pattern:
                return i, pattern, into
    return None


def is_zero(expression: Operator) -> bool:
    """Whether the identities make the expression zero, whatever the system."""
    try:
        return not normal_form(expression, mass=False) or not normal_form(expression, mass=True)
    except TooManyWords:
        return False
