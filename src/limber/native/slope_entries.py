"""Entry points of slopes by complex steps, exact to rounding.

The kernels are those of `limber.kernels`, compiled once more for complex numbers.  A step of STEP i along a direction
leaves the slope times STEP in the imaginary part.  Its square is nothing beside 1, so nothing is cut off and nothing
cancels: the imaginary parts follow the rules of differentiation exactly.

Steps of parameters are imaginary parts of the constants, which callers hand over as complex numbers.

A step of a freedom of body b changes the motion of the bodies outboard of b alone, and the forces on those inboard of it:
other bodies are passed over.
"""

import cmath

from limber.kernels import plain, responses
from limber.kernels.functions import STEP
from limber.kernels.layout import (
    CLOSURES,
    CLOSURES_END,
    COLUMNS,
    DOFS,
    END,
    MODAL,
    MODES,
    NQ,
    NV,
    PARENT,
    Q_JOINT,
    Q_MODES,
    ROT,
    ROWS,
    V_MODES,
    W_ZF,
    WORK,
    WORK_SIZE,
    Z,
)
from limber.kernels.scalar import kernel
from limber.kernels.vec import load9, mul, zero

from .decorators import NUMBERS_AT, WORD, WORDS_AT, called
from .pointers import complex_at, shifted

_kernels = plain.load(cmath.sin, cmath.cos, cmath.sqrt, cmath.log, compiled=("complex", kernel))
_rates = _kernels.manifold.coordinate_rates
_joint_rate = _kernels.manifold.joint_rate
_inverse = _kernels.newton_euler.inverse_dynamics
_closed = _kernels.closed.forward_dynamics
_multipliers = _kernels.closed.multipliers
_wrenches = _kernels.closed.wrenches
_start_world = _kernels.motion.start_world
_place = _kernels.placement.place
_turn_and_bias = _kernels.motion.turn_and_bias
_acceleration = _kernels.motion.acceleration
_world_place = _kernels.motion.world_place
_body_force = _kernels.newton_euler.body_force
_project_force = _kernels.newton_euler.project_force
_apply_external = _kernels.forces.apply_external
_force_to_parent = _kernels.forces.force_to_parent
_add_joint_forces = _kernels.physics.add_joint_forces

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


@kernel
def _outboard(topo, k, b):
    """Whether body k is body b or outboard of it."""
    while k > b:
        k = topo[k + PARENT]
    return k == b


@kernel
def _move_body(topo, const, w, q, v, vdot, count, k):
    """Motion of body k, and the forces that it needs without external ones."""
    _place(topo, const, w, q, k)
    _turn_and_bias(topo, const, w, q, v, k)
    _acceleration(topo, w, vdot, k)
    _body_force(topo, const, w, q, v, vdot, k)
    if count > 0:
        _world_place(topo, w, k)


@kernel
def _pass_force(topo, w, k, tau):
    """tau of body k, and the force on its parent."""
    n, f = _project_force(topo, w, k, tau)
    if topo[k + PARENT] != 0:
        R = load9(w, topo[k + WORK] + ROT)
        _force_to_parent(topo, w, k, topo[topo[k + PARENT] + MODES], mul(R, n), mul(R, f))


@kernel
def _after_step(topo, const, w, q, v, vdot, count, index, ext, tau, b, out):
    """out[i] = the slope of tau[i] after a step of a freedom of body b.

    Leaves the bodies from b on changed: steps of bodies must be taken from the last body to the first.
    """
    for k in range(b, topo[END], COLUMNS):
        if _outboard(topo, k, b):
            _move_body(topo, const, w, q, v, vdot, count, k)
    for e in range(count):
        if _outboard(topo, index[2 * e], b):
            _apply_external(topo, const, w, q, 1, shifted(index, 2 * e), shifted(ext, 6 * e))
    p = topo[b + PARENT]
    while p != 0:
        # what is not changed by the step has no imaginary part
        zero(w, topo[p + WORK] + Z, 6)
        if topo[p + MODES] > 0:
            zero(w, topo[topo[p + MODAL] + W_ZF], topo[p + MODES])
        p = topo[p + PARENT]
    for i in range(topo[NV]):
        tau[i] = 0.0
    for k in range(topo[END] - COLUMNS, b - 1, -COLUMNS):
        if _outboard(topo, k, b):
            _pass_force(topo, w, k, tau)
            _add_joint_forces(topo, const, q, v, vdot, tau, k)
    p = topo[b + PARENT]
    while p != 0:
        _pass_force(topo, w, p, tau)
        p = topo[p + PARENT]
    for i in range(topo[NV]):
        out[i] = tau[i].imag / STEP


@kernel
def _step_joint(topo, const, w, q, unit, rate, b, j):
    """Step the joint coordinates of body b along speed j; `unit` and `rate` are scratch."""
    for i in range(topo[NV]):
        unit[i] = 0.0
    unit[j] = 1.0
    _joint_rate(topo, const, w, q, unit, rate, b)
    k = b + COLUMNS
    end = topo[k + Q_MODES] if k < topo[END] else topo[NQ]
    for i in range(topo[b + Q_JOINT], end):
        q[i] += rate[i] * (STEP * 1j)


@kernel
def _inverse_slopes(topo, const, work, q, v, vdot, count, index, ext, out):
    """Slopes of inverse dynamics along q and by v; row j belongs to direction j."""
    nq, nv = topo[NQ], topo[NV]
    w, cq, cv, cx, tau, rate = _scratch(topo, work)
    _copy(nq, q, cq)
    _copy(nv, v, cv)
    _copy(nv, vdot, cx)
    _start_world(topo, const, w)
    for k in range(COLUMNS, topo[END], COLUMNS):
        _move_body(topo, const, w, cq, cv, cx, count, k)
    for b in range(topo[END] - COLUMNS, 0, -COLUMNS):
        modes = topo[b + MODES]
        for r in range(modes + topo[b + DOFS]):
            j = topo[b + V_MODES] + r
            if r < modes:
                cq[topo[b + Q_MODES] + r] += STEP * 1j
            else:
                _step_joint(topo, const, w, cq, tau, rate, b, j)
            row = shifted(out, j * nv)
            _after_step(topo, const, w, cq, cv, cx, count, index, ext, tau, b, row)
            _copy(nq, q, cq)
            cv[j] += STEP * 1j
            row = shifted(out, (nv + j) * nv)
            _after_step(topo, const, w, cq, cv, cx, count, index, ext, tau, b, row)
            cv[j] = v[j] + 0j


@called(*_SIGNATURE)
def inverse_slopes_by_steps(topo, const, work, q, v, vdot, count, index, ext, out):
    """Slopes of inverse dynamics along q and by v; row j belongs to direction j."""
    _inverse_slopes(topo, const, work, q, v, vdot, count, index, ext, out)


@called(*_SIGNATURE)
def forward_slopes_by_steps(topo, const, work, q, v, vdot, count, index, ext, out):
    """Slopes of forward dynamics of a tree at vdot along q, by v and by tau; row j belongs to direction j.

    The first two are those of inverse dynamics times -M^{-1}.
    """
    nv = topo[NV]
    _inverse_slopes(topo, const, work, q, v, vdot, count, index, ext, out)
    force = shifted(work, topo[WORK_SIZE])
    zero(force, 0, nv)
    responses.factorize(topo, const, work, q, force)
    for j in range(2 * nv):
        row = shifted(out, j * nv)
        for i in range(nv):
            force[i] = -row[i]
        responses.respond(topo, const, work, force, row)
    zero(force, 0, nv)
    for j in range(nv):
        force[j] = 1.0
        responses.respond(topo, const, work, force, shifted(out, (2 * nv + j) * nv))
        force[j] = 0.0


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
