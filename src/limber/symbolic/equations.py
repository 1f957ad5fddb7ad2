"""`lb.symbolic.equations`: Poincare's equations of an assembly as SymPy objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import sympy as sp

from limber.assembly import Assembly
from limber.checks import listed, number, shown, whole
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError
from limber.symbolic.closures import refuse_changing
from limber.symbolic.configurations import Configurations
from limber.symbolic.derivation import Derivation
from limber.symbolic.exact import expression, matrix
from limber.symbolic.functions import Functions
from limber.symbolic.model import Model
from limber.symbolic.names import Naming, symbol_named
from limber.symbolic.poincare import Poincare
from limber.symbolic.printing import in_latex, in_text
from limber.symbolic.reduced import Reduced, chosen_speeds


def equations(
    assembly: Assembly,
    *,
    q: Any = None,
    p: Any = None,
    named: bool | Iterable[str] = (),
    order: int | None = None,
    floats: bool | None = None,
) -> Equations:
    """Derive the equations of motion of an assembly in closed form: M pdot + C p + G + R = Q_p, qdot = V p.

    For a closed assembly they have multipliers: M pdot + C p + G + R = Q_p + A^T lambda, A pdot + a0 = 0, where A p is
    the rate of the position constraints `residual`; `Equations.reduced` has none.

    Parameters
    ----------
    assembly : chains and trees of rigid and flexible bodies, with numbers or SymPy expressions for masses, lengths,
        joint maps, joint physics, gravity.  Spherical and free joints have Euler angles here (3-2-1, the first the
        outermost); their speeds are those of the numeric joints.
    q, p : names of the coordinates and speeds, strings or symbols: one list for all of them, or a dict
        {body: list}, with the modes of each body first.  By default `Naming` makes them, and a symbolic joint has
        its own coordinate names.
    named : bodies whose numbers (mass properties, modal integrals, stiffness, node shapes) get names, or True
        for all; `values` of the result has the numbers.
    order : None keeps everything.  n >= 1 keeps the kinetic and potential energy to degree n + 1 in the modal
        coordinates and rates together, so the equations are consistent to degree n in them.
    floats : True prints coefficients as floats, False as rationals, None only long ones as floats.

    Flexible bodies have full fidelity; the ruthless model has no Lagrangian and so no such form.
    The mass matrix, the potential and all configurations come from the kernels of the numeric engine, run on
    polynomials; C and G follow from them by Kwatny & Blankenship, Eq. (53), as corrected in `limber.symbolic.poincare`.
    The physics of joints is included: armature in M, dampers in C, springs in G and the potential, friction
    and stops in R.
    """
    if not isinstance(assembly, Assembly):
        raise ArgumentTypeError(
            f"assembly must be an Assembly, not built, got {shown(assembly)}. Equations are derived from the description."
        )
    refuse_changing(assembly)
    if not assembly.attachments:
        raise ModelError(f"assembly {assembly.name!r} is empty: attach at least one body.")
    if not any(i.joint.dofs + i.body.modes for i in assembly.attachments.values()):
        raise ModelError(
            f"assembly {assembly.name!r} has no degrees of freedom: every joint is fixed and every body is rigid."
        )
    if order is not None:
        hint = "The lowest consistent equations are linear in the modal coordinates."
        order = whole("order", order, 1, optional=True, hint=hint)
    if not isinstance(floats, bool | None):
        raise ArgumentTypeError(f"floats must be True, False or None, got {shown(floats)}.")
    naming = Naming(assembly, q, p)
    model = Model(assembly, naming, _chosen(assembly, named), order)
    return Equations(Derivation(assembly, naming, Poincare(model, order), floats))


def _chosen(assembly: Assembly, named: bool | Iterable[str]) -> set[str]:
    """The bodies whose numbers get names."""
    bodies = list(assembly.attachments)
    if isinstance(named, bool):
        return set(bodies if named else ())
    try:
        chosen = [named] if isinstance(named, str) else list(named)
    except TypeError:
        raise ArgumentTypeError(
            f"named must be True, False or names of bodies, got {shown(named)}."
        ) from None
    for body in chosen:
        if body not in bodies:
            raise ArgumentValueError(
                f"named has {shown(body)}, which is not a body of the assembly; it has: {listed(bodies)}."
            )
    return set(chosen)


class Equations:
    """M(q) pdot + C(q, p) p + G(q) + R(q, p) = Q_p with qdot = V(q) p, with every part as a SymPy object.

    Closures add A^T lambda to the right-hand side and A pdot + a0 = 0 to the equations; see `A`.

    Parts are derived when first used.  `C` is the Levi-Civita (Christoffel) form: dM/dt - 2 C is antisymmetric except
    for the damping of flexible bodies and joints, which C contains.  `G` has gravity and the elastic forces.  `R` has
    the friction and the stops of joints and is zero without them.  `lagrange` is true if V = I: then these are
    Lagrange's equations.
    """

    def __init__(
        self,
        source: Derivation,
        change: Callable[[Any], Any] = lambda x: x,
        known: frozenset[sp.Symbol] | None = None,
    ):
        self._source, self._change = source, change
        self._known: frozenset[sp.Symbol] = source.known if known is None else known
        self.name: str = source.name
        self.q: sp.Matrix = source.q
        self.p: sp.Matrix = source.p
        self.values: dict[sp.Symbol, float] = dict(source.values)

    @cached_property
    def M(self) -> sp.Matrix:
        """Mass matrix, n x n (Kwatny & Blankenship, Eq. (52b))."""
        return self._change(self._source.part("M"))

    @cached_property
    def C(self) -> sp.Matrix:
        """Coriolis matrix C(q, p), n x n, in Levi-Civita form, with the damping of modes and joints."""
        return self._change(self._source.part("C"))

    @cached_property
    def F(self) -> sp.Matrix:
        """C p, n x 1."""
        return self._change(self._source.part("F"))

    @cached_property
    def G(self) -> sp.Matrix:
        """Gravity and elastic forces V^T d(potential)/dq, n x 1 (Eq. (53c), with V^T)."""
        return self._change(self._source.part("G"))

    @cached_property
    def R(self) -> sp.Matrix:
        """Resistance of the joints, n x 1: friction, and the forces of stops with their damping."""
        return self._change(self._source.part("R"))

    @cached_property
    def potential(self) -> sp.Expr:
        """Potential energy of gravity, of the modes and of the springs of joints.

        Stops are entirely in R and not included here; `lb.potential_energy` includes their energy.
        """
        return self._change(self._source.part("potential"))

    @cached_property
    def A(self) -> sp.Matrix:
        """The closure rows, m x n: the closures allow speeds with A p = 0; empty (0 x n) without closures.

        They are the derivatives of the `residual`, closure by closure in the order of the assembly, without rows that
        nothing moves; `row_names` has the closure of each row.
        """
        return self._change(self._source.part("A"))

    @cached_property
    def a0(self) -> sp.Matrix:
        """The accelerations of the closure rows at zero pdot, m x 1: A pdot + a0 = 0."""
        return self._change(self._source.part("a0"))

    @cached_property
    def residual(self) -> sp.Matrix:
        """The position constraints, m x 1, which are zero if the closures are satisfied; A p is their rate.

        Displacements are from end a to end b in world axes if the cut joint allows no displacement.  Otherwise they,
        and all rotations, are along the rows of `lb.constraint_residual`.
        """
        return self._change(self._source.part("residual"))

    @property
    def row_names(self) -> list[str]:
        """The closure of each row of A."""
        return list(self.poincare.rows.names)

    @property
    def multipliers(self) -> sp.Matrix:
        """The Lagrange multipliers lambda, m x 1: the closure forces on the ends b, along the rows.

        The multiplier of a relation acts on its terms.  The force of a joint that allows no displacement has world
        axes.
        """
        names = self.row_names
        count: dict[str, int] = {}
        found = []
        for name in names:
            count[name] = count.get(name, 0) + 1
            number = count[name] if names.count(name) > 1 else ""
            found.append(sp.Symbol(f"lambda{number}_{name}"))
        return sp.Matrix(len(found), 1, found)

    def reduced(self, independent: Any) -> Reduced:
        """Return the equations in independent speeds u, without multipliers; p = N u.

        independent : names or symbols of as many speeds as there are degrees of freedom; the closures determine the
            others from them.  The closure rows must be independent.
        """
        return Reduced(self, chosen_speeds(self, independent), self._change)

    @cached_property
    def V(self) -> sp.Matrix:
        """Kinematic matrix, n x n: qdot = V p (Eq. (39))."""
        return self._change(self._source.kinematic())

    @cached_property
    def X(self) -> Configurations:
        """Joint configuration matrices, 4 x 4, inboard from outboard; by body name or number."""
        return Configurations({name: self._change(x) for name, x in self._source.joints().items()})

    @property
    def lagrange(self) -> bool:
        """Whether V = I, so that these are Lagrange's equations."""
        return bool((self.V - sp.eye(len(self.q))).is_zero_matrix)

    @property
    def integrable(self) -> bool:
        """Whether the map of every simple joint is closed under the Lie bracket.

        If not, no mechanism has these coordinates and speeds; the equations are then only the formulas of the paper.
        """
        return self.poincare.model.integrable

    @property
    def parameters(self) -> list[sp.Symbol]:
        """The symbols other than q and p, by name."""
        found = {s for x in self._source.parameters for s in self._change(x).free_symbols}
        return sorted(found - set(self.q) - set(self.p), key=str)

    @property
    def shared(self) -> list[sp.Expr]:
        """The expressions in which M, C, G and the potential are polynomials, generator by generator."""
        model = self.poincare.model
        frames = {i: x.expand() for i, x in model.frames.items()}
        expressions = enumerate(model.ring.expressions)
        return [self._change(frames.get(i, x)) for i, x in expressions]

    @property
    def floats(self) -> bool | None:
        """How coefficients are printed; see `equations`."""
        return self._source.floats

    @property
    def poincare(self) -> Poincare:
        """The derivation behind these equations, in polynomials."""
        return self._source.poincare

    @property
    def framed(self) -> Poincare:
        """The derivation with the frames of the joints as generators, which is smaller, for numeric evaluation."""
        return self._source.framed

    def Q(self, forces: Any) -> sp.Matrix:
        """Return Q_p = V^T Q for generalized forces Q along the coordinates q (Eq. (53c), with V^T)."""
        expected = f"forces must be {len(self.q)} numbers or expressions, one per coordinate"
        try:
            given = matrix(forces)
        except (TypeError, ValueError) as error:
            kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentValueError
            raise kind(f"{expected}, real and finite, got {shown(forces)}.") from error
        if given.shape != self.q.shape:
            raise ArgumentValueError(f"{expected}, got shape {given.shape}.")
        return self.V.T * given

    def pose(self, body: str, node: str | int | None = None) -> sp.Matrix:
        """Return the 4 x 4 configuration [R, p; 0, 1] of a body frame or node in the world."""
        return self._change(self._source.pose(body, node))

    def subs(self, *args) -> Equations:
        """Return the equations with values substituted.

        The values are given as {symbol: value}, as a list of (symbol, value), or as symbol and value.  A symbol may be
        given by its name; other keys are SymPy expressions, as for SymPy's `subs`.  Values are numbers or expressions.
        The symbols of a dict are substituted at once, the pairs of a list one after the other.
        """
        at_once = len(args) == 1 and isinstance(args[0], Mapping)
        known, pairs = self._known, []
        for given, value in _replacements(args):
            here = self._known if at_once else known
            key = symbol_named("subs", given, here) if isinstance(given, str) else given
            for symbol in key.free_symbols:
                symbol_named("subs", symbol, here)
            known = (known - {key}) | value.free_symbols
            pairs.append((key, value))
        if at_once and all(isinstance(key, sp.Symbol) for key, _ in pairs):  # much faster
            values = dict(pairs)
            known = known.union(*(value.free_symbols for value in values.values()))
            return Equations(self._source, lambda x: self._change(x).xreplace(values), known)
        return Equations(self._source, lambda x: self._change(x).subs(pairs), known)

    def lambdify(self, values: Mapping | None = None) -> Functions:
        """Return NumPy functions of q and p.

        `values` maps every parameter that `self.values` lacks, by symbol or name, to a number.
        """
        return Functions(self, self.values | self._numbers({} if values is None else values))

    def _numbers(self, values: Any) -> dict[sp.Symbol, float]:
        """Numbers by symbol, of a mapping from symbols or names."""
        expected = "values must map symbols or their names to numbers, as in {m: 1.0}"
        try:
            given = dict(values)
        except (TypeError, ValueError):
            raise ArgumentTypeError(f"{expected}; got {shown(values)}.") from None
        found = {}
        for key, value in given.items():
            if not isinstance(key, (str, sp.Symbol)):
                raise ArgumentTypeError(f"{expected}; it has the key {shown(key)}.")
            symbol = symbol_named("values", key, self._known)
            found[symbol] = number(f"values[{symbol}]", value)
        return found

    def latex(self, **settings) -> str:
        """Return the equations in LaTeX; `settings` are passed to SymPy's `latex`."""
        return in_latex(self, settings)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __str__(self):
        return in_text(self)

    def __repr__(self):
        return f"Equations({self.name!r}, q={list(self.q)}, p={list(self.p)})"


def _replacements(args: tuple) -> list[tuple[Any, sp.Expr]]:
    """Keys, which are names or expressions, and values of the arguments of `subs`."""
    try:
        (given,) = args if len(args) != 2 else ([args],)
        pairs = list(given.items() if isinstance(given, Mapping) else given)
        found = [(k if isinstance(k, str) else expression(k), expression(v)) for k, v in pairs]
        if all(isinstance(key, str) or key.free_symbols for key, _ in found):
            return found
    except (TypeError, ValueError):
        pass
    raise ArgumentValueError(
        f"subs({', '.join(map(shown, args))}): give {{symbol: value}}, a list of (symbol, value), or symbol and value. "
        "Symbols may be given by name; values are finite real numbers or SymPy expressions, no strings."
    )
