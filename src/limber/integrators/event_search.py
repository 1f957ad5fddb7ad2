"""Where event functions cross zero within a step.  Compiled only.

Every function has a side: the sign it has had since its last crossing, or 0 while it has stayed at zero.  It crosses
where it takes the other sign.  The functions and their slopes are evaluated at the ends of PARTS parts of a step.  The
slopes show where a function may dip through zero and come back within one part.

A function that was at zero at the last event also has a band.  Its side is decided then, by the motion, and values
within the band are as good as zero: they do not contradict the side.  When the function has left the band, the band is
set to 0.  The band of a function that leaves zero with a negligible slope is infinite.  What such a function does below
the tolerance of the integration is not a crossing.  It leaves its band where it is seen on its side, or at the end of the
step, where its sign becomes its side.
"""

from math import inf

from limber.kernels.layout import NQ
from limber.kernels.scalar import kernel
from limber.native.pointers import call, shifted

from .context import RESOLUTION
from .dense_output import state_within

#: Parts of a step at whose ends event functions are evaluated, and the fraction of a step over which slopes are taken.
PARTS, NEAR = 4, 1e-6


@kernel
def event_values(step, x, values):
    """The event functions at the fraction x of a step."""
    context, topo, method, n, h, k, y, t, w, point, address = step
    state_within(context, method, n, h, k, y, t, x, w, point)
    call(address, t + x * h, point, shifted(point, topo[NQ]), values)


@kernel
def values_and_slopes(step, count, x, toward, values, slopes):
    """The event functions at the fraction x of a step, and their slopes, taken toward the fraction `toward`."""
    near = x + (NEAR if toward > x else -NEAR)
    event_values(step, near, slopes)
    event_values(step, x, values)
    for i in range(count):
        slopes[i] = (slopes[i] - values[i]) / (near - x)


@kernel
def dip(step, i, side, a, b, da, db, spare):
    """A place between the fractions a and b where function i is beyond zero, or 1 if there is none.

    The function comes nearer to zero at a and goes away from it at b; its slopes there are da and db.  The place where
    its slope vanishes is bisected until the function is beyond zero, or until it can no longer be.
    """
    for _ in range(60):
        middle = 0.5 * (a + b)
        event_values(step, middle, spare)
        value = side * spare[i]
        if value < 0.0:
            return middle
        near = middle + NEAR * (b - a)
        event_values(step, near, spare)
        slope = (side * spare[i] - value) / (near - middle)
        if slope < 0.0:
            a, da = middle, slope
        else:
            b, db = middle, slope
        if value > max(abs(da), abs(db)) * (b - a) or b - a < RESOLUTION:
            break
    return 1.0


@kernel
def first_rise(step, i, side, a, b, near, spare):
    """Where a function that starts at zero and is beyond it at b is on its side before: (place, whether there is one).

    The search halves the distance to a.  If the function is nowhere on its side, the place returned is the last one at
    which it is no farther from zero than `near`.
    """
    x = b
    for _ in range(60):
        x = a + 0.5 * (x - a)
        event_values(step, x, spare)
        if side * spare[i] > 0.0:
            return x, True
        if abs(spare[i]) <= near:
            return x, False
    return a, False


@kernel
def root(step, i, side, band, a, b, fa, fb, spare):
    """Where function i crosses zero between the fractions a and b of a step.

    Regula falsi (Illinois), with a bisection at every third iteration.
    """
    if side * fa <= 0.0:
        x, found = first_rise(step, i, side, a, b, max(band, 4.0 * abs(fa)), spare)
        if not found:
            return x
        # At twice the distance the function is beyond zero already.
        b, fa = a + min(b - a, 2.0 * (x - a)), spare[i]
        a = x
        event_values(step, b, spare)
        fb = spare[i]
    if fb == 0.0:
        return b
    x = b
    for iteration in range(200):
        x = (a * fb - b * fa) / (fb - fa)
        if iteration % 3 == 2 or not (a < x < b):
            x = 0.5 * (a + b)
        if b - a < RESOLUTION or x == a or x == b:
            break
        event_values(step, x, spare)
        fx = spare[i]
        if fx == 0.0:
            break
        if (fx > 0.0) == (fb > 0.0):
            b, fb = x, fx
            fa *= 0.5
        else:
            a, fa = x, fx
            fb *= 0.5
    return x


@kernel
def crossing(step, i, side, direction, band, a, b, ga, gb, da, db, spare):
    """The first crossing of function i between a and b that counts: (fraction of the step, side from which it comes).

    The fraction is 2 if there is none.
    """
    if side * gb < -band:
        if direction * side <= 0.0:
            return root(step, i, side, band, a, b, ga, gb, spare), side
        return 2.0, side
    # A function that starts at zero does not dip, nor does one that is beyond it by rounding.
    if band > 0.0 or side * ga < 0.0 or side * da >= 0.0 or side * db <= 0.0:
        return 2.0, side
    middle = dip(step, i, side, a, b, da, db, spare)
    if middle >= b:
        return 2.0, side
    event_values(step, middle, spare)
    gm = spare[i]
    if direction * side <= 0.0:
        return root(step, i, side, band, a, middle, ga, gm, spare), side
    # The function comes back in the direction that counts.
    return root(step, i, -side, band, middle, b, gm, gb, spare), -side


@kernel
def follow(sides, bands, count, i, value, step_ends):
    """Update the side and the band of a function that has no event, given its value."""
    side, direction, band = sides[i], sides[count + i], bands[i]
    leaves = abs(value) > band
    if side != 0.0 and band == inf:
        leaves = side * value > 0.0 or step_ends
    # A function that was at zero takes the side it is on.  So does one that crossed in a direction that does not count,
    # and one whose side is known from its curvature only.
    if leaves and (side == 0.0 or band == inf or (side * value < 0.0 and direction * value < 0.0)):
        sides[i] = 1.0 if value > 0.0 else (-1.0 if value < 0.0 else side)
    if leaves:
        bands[i] = 0.0


@kernel
def first_crossing(step, count, sides, values):
    """The earliest event in a step: (number or -1, fraction of the step).

    sides[i] is the side of function i, sides[count + i] the direction that counts, sides[2 count + i] the band.
    `values` is scratch, 5 count numbers.  Afterwards the sides are those at the end of the step, or those with which the
    functions come to the event.
    """
    bands = shifted(sides, 2 * count)
    ga, da = values, shifted(values, count)
    gb, db = shifted(values, 2 * count), shifted(values, 3 * count)
    spare = shifted(values, 4 * count)
    values_and_slopes(step, count, 0.0, 1.0, ga, da)
    for part in range(PARTS):
        a, b = part / PARTS, (part + 1) / PARTS
        values_and_slopes(step, count, b, a, gb, db)
        which, first, comes_from = -1, 2.0, 0.0
        for i in range(count):
            if sides[i] != 0.0:
                x, side = crossing(
                    step, i, sides[i], sides[count + i], bands[i], a, b, ga[i], gb[i], da[i], db[i], spare
                )  # fmt: skip
                if x < first:
                    which, first, comes_from = i, x, side
        if which >= 0:
            event_values(step, first, gb)
        step_ends = which < 0 and part == PARTS - 1
        for i in range(count):
            if i == which:
                sides[i], bands[i] = comes_from, 0.0
            else:
                follow(sides, bands, count, i, gb[i], step_ends)
            ga[i], da[i] = gb[i], db[i]
        if which >= 0:
            return which, first
    return -1, 1.0
