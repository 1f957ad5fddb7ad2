"""Entry points on complex numbers: slopes by complex steps, exact to rounding.

The kernels are those of `limber.kernels`, compiled once more for complex numbers.  A step of STEP i along a direction
leaves the slope times STEP in the imaginary part.  Its square is zero in floating-point numbers, so nothing is cut off
and nothing cancels: the imaginary parts follow the rules of differentiation exactly.
"""

import cmath

import numba

from limber.kernels import plain
from limber.kernels.layout import NQ, NV, WORK_SIZE
from limber.kernels.scalar import OPTIONS

from .decorators import NUMBERS_AT, WORD, WORDS_AT, called
from .pointers import complex_at, shifted

_kernel = numba.njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
_kernels = plain.load(cmath.sin, cmath.cos, cmath.sqrt, cmath.log, compiled=("complex", _kernel))
_rates = _kernels.manifold.coordinate_rates
_inverse = _kernels.newton_euler.inverse_dynamics
_closed = _kernels.closed.forward_dynamics

STEP = 1e-150
_SIGNATURE = WORDS_AT, *[NUMBERS_AT] * 5, WORD, WORDS_AT, NUMBERS_AT, NUMBERS_AT


@_kernel
def _copy(n, given, to):
    for i in range(n):
        to[i] = given[i] + 0j


@_kernel
def _scratch(topo, work):
    """Complex vectors in the scratch behind `work`: another `work`, q, v, x and the result."""
    w = complex_at(shifted(work, topo[WORK_SIZE]))
    q = shifted(w, topo[WORK_SIZE])
    v = shifted(q, topo[NQ])
    x = shifted(v, topo[NV])
    return w, q, v, x, shifted(x, topo[NV])


@_kernel
def _move(topo, const, w, q, v, x, j):
    """A step of q along direction j of the tangent space; v and x are scratch."""
    nq, nv = topo[NQ], topo[NV]
    for i in range(nv):
        v[i] = 0.0
    v[j] = 1.0
    # the rates take room for nq numbers, and q - v - x lie one after the other
    _rates(topo, const, w, q, v, x)
    for i in range(nq):
        q[i] += x[i] * (STEP * 1j)


@_kernel
def _imaginary(n, x, out, at):
    for i in range(n):
        out[at + i] = x[i].imag / STEP


@called(*_SIGNATURE)
def inverse_slopes_by_steps(topo, const, work, q, v, vdot, count, index, ext, out):
    """Slopes of inverse dynamics along q and by v; row j belongs to direction j."""
    nq, nv = topo[NQ], topo[NV]
    w, cq, cv, cx, result = _scratch(topo, work)
    for j in range(nv):
        _copy(nq, q, cq)
        _move(topo, const, w, cq, cv, cx, j)
        _copy(nv, v, cv)
        _copy(nv, vdot, cx)
        _inverse(topo, const, w, cq, cv, cx, count, index, ext, result)
        _imaginary(nv, result, out, j * nv)
        _copy(nq, q, cq)
        cv[j] += STEP * 1j
        _inverse(topo, const, w, cq, cv, cx, count, index, ext, result)
        _imaginary(nv, result, out, (nv + j) * nv)


@called(*_SIGNATURE)
def closed_slopes_by_steps(topo, const, work, q, v, tau, count, index, ext, out):
    """Slopes of forward dynamics of closed systems along q, by v and by tau; row j belongs to direction j."""
    nq, nv = topo[NQ], topo[NV]
    w, cq, cv, cx, result = _scratch(topo, work)
    for j in range(nv):
        _copy(nq, q, cq)
        _move(topo, const, w, cq, cv, cx, j)
        _copy(nv, v, cv)
        _copy(nv, tau, cx)
        _closed(topo, const, w, cq, cv, cx, count, index, ext, result)
        _imaginary(nv, result, out, j * nv)
        _copy(nq, q, cq)
        cv[j] += STEP * 1j
        _closed(topo, const, w, cq, cv, cx, count, index, ext, result)
        _imaginary(nv, result, out, (nv + j) * nv)
        _copy(nv, v, cv)
        cx[j] += STEP * 1j
        _closed(topo, const, w, cq, cv, cx, count, index, ext, result)
        _imaginary(nv, result, out, (2 * nv + j) * nv)
