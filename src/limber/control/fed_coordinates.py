"""The coordinates and speeds on which state feedback acts: all of them, or independent ones of a closed system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, listed
from limber.control.closed_joints import independent_places
from limber.control.closed_motions import LARGEST
from limber.control.joints import JointPlaces
from limber.control.linear_model import LinearModel
from limber.dynamics.inverse import mass_matrix
from limber.dynamics.rows import row_space
from limber.errors import ArgumentValueError


@dataclass(frozen=True, eq=False)
class FedCoordinates:
    """Coordinates on which gains act.

    v : their places in v.
    q : their places in q; None if some are tangents at a quaternion, or of several axes that turn each other.
    unit : (nv,) roots of the inertias of all speeds, by which these are comparable.
    sensors : names of the sensors that read them, if there are sensors and no observer.
    """

    v: np.ndarray
    q: np.ndarray | None
    unit: Array
    sensors: tuple[str, ...]

    def off(self, dq: Array, dv: Array) -> Array:
        """The entries of these coordinates in differences (nv,) of configurations (`lb.difference`) and of speeds."""
        return np.append(dq[self.v], dv[self.v])

    def acting(self, gains: Array) -> Array:
        """The columns of these coordinates and of pending commands of gains (..., 2 nv + past)."""
        nv = len(self.unit)
        past = np.arange(2 * nv, gains.shape[-1])
        return gains[..., np.concatenate([self.v, nv + self.v, past])]

    def gains(self, K: Array, model: LinearModel) -> Array:
        """Gains (torques, 2 nv + past) of [dq, dv], from gains (torques, states + past) of the states of a model."""
        nv, n = len(self.unit), model.order
        found = np.zeros((len(K), 2 * nv + K.shape[1] - n))
        found[:, 2 * nv :] = K[:, n:]
        if n == 2 * nv:
            found[:, :n] = K[:, :n]
            return found
        assert model.T is not None
        moved = self.unit[:, None] * model.T[:nv, : n // 2]
        if np.linalg.cond(moved[self.v] / np.linalg.norm(moved, axis=0)) > LARGEST:
            raise ArgumentValueError(
                f"LQR: the motion `about` passes a position of {model.name!r} in which the coordinates that the gains act "
                "on do not determine its motion. Give a motion that ends before this position, or other bodies=[...]."
            )
        rows = np.append(self.v, nv + self.v)
        found[:, rows] = np.linalg.solve(model.T[rows].T, K[:, :n].T).T
        return found


def fed_coordinates(
    system: System, q: Array, places: JointPlaces, loop: Any, observed: bool, acting: np.ndarray
) -> FedCoordinates:
    """The coordinates on which the gains of LQR act.

    In an open system they are those of `acting`. In a closed system they are independent ones at q, if possible those of
    joints with torques. With sensors and without an observer, they must be read.

    acting : places in v.
    """
    plain_v, plain_q = plain_places(system)
    seen, sensors = np.arange(system.nv), ()
    if loop.sensors and not observed:
        read_q, read_v = _read(loop, "q"), _read(loop, "v")
        both = [k in read_q and i in read_v for i, k in zip(plain_v.tolist(), plain_q.tolist())]
        seen = plain_v[both]
        readers = zip(loop.sensors, loop.readers)
        sensors = tuple(x.name for x, r in readers if r.q is not None or r.v is not None)
    if system.closures:
        driven, plain = np.intersect1d(places.v, seen), np.intersect1d(plain_v, seen)
        turned = np.setdiff1d(seen, plain)  # where nothing else tells their motion
        groups = [np.intersect1d(driven, plain), np.setdiff1d(plain, driven), turned]
        found = independent_places(system, q, groups)
        enough = len(found) == row_space(system, q).basis.shape[1]
    else:
        found, enough = acting, np.isin(acting, seen).all()
    if not enough:
        raise ArgumentValueError(_too_few(system, seen, acting))
    unit = np.sqrt(np.diag(mass_matrix(system, q)))
    places_q = None
    if np.isin(found, plain_v).all():
        places_q = plain_q[np.searchsorted(plain_v, found)]
    return FedCoordinates(found, places_q, unit, sensors)


def plain_places(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Places in v and in q of modes, and of joints whose speeds are the rates of their coordinates."""
    v: list[int] = []
    q: list[int] = []
    for body, where in system.layout.items():
        parts = [(where.v_modes, where.q_modes)]
        if all(system.joints[body].has_coordinate):
            parts.append((where.v_joint, where.q_joint))
        for in_v, in_q in parts:
            v += range(in_v.start, in_v.stop)
            q += range(in_q.start, in_q.stop)
    order = np.argsort(v)
    return np.array(v, dtype=int)[order], np.array(q, dtype=int)[order]


def _read(loop: Any, what: str) -> set[int]:
    """The places in q or v that sensors read."""
    found = (getattr(reader, what) for reader in loop.readers)
    return {int(i) for places in found if places is not None for i in places}


def _too_few(system: System, seen: np.ndarray, acting: np.ndarray) -> str:
    """Why the coordinates on which gains could act do not determine the motion."""
    missing = set(acting.tolist()) - set(seen.tolist())
    joints = [
        body
        for body, where in system.layout.items()
        if missing.intersection(range(where.v_joint.start, where.v_joint.stop))
    ]
    modes = {i for x in system.layout.values() for i in range(x.v_modes.start, x.v_modes.stop)}
    if missing & modes:
        return "LQR needs the full state including modes, which sensors do not measure: add observer=lb.control.Kalman(...)."
    turned = [body for body in joints if not all(system.joints[body].has_coordinate)]
    if turned:
        return (
            f"LQR needs the positions and speeds of the joints of {listed(turned)}, which no Encoder and Tachometer read, as joints "
            "with quaternions or of several axes that turn each other: add observer=lb.control.Kalman(...)."
        )
    return (
        f"LQR needs the positions and speeds of joints that determine the state of {system.name!r}, but the sensors do "
        f"not read both for {listed(joints)}. Add an Encoder and a Tachometer, or observer=lb.control.Kalman(...)."
    )
