"""The state within a step: dense output, and where event functions cross zero there.  Compiled only."""

from .layout import NQ
from .pointers import call, call_rates, shifted
from .records import DOP853, EVALUATIONS, RATES, RK45, SDIRK
from .scalar import kernel

#: Places in a step where event functions are looked at.
PARTS = 8


@kernel
def combine(n, h, weights, stages, k, y, out):
    """out = y + h sum_j weights[j] k_j."""
    for i in range(n):
        out[i] = y[i]
    for j in range(stages):
        w = h * weights[j]
        if w != 0.0:
            kj = shifted(k, j * n)
            for i in range(n):
                out[i] += w * kj[i]


@kernel
def dense_weights(method, own, s, x, w):
    """Weights of dense output at the fraction x of a step: y + a (y_new - y) + h sum_j w_j k_j.

    Returns a.
    """
    z = 1.0 - x
    for j in range(s + 4):
        w[j] = 0.0
    if method == RK45:
        for j in range(s + 1):
            for p in range(3, -1, -1):
                w[j] = (w[j] + own[s + 1 + 4 * j + p]) * x
        return 0.0
    if method == DOP853:
        d = shifted(own, 2 * (s + 1) + 3 * (s + 4) + 3)
        c3 = x * x * z * z
        for j in range(s + 4):
            w[j] = c3 * (
                d[j] + x * (d[s + 4 + j] + z * (d[2 * (s + 4) + j] + x * d[3 * (s + 4) + j]))
            )
        w[0] += x * z - x * x * z
        w[s] -= x * x * z
        return x - x * z + 2.0 * x * x * z
    if method == SDIRK:
        for j in range(1, s):
            for p in range(2, -1, -1):
                w[j] = (w[j] + own[3 * (j - 1) + p]) * x
        return 0.0
    w[0] = x * z * z
    w[s] = -x * x * z
    return x * x * (3.0 - 2.0 * x)


@kernel
def dense(method, n, h, own, s, k, y, y_new, x, w, out):
    """The state at the fraction x of a step."""
    a = dense_weights(method, own, s, x, w)
    combine(n, h, w, s + 4 if method == DOP853 else s + 1, k, y, out)
    if a != 0.0:
        for i in range(n):
            out[i] += a * (y_new[i] - y[i])


@kernel
def more_stages(context, clock, extra, t, h, n, s, y, k, point):
    """The three more stages that dense output of DOP853 needs."""
    for j in range(3):
        combine(n, h, shifted(extra, j * (s + 4)), s + 1 + j, k, y, point)
        at = t + extra[3 * (s + 4) + j] * h
        call_rates(context[RATES], context, at, point, shifted(k, (s + 1 + j) * n))
    clock[EVALUATIONS] += 3.0


@kernel
def root(topo, method, n, h, own, s, k, y, y_new, t, w, out, address, i, g, a, b, fa, fb):
    """Where event function i crosses zero between the fractions a and b of a step: regula falsi (Illinois)."""
    x = b
    for _ in range(100):
        x = (a * fb - b * fa) / (fb - fa)
        if not (a < x < b):
            x = 0.5 * (a + b)
        if b - a < 1e-14 or x == a or x == b:
            break
        dense(method, n, h, own, s, k, y, y_new, x, w, out)
        call(address, t + x * h, out, shifted(out, topo[NQ]), g)
        fx = g[i]
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
def first_event(topo, method, n, h, own, s, k, y, y_new, t, w, out, address, count, side, g, found):
    """The earliest event in a step: (number or -1, fraction of the step).

    side[i] is the sign of function i since its last crossing; side[count + i] the direction that counts.
    The functions are looked at in PARTS places of a step, so that a crossing there and back is seen.
    """
    call(address, t, y, shifted(y, topo[NQ]), found)
    for part in range(PARTS):
        a, b = part / PARTS, (part + 1) / PARTS
        dense(method, n, h, own, s, k, y, y_new, b, w, out)
        call(address, t + b * h, out, shifted(out, topo[NQ]), g)
        best, which = 2.0, -1
        for i in range(count):
            old, new = found[i], g[i]
            found[i] = new
            if side[i] == 0.0:
                side[i] = 1.0 if new > 0.0 else (-1.0 if new < 0.0 else 0.0)
            elif new * side[i] < 0.0 and side[count + i] * new >= 0.0:
                if old * side[i] <= 0.0:
                    old = side[i] * 1e-300  # it starts on the surface
                x = root(
                    topo, method, n, h, own, s, k, y, y_new, t, w, out, address, i, g, a, b, old, new,
                )  # fmt: skip
                if x < best:
                    best, which = x, i
                # g is that of another place now
                dense(method, n, h, own, s, k, y, y_new, b, w, out)
                call(address, t + b * h, out, shifted(out, topo[NQ]), g)
        if which >= 0:
            return which, best
        for i in range(count):
            if found[i] * side[i] < 0.0:
                side[i] = -side[i]  # crossed in the direction that does not count
    return -1, 1.0
