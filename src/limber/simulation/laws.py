"""Control laws that batches evaluate for all cases at once: springs and dampers between joints and their references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.errors import ArgumentValueError

#: Output times may be off the samples by this part of a sample time.
ON_SAMPLE = 1e-6


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """kp (reference position - position) + kd (reference speed - speed) of each joint, within +-limit.

    The torque is held for a sample time.

    q, v : the indices of the joints in q and v.
    reference : (t, positions to hold) -> (position, velocity, ...) of the joints.
    """

    sample_time: float
    q: np.ndarray
    v: np.ndarray
    kp: Array
    kd: Array
    limit: Array
    reference: Callable[[float, Array], tuple[Array, ...]]

    def wanted(self, t0: float, samples: int, q0: Array) -> Array:
        """(samples, 2, joints): reference positions and speeds of the joints of all cases.

        q0 : (cases, nq), where they start.
        """
        starts = np.unique(q0[:, self.q], axis=0)
        tables = [
            np.array([self.reference(t0 + k * self.sample_time, start)[:2] for k in range(samples)])
            for start in starts[[0, -1] if len(starts) > 1 else [0]]
        ]
        if not np.array_equal(tables[0], tables[-1]):
            raise ArgumentValueError(
                "torque: the joints hold the positions that they start from, which differ from case to case; generated code "
                "takes one reference for all cases. Give reference=..., or a list with a controller for each case."
            )
        return tables[0]

    def torques(self, wanted: Array, q: Array, v: Array) -> Array:
        """(cases, nv): the torques of states (cases, ...), given the reference positions and speeds (2, joints)."""
        asked = self.kp * (wanted[0] - q[:, self.q]) + self.kd * (wanted[1] - v[:, self.v])
        tau = np.zeros_like(v)
        tau[:, self.v] = np.clip(asked, -self.limit, self.limit)
        return tau

    def samples(self, times: Array) -> Array | None:
        """The numbers of the samples at these times from the start; None if some are between samples."""
        number = np.rint(times / self.sample_time)
        off = np.abs(times - number * self.sample_time)
        return None if (off > ON_SAMPLE * self.sample_time).any() else number.astype(int)


def law_of(system: System, torque: Any) -> SampledLaw | str | None:
    """The law of a controller, or a description of what batches do not support; None for other torques."""
    made = getattr(torque, "sampled_law", None)
    return None if made is None else made(system)
