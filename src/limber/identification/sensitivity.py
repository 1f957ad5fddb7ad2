r"""Motions of a system with their derivatives with respect to unknowns: the variational equations along a simulated
motion.

Solves    udd = C(t) u + E(t) ud + B(t),    C = dvdot/dq + dvdot/dv W - Wdot,  E = dvdot/dv - W,  B = dvdot/dp
          u = dq along `lb.integrate`;  dv = ud + W u, with W = w x for speeds w that are not rates of coordinates
Given     the loads on the system, the unknown numbers of the model and the unknown directions of the initial state
Computes  q, v, vdot at the required times, and their derivatives
How       `simulate` gives the states at the Gauss points of every interval; `derivatives` gives C, E and B there, all
          at once and exact to rounding; Gauss collocation, of order six to sixteen, gives u and ud at the ends of the
          intervals, which are divided wherever the equations do not hold between these points. With friction, stops or
          strong dampers, Radau points are used, and intervals are halved as needed.  The equations of a closed system
          are those of all coordinates: accelerations satisfy the closures, so motions that start on them stay there
Cost      of an interval with s Gauss points: s + 1 evaluations of `derivatives`, and s nv linear equations
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from limber.assembly import parameters
from limber.assembly.system import System
from limber.checks import Array
from limber.control.joints import not_plain
from limber.dynamics import Derivatives, derivatives, integrate
from limber.dynamics.rows import row_space
from limber.dynamics.stiffness import turned_with
from limber.errors import DynamicsError
from limber.identification.closed_starts import Number, completed_slopes
from limber.identification.collocation import (
    LEAST,
    MANY,
    MOST_INTERVALS,
    SHORTEST,
    accelerations,
    defects,
    gauss,
    reached,
    refined,
)
from limber.joints.physics import FRICTION
from limber.simulation import Result, Table, simulate

#: The largest product z of a frequency and an interval by the number of Gauss points: the error of an oscillation over an
#: interval, (s!)^2 / ((2 s)! (2 s + 1)!) z^(2 s + 1), is then 2e-9 at most.
INTERVALS = {3: 0.3, 4: 0.7, 5: 1.3, 6: 2.0, 7: 2.6, 8: 3.8}
#: Intervals are divided if the equations are violated between the Gauss points by this fraction of the largest accelerations so
#: far; an oscillation with the products above violates them by less than half of it.
VIOLATED = 2e-4
#: More Gauss points than USUAL are taken only up to this many linear equations in an interval: their cost grows with
#: the cube.
USUAL, EQUATIONS = 5, 130
#: Derivatives of the dynamics are held at about this many points at once.
ROWS = 4000
#: Static equilibrium is found if the modes change by no more than this; Newton's method takes this many steps at most.
BALANCED, NEWTON = 1e-13, 12
#: Motions whose fastest oscillation turns by more than this in a run, rad, are rejected: they would fill the memory.
MOST = 5e4
#: Times closer than this fraction of the run are one.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Run:
    """The loads on a system in one experiment, and its initial state.

    t : (n,) the times at which the motion is needed.
    t0 : the initial time.
    q0, v0 : the initial state; with `settled`, the modes are in static equilibrium there, with the joints as in q0.
    starts : (2 nv, k) the directions [dq, dv] of the initial state along which derivatives are needed.
    torque, external, motion : in the form that `simulate` accepts; none depends on the state.
    given : in a closed system, the places in v of the coordinates that determine the others; otherwise None.
    """

    t: Array
    t0: float
    q0: Array
    v0: Array
    settled: bool
    starts: Array
    torque: Any = None
    external: Mapping[tuple, Any] | None = None
    motion: Mapping[str, Any] | None = None
    rtol: float = 1e-8
    atol: float = 1e-10
    given: np.ndarray | None = None

    def loads(self) -> dict[tuple, Any] | None:
        """The external wrenches at the start."""
        given = (self.external or {}).items()
        found = {key: x(self.t0) if isinstance(x, Table) else x for key, x in given}
        return found or None

    def corners(self) -> Array:
        """The times at which the loads jump or have a kink."""
        return self._times(Table.corners)

    def knots(self) -> Array:
        """The times at which some derivative of the loads jumps: corners, and the rows of tables."""
        return self._times(lambda table: table.t)

    def _times(self, of_table: Callable[[Table], Array]) -> Array:
        """Times within the run from tables and from the breaks of prescribed motions."""
        given = [self.torque, *(self.external or {}).values(), *(self.motion or {}).values()]
        found = [of_table(x) if isinstance(x, Table) else getattr(x, "breaks", ()) for x in given]
        times = np.concatenate([np.zeros(0), *(np.asarray(x, dtype=float) for x in found)])
        return np.unique(times[(times > self.t0) & (times < self.t[-1])])


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion (n, ...) and its derivatives (n, nv, d) with respect to d unknowns, first numbers of the model and then
    the initial state.

    q : its derivatives dq are in the tangent space, which has the layout of v.
    numbers : the numbers of the model that are the first of the d unknowns.
    """

    system: System
    t: Array
    q: Array
    v: Array
    vdot: Array
    external: Mapping[tuple, Array]
    numbers: Sequence[Number]
    dq: Array
    dv: Array
    dvdot: Array


def simulated(system: System, run: Run, times: Array) -> Result:
    """The motion itself at times, of which the last is the end; a settled run must have been `balanced`."""
    return simulate(
        system, float(times[-1]), t0=run.t0, t_eval=times, q0=run.q0, v0=run.v0, torque=run.torque, external=run.external,
        motion=run.motion, rtol=run.rtol, atol=run.atol, progress=False,
    )  # fmt: skip


def balanced(system: System, run: Run) -> Run:
    """The run with its modes in static equilibrium at the start, if it is settled."""
    return replace(run, q0=in_balance(system, run.q0, run.loads())) if run.settled else run


def in_balance(system: System, q: Array, loads: dict[tuple, Any] | None = None) -> Array:
    """q with its modes in static equilibrium and its joints unchanged, by Newton's method from the modes of q."""
    modes = modes_of(system)
    if not len(modes):
        return q
    rest = np.zeros(system.nv)
    for _ in range(NEWTON):
        by = derivatives(system, q, rest, rest, "inverse_dynamics", external=loads, by="q")
        step = np.zeros(system.nv)
        step[modes] = -np.linalg.solve(by.q[np.ix_(modes, modes)], by.value[modes])
        q = integrate(system, q, step, 1.0)
        if np.abs(step).max() <= BALANCED * max(1.0, float(np.abs(q).max())):
            return q
    raise DynamicsError(
        f"no static equilibrium of the modes of {system.name!r} was found with its joints held. Leave out settled, or "
        "give a q that is nearer to the equilibrium (lb.equilibrium)."
    )


def modes_of(system: System) -> np.ndarray:
    """The places of the modes in v."""
    parts = [np.arange(w.v_modes.start, w.v_modes.stop) for w in system.layout.values()]
    return np.concatenate([np.zeros(0, dtype=int), *parts])


def moving(system: System, run: Run, numbers: Sequence[Number]) -> Motion:
    """The motion at the times of a run with its derivatives."""
    run = balanced(system, run)
    nv = system.nv
    ends, stages = _intervals(system, run)
    X = _start(system, run, numbers)
    X[nv:] -= _turned(system, run.v0[None])[0] @ X[:nv]
    if _abrupt(system, run, float(np.diff(ends).max()), stages):
        U = refined(
            ends, max(stages, USUAL), lambda times: _slopes_at(system, run, numbers, times), X
        )
    else:
        U = _followed(system, run, numbers, ends, stages, X)
    wanted = np.searchsorted(ends, run.t - SAME * (ends[-1] - ends[0]))
    rows = simulated(system, run, ends[wanted])
    dq, ud = U[wanted, :nv], U[wanted, nv:]
    dv = ud + _turned(system, rows.v) @ dq
    by_q, by_v, B, vdot = _accelerations(rows, numbers)
    dvdot = by_q @ dq + by_v @ dv
    dvdot[..., : len(numbers)] += B
    return Motion(system, run.t, rows.q, rows.v, vdot, rows.external, numbers, dq, dv, dvdot)


def _followed(
    system: System, run: Run, numbers: Sequence[Number], ends: Array, stages: int, X: Array
) -> Array:
    """[u, ud] (m, 2 nv, d) at the ends of intervals, from those at the first, along a smooth motion.

    The intervals follow the frequencies at the start.  Wherever these have risen, or the loads change faster, the equations
    are violated between the Gauss points, and the intervals there are divided.
    """
    grid = ends
    while True:
        U, wrong = _tested(system, run, numbers, grid, stages, X)
        parts = np.where(np.diff(grid) > SHORTEST * (grid[-1] - grid[0]), _parts(wrong, stages), 1)
        if (parts == 1).all():
            return U[np.searchsorted(grid, ends)]
        grid = _divided(grid, parts, run.knots())
        if len(grid) > len(ends) + MOST_INTERVALS:
            raise DynamicsError(
                f"the derivatives of the motion with respect to the unknowns change so fast that {MOST_INTERVALS} time "
                "intervals cannot follow them. Use a shorter part of the readings."
            )


def _tested(
    system: System, run: Run, numbers: Sequence[Number], ends: Array, stages: int, X: Array
) -> tuple[Array, Array]:
    """[u, ud] (m, 2 nv, d) at the ends of intervals, and the error (m - 1,) of the equations between the points of each, as a
    fraction of the largest accelerations so far.
    """
    points, nv = gauss(stages), system.nv
    inside = (ends[:-1, None] + np.diff(ends)[:, None] * [*points.c, points.tested]).ravel()
    result = simulated(system, run, np.append(inside, ends[-1]))
    U = np.zeros((len(ends), 2, nv, X.shape[1]))
    U[0] = X.reshape(U.shape[1:])
    wrong, largest = np.zeros(len(ends) - 1), np.zeros(U.shape[2:])
    units = np.ones(X.shape[1])
    for j, (name, _) in enumerate(numbers):
        units[j] = np.abs(parameters.find(system, name).value).max(initial=0.0) or 1.0
    dq, dv = _inexact(run, result)
    each = stages + 1
    count = max(1, ROWS // each)
    for k in range(0, len(ends) - 1, count):
        lengths = np.diff(ends[k : k + count + 1])
        rows = result.rows(np.arange(k * each, (k + len(lengths)) * each))
        C, E, B = _second_order(rows, numbers, each)
        own = _reached(C, E, B, *U[k])
        if not len(own):
            continue
        C, E, B = C[..., own[:, None], own], E[..., own[:, None], own], B[..., own, :]
        a = np.empty((len(lengths), stages, len(own), X.shape[1]))
        for i, h in enumerate(lengths):
            start = U[k + i][:, own]
            a[i] = accelerations(points, h, C[i, :-1], E[i, :-1], B[i, :-1], *start)
            U[k + i + 1][:, own] = reached(points, h, a[i], *start)
        starts = U[k : k + len(lengths), :, own]
        off, terms = defects(points, lengths, a, C[:, -1], E[:, -1], B[:, -1], starts[:, 0], starts[:, 1])  # fmt: skip
        sizes = np.abs(a).max(axis=1)
        sizes[0] = np.maximum(sizes[0], largest[own])
        sizes = np.maximum.accumulate(sizes)
        largest[own] = sizes[-1]
        sizes = np.maximum(sizes, LEAST * np.maximum(terms, sizes.max(axis=1, keepdims=True)))
        at = np.arange(k, k + len(lengths)) * each + stages
        noise = np.abs(C[:, -1]) @ dq[at][:, own, None] + np.abs(E[:, -1]) @ dv[at][:, own, None]
        sizes = np.maximum(sizes, noise / (VIOLATED * units))
        wrong[k : k + len(lengths)] = (off / np.where(sizes > 0.0, sizes, 1.0)).max(axis=(1, 2), initial=0.0)  # fmt: skip
    return U.reshape(len(ends), -1, X.shape[1]), wrong


def _inexact(run: Run, result: Result) -> tuple[Array, Array]:
    """The errors (n, nv) that the tolerances of a simulation allow for its coordinates, in the layout of v, and speeds up
    to each of its rows.
    """
    coordinates = np.zeros_like(result.v)
    for where in result.system.layout.values():
        for q, v in ((where.q_modes, where.v_modes), (where.q_joint, where.v_joint)):
            sizes = np.abs(result.q[:, q])
            same = q.stop - q.start == v.stop - v.start
            coordinates[:, v] = sizes if same else sizes.max(axis=1, keepdims=True, initial=0.0)
    largest = np.maximum.accumulate([coordinates, np.abs(result.v)], axis=1)
    dq, dv = run.rtol * largest + run.atol
    return dq, dv


def _parts(wrong: Array, stages: int) -> np.ndarray:
    """Into how many parts intervals are divided, given the errors of the equations in them."""
    wrong = np.where(np.isfinite(wrong), wrong, np.inf)
    with np.errstate(divide="ignore"):
        return np.clip(np.ceil((wrong / VIOLATED) ** (1.0 / stages)), 1, MANY).astype(int)


def _divided(ends: Array, parts: np.ndarray, knots: Array) -> Array:
    """The ends of intervals that are divided: at the knots within them, or else into equal parts."""
    found = []
    for start, end, n in zip(ends, ends[1:], parts):
        margin = SAME * (ends[-1] - ends[0])
        inner = knots[(knots > start + margin) & (knots < end - margin)] if n > 1 else ()
        found.append(np.append(start, inner) if len(inner) else np.linspace(start, end, n, endpoint=False))  # fmt: skip
    return np.concatenate([*found, ends[-1:]])


def _slopes_at(
    system: System, run: Run, numbers: Sequence[Number], times: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """C, E and B at times (m, s), computed in portions of the m; the motion does not depend on the times requested."""
    stages = times.shape[1]
    every, place = np.unique(np.append(times, run.t[-1]), return_inverse=True)
    result, count = simulated(system, run, every), max(1, ROWS // stages) * stages
    for k in range(0, times.size, count):
        yield _second_order(result.rows(place[:-1][k : k + count]), numbers, stages)


def _abrupt(system: System, run: Run, longest: float, stages: int) -> bool:
    """Whether derivatives may change within much less than an interval, due to friction, stops or strong dampers."""
    joints = [joint.physics for joint in system.joints.values()]
    if any(x.options & FRICTION or x.stop_stiffness.any() for x in joints):
        return True
    return bool(np.abs(_rates(system, run).real).max(initial=0.0) * longest > INTERVALS[stages])


def _intervals(system: System, run: Run) -> tuple[Array, int]:
    """The ends of the intervals, and the Gauss points of each, chosen so that the total is smallest.

    Ends are the times of the run, the corners of the loads, and more as the frequencies require. All rows of tables are
    ends, unless they outnumber the intervals without them, as with torques recorded at a high rate.
    """
    fastest = _fastest(system, run)
    ends, stages = _parted(system, _marks(run, run.corners()), fastest)
    knots = run.knots()
    if len(knots) <= len(ends):
        return _parted(system, _marks(run, knots), fastest)
    return ends, stages


def _marks(run: Run, inner: Array) -> Array:
    """The initial time and the times of a run, and inner times; nearly coincident ones are merged, and times of the run
    stay.
    """
    marks = np.unique(np.concatenate([[run.t0], run.t, inner]))
    near = np.flatnonzero(np.diff(marks) <= SAME * (marks[-1] - run.t0))
    return np.delete(marks, [k if marks[k] not in run.t else k + 1 for k in near])


def _parted(system: System, marks: Array, fastest: float) -> tuple[Array, int]:
    """The ends of intervals short enough for the highest frequency, and the Gauss points of each."""
    turned = fastest * np.diff(marks)
    parts = {s: np.maximum(1, np.ceil(turned / z)).astype(int) for s, z in INTERVALS.items()}
    small = [s for s in parts if s <= USUAL or s * system.nv <= EQUATIONS]
    stages = min(small, key=lambda s: s * int(parts[s].sum()))
    pieces = [
        np.linspace(a, b, n, endpoint=False) for a, b, n in zip(marks, marks[1:], parts[stages])
    ]
    return np.concatenate([*pieces, marks[-1:]]), stages


def refuse_too_fast(system: System, run: Run) -> None:
    """Raise an error if a run has more oscillations than its derivatives can be computed for."""
    fastest, lasts = _fastest(system, run), float(run.t[-1]) - run.t0
    if not fastest * lasts <= MOST:
        raise DynamicsError(
            f"{system.name!r} oscillates at up to {fastest:.3g} rad/s, which is too fast for derivatives over {lasts:.3g} "
            "s. Give stiffnesses a start and bounds that are closer to the true values, leave out the fastest modes, or "
            "use a shorter part of the readings."
        )


def _fastest(system: System, run: Run) -> float:
    """The highest frequency of small motions about the initial state, with driven joints held."""
    return float(np.abs(_rates(system, run).imag).max(initial=0.0))


def _rates(system: System, run: Run) -> np.ndarray:
    """The eigenvalues of small motions about the initial state, with driven joints held."""
    rest = np.zeros(system.nv)
    by = derivatives(system, run.q0, run.v0, rest, "inverse_dynamics")
    free = _free(system, run.motion or ())
    M, K, D = (x[np.ix_(free, free)] for x in (by.vdot, by.q, by.v))
    if system.closures:
        N = row_space(system, run.q0, np.flatnonzero(free)).basis
        M, K, D = (N.T @ x @ N for x in (M, K, D))
    n = len(M)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:] = -np.linalg.solve(M, np.hstack([K, D]))
    return np.linalg.eigvals(A)


def _free(system: System, driven: Iterable[str]) -> np.ndarray:
    """Which speeds are not prescribed."""
    free = np.ones(system.nv, dtype=bool)
    for name in driven:
        free[system.layout[system.body_of(name)].v_joint] = False
    return free


def _turned(system: System, v: Array) -> Array:
    """W (n, nv, nv) at n speeds; linear in v."""
    if not not_plain(system):
        return np.zeros((len(v), system.nv, system.nv))
    return np.stack([turned_with(system, speeds) for speeds in v])


def _accelerations(result: Result, numbers: Sequence[Number]) -> tuple[Array, Array, Array, Array]:
    """The derivatives of vdot with respect to q and v (n, nv, nv) and to numbers (n, nv, len(numbers)), and vdot, at
    the rows of a result.
    """
    s, nv = result.system, result.system.nv
    names = tuple(dict.fromkeys(name for name, _ in numbers))
    external: Any = dict(result.external) or None
    by_tau = ("tau",) if s.closures and result.driven else ()

    def by_numbers(by: Derivatives) -> Array:
        found = np.zeros((len(result), nv, len(numbers)))
        for j, (name, place) in enumerate(numbers):
            found[..., j] = by.parameters[name][(slice(None), slice(None), *place)]
        return found

    if s.closures or not result.driven:
        by = derivatives(
            s, result.q, result.v, result.tau, external=external, by=("q", "v", *by_tau, *names)
        )
        found = by.q, by.v, by_numbers(by)
        if result.driven:
            # the torques of the driven joints d change so that these accelerate as prescribed
            held = ~_free(s, result.driven)
            slopes = np.concatenate(found, axis=-1)
            torques = np.linalg.solve(by.tau[:, held][:, :, held], slopes[:, held])
            slopes -= by.tau[..., held] @ torques
            slopes[:, held] = 0.0
            found = slopes[..., :nv], slopes[..., nv : 2 * nv], slopes[..., 2 * nv :]
        return *found, by.value
    # driven joints d stay as prescribed, of the free ones f: M_ff dvdot_f = -(slopes of inverse dynamics)_f
    vdot = result.vdot
    by = derivatives(
        s, result.q, result.v, vdot, "inverse_dynamics", external=external, by=("q", "v", "vdot", *names)
    )  # fmt: skip
    free = _free(s, result.driven)
    slopes = np.concatenate([by.q, by.v, by_numbers(by)], axis=-1)
    rates = np.zeros_like(slopes)
    rates[:, free] = -np.linalg.solve(by.vdot[:, free][:, :, free], slopes[:, free])
    return rates[..., :nv], rates[..., nv : 2 * nv], rates[..., 2 * nv :], vdot


def _second_order(
    result: Result, numbers: Sequence[Number], stages: int
) -> tuple[Array, Array, Array]:
    """C, E (m, stages, nv, nv) and B (m, stages, nv, len(numbers)) at the Gauss points of m intervals, the rows of a result."""
    C, E, B, vdot = _accelerations(result, numbers)
    s = result.system
    if not_plain(s):
        W = _turned(s, result.v)
        C, E = C + E @ W - _turned(s, vdot), E - W
    C, E, B = (x.reshape(-1, stages, *x.shape[1:]) for x in (C, E, B))
    return C, E, B


def _reached(C: Array, E: Array, B: Array, u: Array, ud: Array) -> np.ndarray:
    """The degrees of freedom that move; the others start from zero and nothing drives them, such as modes perpendicular
    to a planar motion.
    """
    moves = (u != 0.0).any(axis=1) | (ud != 0.0).any(axis=1) | (B != 0.0).any(axis=(0, 1, 3))
    coupled = (C != 0.0).any(axis=(0, 1)) | (E != 0.0).any(axis=(0, 1))
    while True:
        more = moves | coupled[:, moves].any(axis=1)
        if (more == moves).all():
            return np.flatnonzero(moves)
        moves = more


def _start(system: System, run: Run, numbers: Sequence[Number]) -> Array:
    """X at the start: the unit directions of its unknowns; modes in static equilibrium follow the joints and
    numbers."""
    nv, count = system.nv, len(numbers)
    X = np.zeros((2 * nv, count + run.starts.shape[1]))
    X[:, count:] = run.starts
    if run.given is not None:
        return completed_slopes(system, run.q0, run.v0, run.given, numbers, X)
    modes = modes_of(system)
    if not run.settled or not len(modes):
        return X
    names = tuple(dict.fromkeys(name for name, _ in numbers))
    rest = np.zeros(nv)
    by = derivatives(
        system, run.q0, rest, rest, "inverse_dynamics", external=run.loads(), by=("q", *names)
    )
    forces = by.q @ X[:nv]
    for j, (name, place) in enumerate(numbers):
        forces[:, j] += by.parameters[name][(slice(None), *place)]
    X[modes] -= np.linalg.solve(by.q[np.ix_(modes, modes)], forces[modes])
    return X
