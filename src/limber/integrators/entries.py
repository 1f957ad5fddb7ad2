"""The compiled entry points of a simulation."""

from limber.native.decorators import (
    NUMBER,
    NUMBERS,
    NUMBERS_AT,
    WORD,
    WORDS,
    WORDS_AT,
    called,
    entry,
)
from limber.native.vectors import pointer

from . import advance, environment, implicit, projection, rates


@entry(WORDS, *[NUMBERS] * 10, WORD)
def simulate(
    context, method, y, k, scratch, clock, sides, stops, times, y_out, force_out, max_steps
):  # fmt: skip
    """Advance a simulation; see `advance`."""
    return advance.advance(
        pointer(context), pointer(method), pointer(y), pointer(k), pointer(scratch), pointer(clock),
        pointer(sides), pointer(stops), pointer(times), times.size, pointer(y_out), pointer(force_out),
        max_steps,
    )  # fmt: skip


# --- parts of a simulation, called by address -----------------------------------------------------------


@called(WORDS_AT, NUMBER, NUMBERS_AT, NUMBERS_AT)
def engine_rates(context, t, y, dy):
    """`rates.rates`."""
    rates.rates(context, t, y, dy)


@called(WORDS_AT, NUMBER, NUMBERS_AT)
def engine_forces(context, t, y):
    """`rates.forces`."""
    rates.forces(context, t, y)


@called(WORDS_AT, *[NUMBERS_AT] * 5)
def engine_implicit(context, step, y, method, k, y_new):
    """`implicit.implicit_step`."""
    return implicit.implicit_step(context, step, y, method, k, y_new)


@called(WORDS_AT, NUMBERS_AT, NUMBERS_AT)
def engine_projection(context, metric, y):
    """`projection.project`."""
    return projection.project(context, metric, y)


@called(WORDS_AT, NUMBER, NUMBERS_AT, NUMBERS_AT)
def orbital_forces(context, t, y, out):
    """`environment.forces`."""
    environment.forces(context, t, y, out)
