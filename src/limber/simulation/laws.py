"""Linear control laws that batches evaluate for all cases at once, in SIMD lanes or on a GPU.

At sample k, with some of the coordinates and speeds x, their reference r_k and a memory z that starts at zero,

    e      = r_k - x
    asked  = f_k + K_k e + C z
    torque = asked, within +-limit, held for a sample time
    z      = A z + B e, afterwards

An entry of z that is the integral of a torque stops where it would drive that torque further beyond its limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array

if TYPE_CHECKING:
    from limber.codegen.law_source import LawPlaces

#: Output times may be off the samples by this part of a sample time.
ON_SAMPLE = 1e-6


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
class SampledLaw:
    """A linear control law; the head of this file has the equations.

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
        from limber.codegen.law_source import LawPlaces  # noqa: PLC0415

        return LawPlaces(
            *(tuple(x.tolist()) for x in (self.q, self.v, self.torques, self.memory.integrals))
        )


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

    def torques(self, sample: int, q: Array, v: Array) -> Array:
        """The torques (cases, nv) at a sample, in an array that the next sample overwrites."""
        table, law, memory = self._table, self._table.law, self._table.law.memory
        n, e, wanted = len(law.q), self._error, table.reference[sample, :, None]
        np.subtract(wanted[:n], q.T[law.q], out=e[:n])
        np.subtract(wanted[n:], v.T[law.v], out=e[n:])
        if self._starts:
            e += self._start
        asked = table.gains[sample if len(table.gains) > 1 else 0] @ e
        asked += table.feed[sample, :, None]
        if memory.integrals.size:
            asked += memory.C @ self._memory
        torque = asked if self._limit is None else np.clip(asked, -self._limit, self._limit)
        if memory.integrals.size:
            change = memory.B @ e
            beyond = (asked - torque)[memory.integrals] * change > 0.0
            change[beyond & (memory.integrals >= 0)[:, None]] = 0.0
            self._memory = memory.A @ self._memory + change
        self._tau.T[law.torques] = torque
        return self._tau


def law_of(system: System, torque: Any) -> SampledLaw | str | None:
    """The law of a controller, or a description of what batches do not support; None for other torques."""
    made = getattr(torque, "sampled_law", None)
    return None if made is None else made(system)
