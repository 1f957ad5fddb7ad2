"""Control laws that batches evaluate for all cases at once, in SIMD lanes or on a GPU.

At sample k, with some of the coordinates and speeds x, their reference r_k and a memory z that starts at zero,

    e      = r_k - x
    asked  = f_k + K_k e + C z
    torque = asked, within +-limit, held for a sample time
    z      = A z + B e, afterwards

An entry of z that is the integral of a torque stops where it would drive that torque further beyond its limit. A law
with a rigid model adds the torques that hold the model at rest in its present position to those requested, or it requests
accelerations of joints, and the torques are those that the model needs for them (inverse dynamics).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array

if TYPE_CHECKING:
    from limber.codegen.law_source import LawPlaces

#: Output times may be off the samples by this fraction of a sample time.
ON_SAMPLE = 1e-6
#: States that one instruction handles: the compiler divides them into what the machine has.
LANES = 8


@dataclass(frozen=True, eq=False)
class Memory:
    """A (z, z), B (z, x) and C (torques, z); `integrals` (z,) has the number of the torque that an entry is the
    integral of, or -1.
    """

    A: Array
    B: Array
    C: Array
    integrals: np.ndarray


def no_memory(torques: int, watched: int) -> Memory:
    """The memory of a law without any."""
    return Memory(
        np.zeros((0, 0)), np.zeros((0, watched)), np.zeros((torques, 0)), np.zeros(0, dtype=int)
    )


@dataclass(frozen=True, eq=False)
class Model:
    """The rigid model of a law.

    q, v : the places in the plant's q and v of its coordinates and speeds.
    torques : the places of the torques of the law in its v.
    accelerates : whether the law requests accelerations; otherwise the model is held at rest.
    """

    system: System
    q: np.ndarray
    v: np.ndarray
    torques: np.ndarray
    accelerates: bool


def rigid_model(
    plant: System, torques: np.ndarray, accelerates: bool, design: System | None = None
) -> Model:
    """The undeformed `design`, by default that of the plant, whose joints it has.

    torques : their places in v of the plant.
    """
    design = plant if design is None else design
    items = tuple(
        replace(x, body=x.body.without_modes())
        for x in (design.attachments[b] for b in plant.layout)
    )
    made = System(design.name, items, design.gravity, "full", regular=False)
    q = [i for x in plant.layout.values() for i in range(x.q_joint.start, x.q_joint.stop)]
    v = [i for x in plant.layout.values() for i in range(x.v_joint.start, x.v_joint.stop)]
    at = np.array([v.index(i) for i in torques.tolist()], dtype=int)
    return Model(made, np.array(q, dtype=int), np.array(v, dtype=int), at, accelerates)


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """A control law; the head of this file has the equations.

    q, v : the places in q and in v of x; coordinates come before speeds.
    torques : the places of the torques in v.
    reference : (t, coordinates to hold) -> (r, f).
    gains : K (torques, x), or K as a function of t.
    """

    sample_time: float
    q: np.ndarray
    v: np.ndarray
    torques: np.ndarray
    limit: Array
    reference: Callable[[float, Array], tuple[Array, Array]]
    gains: Array | Callable[[float], Array]
    memory: Memory
    model: Model | None = None

    def samples(self, times: Array) -> Array | None:
        """The numbers of the samples at these times from the start; None if some are between samples."""
        number = np.rint(times / self.sample_time)
        off = np.abs(times - number * self.sample_time)
        return None if (off > ON_SAMPLE * self.sample_time).any() else number.astype(int)

    def tabulated(self, t0: float, samples: int, q0: Array) -> LawTable:
        """The law at its first samples, for cases that start from q0 (cases, nq)."""
        n = len(self.q)
        times = [t0 + k * self.sample_time for k in range(samples)]
        # coordinates without a reference of their own hold the start, which differs from case to case
        held = (self.reference(t0, np.ones(n))[0] - self.reference(t0, np.zeros(n))[0])[:n]
        start = np.zeros((len(q0), n + len(self.v)))
        start[:, :n] = held * q0[:, self.q]
        rows = [self.reference(t, np.zeros(n)) for t in times]
        gains = [self.gains(t) for t in times] if callable(self.gains) else [self.gains]
        return LawTable(
            self, np.array([r for r, _ in rows]), np.array([f for _, f in rows]), np.array(gains), start,
        )  # fmt: skip

    def places(self) -> LawPlaces:
        """What generated code needs to know of the law."""
        from limber.codegen.law_source import LawPlaces, ModelPlaces  # noqa: PLC0415

        def ints(places: np.ndarray) -> tuple[int, ...]:
            return tuple(places.tolist())

        m, model = self.model, None
        if m is not None:
            model = ModelPlaces(ints(m.q), ints(m.v), ints(m.torques), m.accelerates)
        integrals = ints(self.memory.integrals)
        return LawPlaces(ints(self.q), ints(self.v), ints(self.torques), integrals, model)


@dataclass(frozen=True, eq=False)
class LawTable:
    """A control law at its samples.

    reference : (samples, x), to which `start` (cases, x) is added.
    feed : (samples, torques).
    gains : (samples, torques, x), or (1, torques, x) if they are constant.
    """

    law: SampledLaw
    reference: Array
    feed: Array
    gains: Array
    start: Array

    def arrays(self) -> dict[str, Array]:
        """The arrays that the kernel of a GPU takes; see `codegen.law_source`."""
        m = self.law.memory
        return {
            "reference": self.reference,
            "start": np.ascontiguousarray(self.start.T),
            "feed": self.feed,
            "gains": self.gains,
            "memory": np.concatenate([m.A.ravel(), m.B.ravel(), m.C.ravel()]),
            "limit": self.law.limit,
        }

    def running(self, nv: int, cases: slice = slice(None)) -> RunningLaw:
        """The law at the start of a run of some of the cases."""
        return RunningLaw(self, nv, cases)


class Product:
    """Products of matrices with columns of cases, in the same order of operations for any number of cases: results of a
    case do not depend, to the last bit, on those that run alongside it.
    """

    def __init__(self, pattern: np.ndarray):
        self._pairs = [(int(i), int(j)) for i, j in np.argwhere(pattern)]

    def add(self, to: Array, matrix: Array, columns: Array) -> None:
        """Add matrix @ columns; the matrix is zero outside the pattern."""
        for i, j in self._pairs:
            to[i] += matrix[i, j] * columns[j]


class RunningLaw:
    """A control law during a run, with the memory and the arrays of its cases."""

    def __init__(self, table: LawTable, nv: int, cases: slice):
        law = table.law
        self._table = table
        # arrays by columns of cases: rows as short as one case would take most of the time
        self._start = np.ascontiguousarray(table.start[cases].T)
        self._starts, count = bool(self._start.any()), self._start.shape[1]
        self._limit = law.limit[:, None] if np.isfinite(law.limit).any() else None
        self._error = np.empty(self._start.shape)
        self._memory = np.zeros((len(law.memory.A), count))
        self._tau = np.zeros((count, nv))
        self._gains = Product((table.gains != 0.0).max(axis=0))
        self._A, self._B, self._C = (
            Product(x != 0.0) for x in (law.memory.A, law.memory.B, law.memory.C)
        )
        if law.model is not None:
            from limber.codegen.compiler import compile  # noqa: PLC0415

            lanes = LANES if count >= LANES else 1
            self._needed = compile(law.model.system, "inverse_dynamics", lanes=lanes, threads=1)
            self._speeds, self._rates = np.zeros((2, count, law.model.system.nv))

    def torques(self, sample: int, q: Array, v: Array) -> Array:
        """The torques (cases, nv) at a sample, in an array that the next sample overwrites."""
        table, law, memory = self._table, self._table.law, self._table.law.memory
        n, e, wanted = len(law.q), self._error, table.reference[sample, :, None]
        np.subtract(wanted[:n], q.T[law.q], out=e[:n])
        np.subtract(wanted[n:], v.T[law.v], out=e[n:])
        if self._starts:
            e += self._start
        asked = np.repeat(table.feed[sample, :, None], len(q), axis=1)
        self._gains.add(asked, table.gains[sample if len(table.gains) > 1 else 0], e)
        if memory.integrals.size:
            self._C.add(asked, memory.C, self._memory)
        if law.model is not None:
            asked = self._of_model(law.model, asked, q, v)
        torque = asked if self._limit is None else np.clip(asked, -self._limit, self._limit)
        if memory.integrals.size:
            change = np.zeros_like(self._memory)
            self._B.add(change, memory.B, e)
            beyond = (asked - torque)[memory.integrals] * change > 0.0
            change[beyond & (memory.integrals >= 0)[:, None]] = 0.0
            self._A.add(change, memory.A, self._memory)
            self._memory = change
        self._tau.T[law.torques] = torque
        return self._tau

    def _of_model(self, model: Model, asked: Array, q: Array, v: Array) -> Array:
        """The torques (torques, cases) with what the model needs."""
        if model.accelerates:
            self._speeds[:] = v[:, model.v]
            self._rates[:, model.torques] = asked.T
        places = np.ascontiguousarray(q[:, model.q])
        needed = self._needed(places, self._speeds, self._rates)[:, model.torques].T
        return needed if model.accelerates else asked + needed


def law_of(system: System, torque: Any) -> SampledLaw | str | None:
    """The law of a controller, or a description of what batches do not support; None for other torques."""
    made = getattr(torque, "sampled_law", None)
    return None if made is None else made(system)
