r"""Motions of a system with their slopes by unknown numbers: the variational equations along a simulated motion.

Solves    xdot = f(x; p),    Xdot = A(t) X + B(t),    A = df/dx, B = df/dp,    X = dx/d(p, x0)
          with x = [dq, dv] along `lb.integrate`; dq' = dv - (w x) dq for speeds that are not rates of coordinates
Given     what acts on the system, the numbers of the model and the directions of the initial state that are unknown
Computes  q, v, vdot at the wanted times, and their slopes
How       `simulate` gives x at the Gauss points of every interval; `derivatives` gives A and B there, all at once and exact to
          rounding; collocation of order eight gives X at the ends of the intervals
Cost      of an interval: four evaluations of `derivatives`, and 8 nv linear equations
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control.joints import deformed
from limber.dynamics import derivatives
from limber.dynamics.stiffness import turned_with
from limber.simulation import Result, Table, simulate

#: A number of the model: the name of the parameter, and the place in its array.
Number = tuple[str, tuple[int, ...]]

#: The largest product of a frequency and an interval.
INTERVAL = 0.7
#: Gauss points of an interval, and the matrix of the collocation method with its weights.
STAGES = 4
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
    """The motion itself at times, of which the last is the end."""
    q0 = deformed(system, run.q0) if run.settled else run.q0
    return simulate(
        system, float(times[-1]), t0=run.t0, t_eval=times, q0=q0, v0=run.v0, torque=run.torque, external=run.external,
        motion=run.motion, rtol=run.rtol, atol=run.atol, progress=False,
    )  # fmt: skip


def moving(system: System, run: Run, numbers: Sequence[Number]) -> Motion:
    """The motion at the times of a run with its slopes."""
    ends = _intervals(system, run)
    h = np.diff(ends)
    inside = ends[:-1, None] + h[:, None] * POINTS
    times = np.unique(np.concatenate([ends, inside.ravel()]))
    result = simulated(system, run, times)
    at_stages = np.searchsorted(times, inside.ravel())
    A, B, _ = _equations(result.rows(at_stages), numbers)
    n = A.shape[-1]
    Phi, G = _collocated(h, A.reshape(-1, STAGES, n, n), B.reshape(-1, STAGES, n, B.shape[-1]))
    X = _start(system, run, result.q[0], numbers)
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


def _gauss() -> tuple[Array, Array, Array]:
    """Points, matrix and weights of the Gauss collocation method on [0, 1]."""
    nodes, _ = np.polynomial.legendre.leggauss(STAGES)
    c = 0.5 * (nodes + 1.0)
    powers = np.arange(STAGES)
    # the integrals of the polynomials that are one at a point and zero at the others
    values = np.linalg.inv(c[:, None] ** powers).T
    a = (values @ (c ** (powers[:, None] + 1) / (powers[:, None] + 1))).T
    return c, a, values @ (1.0 / (powers + 1))


POINTS, MATRIX, WEIGHTS = _gauss()


def _intervals(system: System, run: Run) -> Array:
    """The ends of the intervals: the times of the run, the corners of what acts, and more as the frequencies ask for."""
    first, last = run.t0, float(run.t[-1])
    corners = run.corners()
    inner = corners[(corners > first) & (corners < last)]
    marks = np.unique(np.concatenate([[first], run.t, inner]))
    # marks that nearly coincide are one; times of the run stay
    near = np.flatnonzero(np.diff(marks) <= SAME * (last - first))
    marks = np.delete(marks, [k if marks[k] not in run.t else k + 1 for k in near])
    q0 = deformed(system, run.q0) if run.settled else run.q0
    by = derivatives(system, q0, run.v0, np.zeros(system.nv), by=("q", "v"))
    A = _first_order(system, run.v0[None], by.q[None], by.v[None])[0]
    fastest = float(np.abs(np.linalg.eigvals(A).imag).max(initial=0.0))
    parts = [max(1, ceil(fastest * step / INTERVAL)) for step in np.diff(marks)]
    pieces = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(marks, marks[1:], parts)]
    return np.concatenate([*pieces, marks[-1:]])


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
    free = np.ones(nv, dtype=bool)
    for name in result.driven:
        free[s.layout[name].v_joint] = False
    columns = [by.parameters[name][(slice(None), slice(None), *place)] for name, place in numbers]
    slopes = np.concatenate([by.q, by.v, *(c[..., None] for c in columns)], axis=-1)
    rates = np.zeros_like(slopes)
    rates[:, free] = -np.linalg.solve(by.vdot[:, free][:, :, free], slopes[:, free])
    A = _first_order(s, result.v, rates[..., :nv], rates[..., nv : 2 * nv])
    B[:, nv:] = rates[..., 2 * nv :]
    return A, B, vdot


def _collocated(h: Array, A: Array, B: Array) -> tuple[Array, Array]:
    """Phi (m, n, n) and G (m, n, d) of X_new = Phi X + G, from A (m, 4, n, n) and B (m, 4, n, d) at the Gauss points."""
    m, _, n, _ = A.shape
    # rates K_i = A_i (X + h sum_j a_ij K_j) + B_i
    left = -h[:, None, None, None, None] * np.einsum("ij,mikl->mikjl", MATRIX, A)
    left = left.reshape(m, STAGES * n, STAGES * n) + np.eye(STAGES * n)
    right = np.concatenate([A, B], axis=-1).reshape(m, STAGES * n, -1)
    K = np.linalg.solve(left, right).reshape(m, STAGES, n, -1)
    moved = h[:, None, None] * np.einsum("i,mikl->mkl", WEIGHTS, K)
    return np.eye(n) + moved[..., :n], moved[..., n:]


def _start(system: System, run: Run, q0: Array, numbers: Sequence[Number]) -> Array:
    """X at the start: the unit directions of what is unknown of it; modes in static balance follow the joints and numbers."""
    nv, count = system.nv, len(numbers)
    X = np.zeros((2 * nv, count + run.starts.shape[1]))
    X[:, count:] = run.starts
    modes = np.concatenate(
        [np.zeros(0, dtype=int)]
        + [np.arange(w.v_modes.start, w.v_modes.stop) for w in system.layout.values()]
    )
    if not run.settled or not len(modes):
        return X
    names = tuple(dict.fromkeys(name for name, _ in numbers))
    rest = np.zeros(nv)
    by = derivatives(system, q0, rest, rest, "inverse_dynamics", by=("q", *names))
    forces = by.q @ X[:nv]
    for j, (name, place) in enumerate(numbers):
        forces[:, j] += by.parameters[name][(slice(None), *place)]
    X[modes] -= np.linalg.solve(by.q[np.ix_(modes, modes)], forces[modes])
    return X
