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
from dataclasses import dataclass, replace
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

    def of(self, cases: slice) -> LawTable:
        """The same for some of the cases."""
        return replace(self, start=self.start[cases])

    def forgotten(self) -> Array:
        """(cases, z): the memory at the start."""
        return np.zeros((len(self.start), len(self.law.memory.A)))

    def torques(self, sample: int, q: Array, v: Array, z: Array) -> tuple[Array, Array]:
        """The torques (cases, nv) and the new memory, from states (cases, ...) and the memory z."""
        law, memory = self.law, self.law.memory
        x = np.concatenate([q[:, law.q], v[:, law.v]], axis=1)
        e = self.reference[sample] + self.start - x
        K = self.gains[sample if len(self.gains) > 1 else 0]
        asked = self.feed[sample] + e @ K.T + z @ memory.C.T
        torque = np.clip(asked, -law.limit, law.limit)
        change = e @ memory.B.T
        if memory.integrals.size:
            beyond = (asked - torque)[:, memory.integrals] * change > 0.0
            change[beyond & (memory.integrals >= 0)] = 0.0
        tau = np.zeros_like(v)
        tau[:, law.torques] = torque
        return tau, z @ memory.A.T + change


def law_of(system: System, torque: Any) -> SampledLaw | str | None:
    """The law of a controller, or a description of what batches do not support; None for other torques."""
    made = getattr(torque, "sampled_law", None)
    return None if made is None else made(system)
