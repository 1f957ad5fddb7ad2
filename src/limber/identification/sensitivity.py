r"""Motions of a system with their slopes by unknown numbers: the variational equations along a simulated motion.

Solves    xdot = f(x; p),    Xdot = A(t) X + B(t),    A = df/dx, B = df/dp,    X = dx/d(p, x0)
          with x = [dq, dv] along `lb.integrate`; dq' = dv - (w x) dq for speeds that are not rates of coordinates
Given     what acts on the system, the numbers of the model and the directions of the initial state that are unknown
Computes  q, v, vdot at the wanted times, and their slopes
How       `simulate` gives x at the Gauss points of every interval; `derivatives` gives A and B there, all at once and exact to
          rounding; Gauss collocation, of order six to twelve, gives X at the ends of the intervals
Cost      of an interval with s Gauss points: s evaluations of `derivatives`, and 2 s nv linear equations
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import derivatives, integrate
from limber.dynamics.stiffness import turned_with
from limber.errors import DynamicsError
from limber.simulation import Result, Table, simulate

#: A number of the model: the name of the parameter, and the place in its array.
Number = tuple[str, tuple[int, ...]]

#: The largest product z of a frequency and an interval by the number of Gauss points: the error of an oscillation over an
#: interval, (s!)^2 / ((2 s)! (2 s + 1)!) z^(2 s + 1), is then 2e-9.
INTERVALS = {3: 0.3, 4: 0.7, 5: 1.3, 6: 2.0}
#: At most so many numbers are held in the matrices of the linear equations.
HELD = 2e6
#: Static balance is found if the modes change by no more than this; Newton's method takes so many steps at most.
BALANCED, NEWTON = 1e-13, 12
#: Motions whose fastest oscillation turns by more than this in a run, rad, are refused: they would fill the memory.
MOST = 5e4
#: Times closer than this part of the run are one.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Run:
    """What acts on a system in one experiment, and how it starts.

    t : (n,) the times at which the motion is wanted.
    t0 : the time of the start.
    q0, v0 : the start; with `settled`, the modes are in static balance there, with the joints as they are in q0.
    starts : (2 nv, k) the directions [dq, dv] of the start along which slopes are wanted.
    torque, external, motion : as `simulate` takes them; none depends on the state.
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

    def loads(self) -> dict[tuple, Any] | None:
        """The external wrenches at the start."""
        given = (self.external or {}).items()
        found = {key: x(self.t0) if isinstance(x, Table) else x for key, x in given}
        return found or None

    def corners(self) -> Array:
        """The times at which what acts on the system jumps or bends."""
        given = [self.torque, *(self.external or {}).values(), *(self.motion or {}).values()]
        found = [x.corners() if isinstance(x, Table) else getattr(x, "breaks", ()) for x in given]
        return np.concatenate([np.zeros(0), *(np.asarray(x, dtype=float) for x in found)])


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion (n, ...) and its slopes (n, nv, d) by d unknowns, first numbers of the model and then the start.

    q : its slopes dq are in the tangent space, the layout of v.
    numbers : the numbers of the model that belong to the first of the d unknowns.
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
    """The motion itself at times, of which the last is the end; a run that is settled must have been `balanced`."""
    return simulate(
        system, float(times[-1]), t0=run.t0, t_eval=times, q0=run.q0, v0=run.v0, torque=run.torque, external=run.external,
        motion=run.motion, rtol=run.rtol, atol=run.atol, progress=False,
    )  # fmt: skip


def balanced(system: System, run: Run) -> Run:
    """The run with its modes in static balance at the start, if it is settled."""
    return replace(run, q0=in_balance(system, run.q0, run.loads())) if run.settled else run


def in_balance(system: System, q: Array, loads: dict[tuple, Any] | None = None) -> Array:
    """q with its modes in static balance and its joints as they are: Newton's method, from the modes of q."""
    modes = _modes(system)
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
        f"the modes of {system.name!r} find no static balance with its joints held. Leave out settled, or give a q that is "
        "nearer to the balance (lb.equilibrium)."
    )


def _modes(system: System) -> np.ndarray:
    """The places of the modes in v."""
    parts = [np.arange(w.v_modes.start, w.v_modes.stop) for w in system.layout.values()]
    return np.concatenate([np.zeros(0, dtype=int), *parts])


def moving(system: System, run: Run, numbers: Sequence[Number]) -> Motion:
    """The motion at the times of a run with its slopes."""
    run = balanced(system, run)
    ends, stages = _intervals(system, run)
    h = np.diff(ends)
    inside = ends[:-1, None] + h[:, None] * _gauss(stages)[0]
    times = np.unique(np.concatenate([ends, inside.ravel()]))
    result = simulated(system, run, times)
    at_stages = np.searchsorted(times, inside.ravel())
    A, B, _ = _equations(result.rows(at_stages), numbers)
    n = A.shape[-1]
    A, B = A.reshape(-1, stages, n, n), B.reshape(-1, stages, n, len(numbers))
    count = max(1, int(HELD / (stages * n) ** 2))
    parts = [slice(k, k + count) for k in range(0, len(h), count)]
    Phi, G = map(np.concatenate, zip(*(_collocated(h[k], A[k], B[k]) for k in parts)))
    X = _start(system, run, numbers)
    wanted = np.searchsorted(ends, run.t - SAME * (ends[-1] - ends[0]))
    found, at = np.empty((len(run.t), *X.shape)), 0
    for k in range(len(ends)):
        while at < len(run.t) and wanted[at] == k:
            found[at] = X
            at += 1
        if k < len(h):
            X = Phi[k] @ X
            X[:, : len(numbers)] += G[k]
    rows = result.rows(np.searchsorted(times, ends[wanted]))
    A, B, vdot = _equations(rows, numbers)
    slopes = A @ found
    slopes[..., : len(numbers)] += B
    nv = system.nv
    return Motion(
        system, run.t, rows.q, rows.v, vdot, rows.external, numbers, found[:, :nv], found[:, nv:], slopes[:, nv:],
    )  # fmt: skip


@cache
def _gauss(stages: int) -> tuple[Array, Array, Array]:
    """Points, matrix and weights of the Gauss collocation method on [0, 1]."""
    nodes, _ = np.polynomial.legendre.leggauss(stages)
    c = 0.5 * (nodes + 1.0)
    powers = np.arange(stages)
    # the integrals of the polynomials that are one at a point and zero at the others
    values = np.linalg.inv(c[:, None] ** powers).T
    a = (values @ (c ** (powers[:, None] + 1) / (powers[:, None] + 1))).T
    return c, a, values @ (1.0 / (powers + 1))


def _intervals(system: System, run: Run) -> tuple[Array, int]:
    """The ends of the intervals, and the Gauss points of each, such that there are fewest in all.

    Ends are the times of the run, the corners of what acts, and more as the frequencies ask for.
    """
    first, last = run.t0, float(run.t[-1])
    corners = run.corners()
    inner = corners[(corners > first) & (corners < last)]
    marks = np.unique(np.concatenate([[first], run.t, inner]))
    # marks that nearly coincide are one; times of the run stay
    near = np.flatnonzero(np.diff(marks) <= SAME * (last - first))
    marks = np.delete(marks, [k if marks[k] not in run.t else k + 1 for k in near])
    turned = _fastest(system, run) * np.diff(marks)
    parts = {s: np.maximum(1, np.ceil(turned / z)).astype(int) for s, z in INTERVALS.items()}
    stages = min(parts, key=lambda s: s * int(parts[s].sum()))
    pieces = [
        np.linspace(a, b, n, endpoint=False) for a, b, n in zip(marks, marks[1:], parts[stages])
    ]
    return np.concatenate([*pieces, marks[-1:]]), stages


def refuse_too_fast(system: System, run: Run) -> None:
    """Raise an error if a run has more oscillations than its slopes can be computed for."""
    fastest, lasts = _fastest(system, run), float(run.t[-1]) - run.t0
    if not fastest * lasts <= MOST:
        raise DynamicsError(
            f"{system.name!r} oscillates at up to {fastest:.3g} rad/s, which is too fast for slopes over {lasts:.3g} s. Give stiffnesses a "
            "start and bounds that are nearer to the truth, leave out the fastest modes, or take a shorter part of the readings."
        )


def _fastest(system: System, run: Run) -> float:
    """The highest frequency of small motions about the start, driven joints held."""
    rest = np.zeros(system.nv)
    by = derivatives(system, run.q0, run.v0, rest, "inverse_dynamics")
    free = _free(system, run.motion or ())
    M, K, D = (x[np.ix_(free, free)] for x in (by.vdot, by.q, by.v))
    n = len(M)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:] = -np.linalg.solve(M, np.hstack([K, D]))
    return float(np.abs(np.linalg.eigvals(A).imag).max(initial=0.0))


def _free(system: System, driven: Iterable[str]) -> np.ndarray:
    """Which speeds are not prescribed."""
    free = np.ones(system.nv, dtype=bool)
    for name in driven:
        free[system.layout[system.body_of(name)].v_joint] = False
    return free


def _first_order(system: System, v: Array, by_q: Array, by_v: Array) -> Array:
    """A (n, 2 nv, 2 nv) at n states from the slopes of vdot."""
    nv = system.nv
    A = np.zeros((len(v), 2 * nv, 2 * nv))
    A[:, :nv, nv:] = np.eye(nv)
    A[:, nv:, :nv], A[:, nv:, nv:] = by_q, by_v
    if system.nq != nv:
        for i, speeds in enumerate(v):
            A[i, :nv, :nv] = -turned_with(system, speeds)
    return A


def _equations(result: Result, numbers: Sequence[Number]) -> tuple[Array, Array, Array]:
    """A (n, 2 nv, 2 nv), B (n, 2 nv, len(numbers)) and vdot (n, nv) at the rows of a result."""
    s, nv = result.system, result.system.nv
    names = tuple(dict.fromkeys(name for name, _ in numbers))
    external: Any = dict(result.external) or None
    B = np.zeros((len(result), 2 * nv, len(numbers)))
    if not result.driven:
        by = derivatives(
            s, result.q, result.v, result.tau, external=external, by=("q", "v", *names)
        )
        A, vdot = _first_order(s, result.v, by.q, by.v), by.value
        for j, (name, place) in enumerate(numbers):
            B[:, nv:, j] = by.parameters[name][(slice(None), slice(None), *place)]
        return A, B, vdot
    # driven joints d stay as prescribed, of the free ones f: M_ff dvdot_f = -(slopes of inverse dynamics)_f
    vdot = result.vdot
    by = derivatives(
        s, result.q, result.v, vdot, "inverse_dynamics", external=external, by=("q", "v", "vdot", *names)
    )  # fmt: skip
    free = _free(s, result.driven)
    columns = [by.parameters[name][(slice(None), slice(None), *place)] for name, place in numbers]
    slopes = np.concatenate([by.q, by.v, *(c[..., None] for c in columns)], axis=-1)
    rates = np.zeros_like(slopes)
    rates[:, free] = -np.linalg.solve(by.vdot[:, free][:, :, free], slopes[:, free])
    A = _first_order(s, result.v, rates[..., :nv], rates[..., nv : 2 * nv])
    B[:, nv:] = rates[..., 2 * nv :]
    return A, B, vdot


def _collocated(h: Array, A: Array, B: Array) -> tuple[Array, Array]:
    """Phi (m, n, n) and G (m, n, d) of X_new = Phi X + G, from A (m, s, n, n) and B (m, s, n, d) at the Gauss points."""
    m, stages, n, _ = A.shape
    _, matrix, weights = _gauss(stages)
    # rates K_i = A_i (X + h sum_j a_ij K_j) + B_i
    left = -h[:, None, None, None, None] * np.einsum("ij,mikl->mikjl", matrix, A)
    left = left.reshape(m, stages * n, stages * n) + np.eye(stages * n)
    right = np.concatenate([A, B], axis=-1).reshape(m, stages * n, -1)
    K = np.linalg.solve(left, right).reshape(m, stages, n, -1)
    moved = h[:, None, None] * np.einsum("i,mikl->mkl", weights, K)
    return np.eye(n) + moved[..., :n], moved[..., n:]


def _start(system: System, run: Run, numbers: Sequence[Number]) -> Array:
    """X at the start: the unit directions of what is unknown of it; modes in static balance follow the joints and numbers."""
    nv, count = system.nv, len(numbers)
    X = np.zeros((2 * nv, count + run.starts.shape[1]))
    X[:, count:] = run.starts
    modes = _modes(system)
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
