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
from limber.dynamics import inverse_dynamics

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

    def first_torques(self, q: Array, v: Array) -> Array:
        """The torques (cases, nv) at the first sample."""
        law, n = self.law, len(self.law.q)
        e = self.reference[0] + self.start
        e[:, :n] -= q[:, law.q]
        e[:, n:] -= v[:, law.v]
        asked = self.feed[0] + e @ self.gains[0].T
        if law.model is not None:
            m = law.model
            speeds, rates = np.zeros((2, len(q), m.system.nv))
            if m.accelerates:
                speeds[:], rates[:, m.torques] = v[:, m.v], asked
            needed = inverse_dynamics(m.system, q[:, m.q], speeds, rates)[:, m.torques]
            asked = needed if m.accelerates else asked + needed
        tau = np.zeros(v.shape)
        tau[:, law.torques] = np.clip(asked, -law.limit, law.limit)
        return tau


def law_of(system: System, torque: Any) -> SampledLaw | str | None:
    """The law of a controller, or a description of what batches do not support; None for other torques."""
    made = getattr(torque, "sampled_law", None)
    return None if made is None else made(system)
