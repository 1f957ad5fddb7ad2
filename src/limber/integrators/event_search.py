"""Where event functions cross zero within a step.  Compiled only.

Every function has a side: the sign it has had since its last crossing, or 0 while it has stayed at zero.  It crosses
where it takes the other sign.  The functions and their slopes are evaluated at the ends of PARTS parts of a step.  The
slopes show where a function may dip through zero and come back within one part.
"""

from limber.kernels.layout import NQ
from limber.kernels.scalar import kernel
from limber.native.pointers import call, shifted

from .dense_output import dense

#: Parts of a step at whose ends event functions are evaluated, and the fraction of a step over which slopes are taken.
PARTS, NEAR = 4, 1e-6
#: A root is found to this fraction of a step.
ROOT = 1e-14


@kernel
def event_values(step, x, values):
    """The event functions at the fraction x of a step."""
    topo, method, n, h, k, y, t, w, point, address = step
    dense(method, n, h, k, y, x, w, point)
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
        if value > max(abs(da), abs(db)) * (b - a) or b - a < ROOT:
            break
    return 1.0


@kernel
def first_rise(step, i, side, a, b, start, spare):
    """Where a function that starts at zero and is beyond it at b is on its side before: (place, whether there is one).

    The search halves the distance to a.  If the function is nowhere on its side by more than rounding, the place
    returned is the last one at which it is as near to zero as at the start.
    """
    x = b
    for _ in range(60):
        x = a + 0.5 * (x - a)
        event_values(step, x, spare)
        if side * spare[i] > 0.0:
            return x, True
        if abs(spare[i]) <= 4.0 * abs(start):
            return x, False
    return a, False


@kernel
def root(step, i, side, a, b, fa, fb, spare):
    """Where function i crosses zero between the fractions a and b of a step.

    Regula falsi (Illinois), with a bisection at every third iteration.
    """
    if side * fa <= 0.0:
        x, found = first_rise(step, i, side, a, b, fa, spare)
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
        if b - a < ROOT or x == a or x == b:
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
def crossing(step, i, side, direction, a, b, ga, gb, da, db, spare):
    """The first crossing of function i between a and b that counts, as a fraction of the step; 2 if there is none."""
    middle, gm = b, gb
    if side * gb > 0.0:
        # A function beyond zero at the start is so by rounding, or by a motion below the tolerance.
        if side * ga < 0.0 or side * da >= 0.0 or side * db <= 0.0:
            return 2.0
        middle = dip(step, i, side, a, b, da, db, spare)
        if middle >= b:
            return 2.0
        event_values(step, middle, spare)
        gm = spare[i]
    if side * gm < 0.0 and direction * side <= 0.0:
        return root(step, i, side, a, middle, ga, gm, spare)
    if middle < b:  # the function comes back in the direction that counts
        return root(step, i, -side, middle, b, gm, gb, spare)
    return 2.0


@kernel
def first_crossing(step, count, sides, values):
    """The earliest event in a step: (number or -1, fraction of the step).

    sides[i] is the side of function i, sides[count + i] the direction that counts.  sides[2 count + i] is 1 while
    function i has just left zero with a negligible slope.  What it does below the tolerance of the integration is then
    no crossing until it has been seen on its side; at the end of the step its sign becomes its side.  `values` is
    scratch, 5 count numbers.  Afterwards the sides are those at the end of the step or, except for the side of the
    event itself, those at the event.
    """
    ga, da = values, shifted(values, count)
    gb, db = shifted(values, 2 * count), shifted(values, 3 * count)
    spare = shifted(values, 4 * count)
    values_and_slopes(step, count, 0.0, 1.0, ga, da)
    for part in range(PARTS):
        a, b = part / PARTS, (part + 1) / PARTS
        values_and_slopes(step, count, b, a, gb, db)
        which, first = -1, 2.0
        for i in range(count):
            settled = sides[2 * count + i] == 0.0
            if not settled and (sides[i] * gb[i] > 0.0 or part == PARTS - 1):
                sides[2 * count + i] = 0.0
                if sides[i] * gb[i] < 0.0:
                    sides[i] = -sides[i]
            if settled and sides[i] != 0.0:
                x = crossing(
                    step, i, sides[i], sides[count + i], a, b, ga[i], gb[i], da[i], db[i], spare
                )
                if x < first:
                    which, first = i, x
        if which >= 0:
            event_values(step, first, gb)
        for i in range(count):
            # A function that was at zero takes the side it is on.  So does one that crossed in a direction that does
            # not count.
            beyond = sides[i] * gb[i] < 0.0 and sides[count + i] * gb[i] < 0.0
            beyond = beyond and sides[2 * count + i] == 0.0
            if i != which and (sides[i] == 0.0 or beyond):
                sides[i] = 1.0 if gb[i] > 0.0 else (-1.0 if gb[i] < 0.0 else 0.0)
            ga[i], da[i] = gb[i], db[i]
        if which >= 0:
            return which, first
    return -1, 1.0
