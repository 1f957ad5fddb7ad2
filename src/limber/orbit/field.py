"""The forces of an environment on one system, in the form of the engine."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from limber import integrators
from limber.assembly.closures import Closure
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import node_pair
from limber.errors import ArgumentValueError
from limber.integrators import context as R
from limber.kernels import layout as L
from limber.orbit.air import Drag, Face
from limber.orbit.burns import Burn, masses, tanks_of
from limber.orbit.orbits import Orbit
from limber.orbit.reference import gravity, reference

#: void forces(const long long *context, double t, const double *y, double *out)
_FORCES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)


class Field:
    """The forces of an environment on a system from a time `start` on; times in the record count from that time.

    address : address of the compiled function (`integrators.environment.forces`).
    record : what it reads, see `integrators.context`.
    breaks : times at which the forces jump.
    """

    def __init__(
        self, system: System, orbit: Orbit, kind: str, drag: Drag | None, burns: Sequence[Burn],
        start: float, end: float,
    ):  # fmt: skip
        self.system, self.burns, self.start = system, tuple(burns), start
        self._given = orbit, kind, drag, self.burns, start, end
        self._elsewhere: dict[System, Field] = {}
        planet = orbit.planet
        faces: Sequence[Face] = () if drag is None else drag.faces
        pieces, length = reference(orbit, kind).pieces(start, end)
        numbers = {
            R.N_PIECE: length, R.N_MU: planet.mu, R.N_OBLATE: planet.oblateness(kind), R.N_RADIUS: planet.radius,
            R.N_SPIN: planet.spin,
        }  # fmt: skip
        #: the least height of the reference orbit above the equatorial radius of the planet, m
        self.lowest = float(np.linalg.norm(pieces[:, [0, 6, 12]], axis=1).min()) - planet.radius
        tanks = tanks_of(burns)
        at = [
            *((face.body, face.node) for face in faces),
            *((burn.body, burn.node) for burn in burns),
        ]
        places = [node_pair(system, system.dynamics, body, node) for body, node in at]
        air = (
            np.zeros(0)
            if drag is None
            else np.array([*drag.air.altitude, *np.log(drag.air.density)])
        )
        #: the arrays that the record points to
        self._arrays = {
            R.E_NUMBERS: np.array([numbers[i] for i in range(R.ENVIRONMENT_NUMBERS)]),
            R.E_ORBIT: pieces,
            R.E_NODES: np.array(places, dtype=np.int64),
            R.E_WRENCHES: np.zeros((len(places), 6)),
            R.E_FACE_DATA: np.array([_face(face) for face in faces]),
            R.E_AIR: air,
            R.E_BURN_DATA: np.array([_burn(burn, start, tanks) for burn in burns]),
            R.E_TANK_BODIES: np.array(
                [system.number(t) * L.COLUMNS for t in tanks], dtype=np.int64
            ),
            R.E_TANK_DATA: np.array([_tank(system, tank) for tank in tanks]),
        }
        counts = {
            R.E_PIECES: len(pieces), R.E_FACES: len(faces), R.E_AIR_ROWS: len(air) // 2, R.E_BURNS: len(burns),
            R.E_TANKS: len(tanks),
        }  # fmt: skip
        record = counts | {place: values.ctypes.data for place, values in self._arrays.items()}
        self.record = np.array([record[i] for i in range(R.ENVIRONMENT)], dtype=np.int64)
        self.address = integrators.address("orbital_forces")
        self.breaks = np.array([time for burn in burns for time in (burn.start, burn.end)])

    def masses(self, t: Array) -> dict[str, Array]:
        """The masses of the tanks at times of the simulation, kg."""
        return masses(self.system, self.burns, t)

    def on(self, system: System) -> Field:
        """The same environment on another system with the same bodies, such as one that is cut open at a joint."""
        if system not in self._elsewhere:
            self._elsewhere[system] = Field(system, *self._given)
        return self._elsewhere[system]

    def falling(self, t: float, place: Array) -> Array:
        """The free-fall acceleration (3,) at a position (3,) in the world, at a time of the simulation."""
        orbit, kind = self._given[:2]
        s, _, g = reference(orbit, kind).at(np.array([t]))
        return gravity(orbit.planet.mu, orbit.planet.oblateness(kind), s[0] + place) - g[0]

    def refuse_held(self, system: System, by: str) -> None:
        """Reject a system that is closed to the world; see the function of this name."""
        refuse_held(system, by)

    def at(self, t: float, q: Array, v: Array) -> Array:
        """The generalized forces at one time of the simulation and one state."""
        packed = self.system.dynamics
        const, work = np.array(packed.const), np.empty(int(packed.topo[L.WORK_SIZE]))
        shared = np.zeros(R.SHARED_SIZE)
        known = {
            R.TOPO: packed.topo.ctypes.data, R.CONST: const.ctypes.data, R.WORK: work.ctypes.data,
            R.SHARED: shared.ctypes.data, R.FIELD_RECORD: self.record.ctypes.data,
        }  # fmt: skip
        context = np.array([known.get(i, 0) for i in range(R.CONTEXT)], dtype=np.int64)
        y, out = np.concatenate([q, v]), np.zeros(self.system.nv)
        _FORCES(self.address)(context.ctypes.data, t - self.start, y.ctypes.data, out.ctypes.data)
        return out


def refuse_held(system: System, by: str = "environment") -> None:
    """Reject closures that hold a system to the world; `by` is what made them, for the message."""
    for name, closure in system.closures.items():
        if isinstance(closure, Closure) and "world" in (closure.a.body, closure.b.body):
            raise ArgumentValueError(
                f"{by}: closure {name!r} attaches the system to the world, which falls around the planet: release it."
            )


def _face(face: Face) -> list[float]:
    """The record of a face."""
    sides = 0.0 if face.normal is None else 1.0 + face.two_sided
    return [face.area * face.cd, *(face.normal or (0.0, 0.0, 0.0)), sides]


def _burn(burn: Burn, start: float, tanks: tuple[str, ...]) -> list[float]:
    """The record of a burn."""
    tank = -1 if burn.tank is None else tanks.index(burn.tank)
    return [burn.start - start, burn.end - start, *burn.thrust, burn.flow, tank]


def _tank(system: System, tank: str) -> Array:
    """The record of a tank: the constants of its body."""
    packed = system.dynamics
    at = int(packed.topo[system.number(tank) * L.COLUMNS + L.CONST]) + L.C_MASS
    return np.array(packed.const[at : at + R.TANK])
