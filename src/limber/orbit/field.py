"""The forces of an environment on one system, as the engine takes them."""

from __future__ import annotations

import ctypes

import numpy as np

from limber import integrators
from limber.assembly.system import System
from limber.checks import Array
from limber.integrators import context as R
from limber.kernels import layout as L
from limber.orbit.orbits import Orbit
from limber.orbit.reference import reference

#: void forces(const long long *context, double t, const double *y, double *out)
_FORCES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)


class Field:
    """The forces of an environment on a system from a time on; times inside count from that time.

    address : of the compiled function (`integrators.environment.forces`).
    record : what it reads, see `integrators.context`.
    breaks : times at which the forces jump.
    """

    def __init__(self, orbit: Orbit, gravity: str, system: System, start: float, end: float):
        self.system = system
        planet = orbit.planet
        known = reference(orbit, gravity, start, end)
        self._orbit, length = known.pieces(start, end, orbit.perigee_rate)
        numbers = {R.N_PIECE: length, R.N_MU: planet.mu, R.N_OBLATE: planet.oblateness(gravity)}
        self._numbers = np.array([numbers[i] for i in range(R.ENVIRONMENT_NUMBERS)])
        record = {
            R.E_NUMBERS: self._numbers.ctypes.data, R.E_ORBIT: self._orbit.ctypes.data,
            R.E_PIECES: len(self._orbit),
        }  # fmt: skip
        self.record = np.array([record[i] for i in range(R.ENVIRONMENT)], dtype=np.int64)
        self.address = integrators.address("orbital_forces")
        self.breaks = np.empty(0)

    def at(self, t: float, q: Array, v: Array) -> Array:
        """The generalized forces at one time and state."""
        packed = self.system.dynamics
        const, work = np.array(packed.const), np.empty(int(packed.topo[L.WORK_SIZE]))
        shared = np.zeros(R.SHARED_SIZE)
        known = {
            R.TOPO: packed.topo.ctypes.data, R.CONST: const.ctypes.data, R.WORK: work.ctypes.data,
            R.SHARED: shared.ctypes.data, R.FIELD_RECORD: self.record.ctypes.data,
        }  # fmt: skip
        context = np.array([known.get(i, 0) for i in range(R.CONTEXT)], dtype=np.int64)
        y, out = np.concatenate([q, v]), np.zeros(self.system.nv)
        _FORCES(self.address)(context.ctypes.data, t, y.ctypes.data, out.ctypes.data)
        return out
