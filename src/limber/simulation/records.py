"""Signals and driven joints as the records of numbers that the compiled code reads; see `integrators.context`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limber.checks import Array
from limber.integrators import context as R
from limber.kernels import layout as L
from limber.simulation.memory import NUMBER_BYTES
from limber.simulation.motions import DrivenJoint
from limber.simulation.signals import Signal


def signal_records(
    signals: Sequence[Signal], sizes: Sequence[int], value_at: int, origin: float
) -> tuple[np.ndarray, list[Array]]:
    """The signals in the form of `integrators.rates`, and the tables to which their records point.

    sizes : how many values each of them has.
    value_at : the address of their values, which are stored one after the other.
    origin : the start of the run, from which the times of tables count.
    """
    records, tables = [], []
    for number, (signal, size) in enumerate(zip(signals, sizes), 1):
        table_at = 0
        if signal.kind == R.TABLE:
            table = np.array(signal.table)
            table[:, 0] -= origin
            tables.append(table)
            table_at = table.ctypes.data
        record = {
            R.KIND: signal.kind, R.FUNCTION: signal.address, R.NUMBER: number,
            R.VALUE: value_at, R.WIDTH: size, R.TABLE_DATA: table_at, R.ROWS: len(signal.table),
            R.PLAN: 0 if signal.session is None else signal.session.plan.ctypes.data,
        }  # fmt: skip
        records.append([record[place] for place in range(R.SIGNAL)])
        value_at += size * NUMBER_BYTES
    return np.array(records, dtype=np.int64), tables


def motion_records(joints: Sequence[DrivenJoint], first: int, value_at: int) -> np.ndarray:
    """The driven joints in the form of `integrators.motions`.

    first : the number of the first of them among all that may fail.
    value_at : the address of their values, which are stored one after the other.
    """
    records = []
    for number, joint in enumerate(joints, first):
        path = joint.path
        record = {
            R.M_FUNCTION: joint.address, R.M_VALUE: value_at, R.M_NUMBER: number,
            R.M_BODY: joint.row * L.COLUMNS, R.M_Q: joint.q.start, R.M_COORDINATES: joint.coordinates,
            R.M_V: joint.v.start, R.M_SPEEDS: joint.speeds,
        }  # fmt: skip
        if path is not None:
            record[R.M_KNOTS], record[R.M_KNOTS_COUNT] = path.knots.ctypes.data, len(path.knots)
            record[R.M_PIECES] = path.pieces.ctypes.data
        records.append([record.get(place, 0) for place in range(R.MOTION)])
        value_at += (joint.coordinates + 2 * joint.speeds) * NUMBER_BYTES
    return np.array(records, dtype=np.int64)
