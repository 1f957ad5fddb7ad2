"""Entry points of derivatives by complex steps, exact to rounding.

The kernels are those of `limber.kernels`, compiled once more for complex numbers.  A step of STEP i along a direction
leaves the derivative times STEP in the imaginary part.  Its square is negligible compared to 1, so nothing is truncated
and nothing cancels: the imaginary parts follow the rules of differentiation exactly.

Steps of parameters are imaginary parts of the constants, which callers pass as complex numbers.
"""

import cmath

from limber.kernels import plain
from limber.kernels.functions import STEP
from limber.kernels.layout import (
    CLOSURES,
    CLOSURES_END,
    COLUMNS,
    NQ,
    NV,
    ROWS,
    WORK_SIZE,
)
from limber.kernels.scalar import kernel

from .decorators import NUMBERS_AT, WORD, WORDS_AT, called
from .pointers import complex_at, shifted

_kernels = plain.load(cmath.sin, cmath.cos, cmath.sqrt, cmath.log, compiled=("complex", kernel))
_rates = _kernels.manifold.coordinate_rates
_inverse = _kernels.newton_euler.inverse_dynamics
_closed = _kernels.closed.forward_dynamics
_multipliers = _kernels.closed.multipliers
_wrenches = _kernels.closed.wrenches

_SIGNATURE = WORDS_AT, *[NUMBERS_AT] * 5, WORD, WORDS_AT, NUMBERS_AT, NUMBERS_AT


@kernel
def _copy(n, given, to):
    for i in range(n):
        to[i] = given[i] + 0j


@kernel
def _imaginary(n, x, out):
    """out = the slopes in n numbers."""
    for i in range(n):
        out[i] = x[i].imag / STEP


@kernel
def _scratch(topo, work):
    """Complex vectors in the scratch behind `work`: another `work`, q, v, x, the result, and one more of their size."""
    w = complex_at(shifted(work, topo[WORK_SIZE]))
    q = shifted(w, topo[WORK_SIZE])
    v = shifted(q, topo[NQ])
    x = shifted(v, topo[NV])
    result = shifted(x, topo[NV])
    return w, q, v, x, result, shifted(result, topo[NV])


# --- inverse dynamics of trees ----------------------------------------------------------------------------


@called(*_SIGNATURE)
def inverse_slope_by_constants(topo, const, work, q, v, vdot, count, index, ext, out):
    """The slope of inverse dynamics along the imaginary parts of the constants."""
    w, cq, cv, cx, tau, _ = _scratch(topo, work)
    _copy(topo[NQ], q, cq)
    _copy(topo[NV], v, cv)
    _copy(topo[NV], vdot, cx)
    _inverse(topo, complex_at(const), w, cq, cv, cx, count, index, ext, tau)
    _imaginary(topo[NV], tau, out)


# --- forward dynamics of closed systems -------------------------------------------------------------------


@kernel
def _move(topo, const, w, q, v, x, j):
    """A step of q along direction j of the tangent space; v and x are scratch."""
    nq, nv = topo[NQ], topo[NV]
    for i in range(nv):
        v[i] = 0.0
    v[j] = 1.0
    _rates(topo, const, w, q, v, x)
    for i in range(nq):
        q[i] += x[i] * (STEP * 1j)


@kernel
def _closed_slope(topo, const, w, q, v, tau, count, index, ext, vdot, out, forces):
    """The slopes of vdot and of what the closures exert, from the imaginary parts of all that is given."""
    rows = shifted(vdot, topo[NQ] + topo[NV])  # behind the last vector of `_scratch`
    exerted = shifted(rows, topo[ROWS])
    _closed(topo, const, w, q, v, tau, count, index, ext, vdot)
    _multipliers(topo, w, rows)
    _wrenches(topo, const, w, q, rows, exerted)
    _imaginary(topo[NV], vdot, out)
    _imaginary((topo[CLOSURES_END] - topo[CLOSURES]) // COLUMNS * 6, exerted, forces)


@called(*_SIGNATURE)
def closed_slopes_by_steps(topo, const, work, q, v, tau, count, index, ext, out):
    """Slopes of forward dynamics of closed systems along q, by v and by tau, and of what the closures exert.

    Row j belongs to direction j.
    """
    nq, nv = topo[NQ], topo[NV]
    n = (topo[CLOSURES_END] - topo[CLOSURES]) // COLUMNS * 6
    w, cq, cv, cx, vdot, rate = _scratch(topo, work)
    for j in range(3 * nv):
        i = j % nv
        _copy(nq, q, cq)
        if j < nv:
            _move(topo, const, w, cq, cv, rate, i)
        _copy(nv, v, cv)
        _copy(nv, tau, cx)
        if j >= 2 * nv:
            cx[i] += STEP * 1j
        elif j >= nv:
            cv[i] += STEP * 1j
        row, forces = shifted(out, j * nv), shifted(out, 3 * nv * nv + j * n)
        _closed_slope(topo, const, w, cq, cv, cx, count, index, ext, vdot, row, forces)


@called(*_SIGNATURE)
def closed_slope_by_constants(topo, const, work, q, v, tau, count, index, ext, out):
    """The slope of forward dynamics along the imaginary parts of the constants, and that of what the closures exert."""
    nv = topo[NV]
    w, cq, cv, cx, vdot, _ = _scratch(topo, work)
    _copy(topo[NQ], q, cq)
    _copy(nv, v, cv)
    _copy(nv, tau, cx)
    forces = shifted(out, nv)
    _closed_slope(topo, complex_at(const), w, cq, cv, cx, count, index, ext, vdot, out, forces)
