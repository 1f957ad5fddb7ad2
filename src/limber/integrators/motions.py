"""Joints of prescribed motion in a simulation: where they are at a time, and the forces that their motion takes.

A motion is a path (`kernels.paths`) or a function pointer.  Its values are the coordinates of the joint, its speeds and
the rates of these.  The rates of a driven joint are computed like those of any other, so that they take part in the
step control, but at every evaluation its coordinates and speeds are set to those of the motion.

APPLIED holds the rates of the speeds in the places of driven joints, as hybrid dynamics takes them
(`kernels.driven`), from `drive` to `settle`.  `settle` puts the forces there, and the part of them that is not due to
wrenches into TAU.  Compiled only.
"""

from limber.kernels.driven import drive_force
from limber.kernels.layout import NQ
from limber.kernels.paths import along
from limber.kernels.scalar import kernel
from limber.native.pointers import call, numbers_at, shifted, words_at

from .context import (
    APPLIED,
    CONST,
    M_BODY,
    M_COORDINATES,
    M_FUNCTION,
    M_KNOTS,
    M_KNOTS_COUNT,
    M_NUMBER,
    M_PIECES,
    M_Q,
    M_SPEEDS,
    M_V,
    M_VALUE,
    MOTION,
    MOTION_RECORDS,
    MOTIONS,
    ORIGIN_TIME,
    SHARED,
    TAU,
    TOPO,
    WORK,
    WRENCH_PARTS,
)
from .faults import note_fault


@kernel
def prescribe(context, at, y):
    """Set the coordinates and speeds of driven joints in the state y to those at the time `at` of the simulation."""
    topo, records = words_at(context[TOPO]), words_at(context[MOTION_RECORDS])
    nq = topo[NQ]
    for i in range(context[MOTIONS]):
        motion = shifted(records, MOTION * i)
        value, size, speeds = numbers_at(motion[M_VALUE]), motion[M_COORDINATES], motion[M_SPEEDS]
        if motion[M_FUNCTION] != 0:
            call(motion[M_FUNCTION], at, y, shifted(y, nq), value)
            t = at - numbers_at(context[SHARED])[ORIGIN_TIME]
            note_fault(context, motion[M_NUMBER], t, value, size + 2 * speeds, y)
        else:
            along(
                numbers_at(motion[M_KNOTS]), motion[M_KNOTS_COUNT], numbers_at(motion[M_PIECES]), speeds, at,
                value, shifted(value, size), shifted(value, size + speeds),
            )  # fmt: skip
        for j in range(size):
            y[motion[M_Q] + j] = value[j]
        for j in range(speeds):
            y[nq + motion[M_V] + j] = value[size + j]


@kernel
def put_rates(context, x):
    """Put the rates of the speeds of driven joints, as `prescribe` found them, in their places in x (layout of v)."""
    records = words_at(context[MOTION_RECORDS])
    for i in range(context[MOTIONS]):
        motion = shifted(records, MOTION * i)
        value, speeds = numbers_at(motion[M_VALUE]), motion[M_SPEEDS]
        for j in range(speeds):
            x[motion[M_V] + j] = value[motion[M_COORDINATES] + speeds + j]


@kernel
def put_zeros(context, x):
    """Put zeros in the places of driven joints in x (layout of v)."""
    records = words_at(context[MOTION_RECORDS])
    for i in range(context[MOTIONS]):
        motion = shifted(records, MOTION * i)
        for j in range(motion[M_SPEEDS]):
            x[motion[M_V] + j] = 0.0


@kernel
def keep_wrench_parts(context):
    """Keep what the wrenches alone do along the speeds of driven joints, which is in APPLIED."""
    records = words_at(context[MOTION_RECORDS])
    applied, parts = numbers_at(context[APPLIED]), numbers_at(context[WRENCH_PARTS])
    for i in range(context[MOTIONS]):
        motion = shifted(records, MOTION * i)
        for j in range(motion[M_V], motion[M_V] + motion[M_SPEEDS]):
            parts[j] = applied[j]


@kernel
def settle(context, y):
    """Put the forces that the motions take at y into TAU and APPLIED, after a sweep with APPLIED."""
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, records = numbers_at(context[WORK]), words_at(context[MOTION_RECORDS])
    tau, applied = numbers_at(context[TAU]), numbers_at(context[APPLIED])
    parts = numbers_at(context[WRENCH_PARTS])
    v = shifted(y, topo[NQ])
    for i in range(context[MOTIONS]):
        motion = shifted(records, MOTION * i)
        for r in range(motion[M_SPEEDS]):
            j = motion[M_V] + r
            force = drive_force(topo, const, work, y, v, applied, motion[M_BODY], r)
            applied[j] = force
            tau[j] = force - parts[j]


@kernel
def anchor(context, c, v_rates, base, y_new, rate):
    """Choose the known part `base` of an implicit stage such that base + c rate gives the prescribed motion.

    y_new has the prescribed coordinates and speeds, and v_rates the rates of the speeds; the rates of the coordinates are
    in `rate`.
    """
    topo, records = words_at(context[TOPO]), words_at(context[MOTION_RECORDS])
    nq = topo[NQ]
    for i in range(context[MOTIONS]):
        motion = shifted(records, MOTION * i)
        for j in range(motion[M_Q], motion[M_Q] + motion[M_COORDINATES]):
            base[j] = y_new[j] - c * rate[j]
        for j in range(motion[M_V], motion[M_V] + motion[M_SPEEDS]):
            base[nq + j] = y_new[nq + j] - c * v_rates[j]
