"""One step of an implicit method for stiff modes, in O(N).

SDIRK of order 4(3), five stages, L-stable and stiffly accurate (Hairer & Wanner II, Table 6.5).  The
unknowns of a stage are its accelerations a; with V = v0 + h (... + gamma a), Q = q0 + h (... + gamma Q_dot)
the residual is that of inverse dynamics, and Newton's matrix is the mass matrix with the modal damping
and stiffness added,

    r = tau - ID(Q, V, a),      (M(Q) + h gamma D + (h gamma)^2 K) delta = r,

which an articulated-body sweep solves when every body's modal mass G is replaced by G + h gamma D +
(h gamma)^2 K.  What is left out of the matrix (gravity, Coriolis and gyroscopic terms) is not stiff; the
iteration converges to the exact stage all the same.  Compiled only.
"""

from . import articulated
from .drive import CONST, CONST_SIZE, TAU, TOPO, WORK, forces, numbers_at, shifted, words_at
from .layout import ALIGNED, COLUMNS, END, GRAVITY, MODAL, MODES, NQ, NV
from .manifold import coordinate_rates
from .newton_euler import inverse_dynamics
from .scalar import kernel

STAGES = 5
GAMMA = 0.25
#: A stage has converged when the next correction would be this part of the tolerance.
ENOUGH = 0.02
ITERATIONS = 8


@kernel
def stiffened(topo, const, size, c, out):
    """The constants of the system of Newton's matrix: modal mass G + c D + c^2 K, no other forces.

    Bodies whose modes are eliminated in aligned coordinates have B^T G B besides, which becomes that of the
    new G.
    """
    for i in range(size):
        out[i] = const[i]
    for i in range(3):
        out[GRAVITY + i] = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        m = topo[k + MODES]
        n = m * m
        g = topo[k + MODAL]
        for i in range(n):
            out[g + i] += c * const[g + 2 * n + i] + c * c * const[g + n + i]
            out[g + n + i] = 0.0
            out[g + 2 * n + i] = 0.0
        b = topo[k + ALIGNED]
        if b != 0:
            for r in range(m):
                for s in range(m):
                    total = 0.0
                    for i in range(m):
                        row = 0.0
                        for j in range(m):
                            row += out[g + i * m + j] * const[b + j * m + s]
                        total += const[b + i * m + r] * row
                    out[b + n + r * m + s] = total


@kernel
def implicit_step(context, step, y, tableau, k, y_new, more):
    """y_new after a step, and the rates of the stages in k; returns the evaluations used, 0 for failure.

    step: t, h, rtol, atol.  tableau: A (5 x 5), C (5).  k holds 7 rows of n: the rate at the start,
    those of the stages, the rate at the end.  more: as many numbers as the constants, and 3 n.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, tau = numbers_at(context[WORK]), numbers_at(context[TAU])
    size = context[CONST_SIZE]
    t, h, rtol, atol = step[0], step[1], step[2], step[3]
    A, C = tableau, shifted(tableau, STAGES * STAGES)
    nq, nv = topo[NQ], topo[NV]
    n = nq + nv
    hat = more
    base = shifted(hat, size)
    residual = shifted(base, n)
    change = shifted(residual, n)
    c = GAMMA * h
    stiffened(topo, const, size, c, hat)
    evaluations = 0
    for i in range(STAGES):
        rate = shifted(k, (i + 1) * n)
        before = shifted(k, i * n)
        acc = shifted(rate, nq)
        at = t + C[i] * h
        for j in range(n):
            base[j] = y[j]
            rate[j] = before[j]
            residual[j] = 0.0
        for s in range(i):
            w = h * A[i * STAGES + s]
            ks = shifted(k, (s + 1) * n)
            for j in range(n):
                base[j] += w * ks[j]
        for j in range(n):
            y_new[j] = base[j] + c * rate[j]
        v_new = shifted(y_new, nq)
        # coordinates that belong to these speeds, as after every correction
        coordinate_rates(topo, const, work, y_new, v_new, rate)
        for j in range(nq):
            y_new[j] = base[j] + c * rate[j]
        last = 0.0
        done = False
        for iteration in range(ITERATIONS):
            forces(context, at, y_new)
            inverse_dynamics(topo, const, work, y_new, v_new, acc, 0, topo, const, residual)
            for j in range(nv):
                residual[j] = tau[j] - residual[j]
                change[j] = 0.0
            zero = shifted(change, nv)
            for j in range(nv):
                zero[j] = 0.0
            articulated.forward_dynamics(
                topo, hat, work, y_new, zero, residual, 0, topo, const, change
            )
            evaluations += 1
            size_of = 0.0
            for j in range(nv):
                acc[j] += change[j]
                v_new[j] = base[nq + j] + c * acc[j]
                scale = atol + rtol * max(abs(y[nq + j]), abs(v_new[j]))
                size_of += (c * change[j] / scale) ** 2
            size_of = (size_of / max(nv, 1)) ** 0.5
            coordinate_rates(topo, const, work, y_new, v_new, rate)
            for j in range(nq):
                y_new[j] = base[j] + c * rate[j]
            if not size_of < 1e300:
                return 0
            if iteration > 0:
                shrink = size_of / last if last > 0.0 else 0.0
                if shrink >= 1.0:
                    return 0
                if shrink / (1.0 - shrink) * size_of < ENOUGH:
                    done = True
                    break
            if size_of < 1e-3 * ENOUGH:
                done = True
                break
            last = size_of
        if not done:
            return 0
    end = shifted(k, (STAGES + 1) * n)
    final = shifted(k, STAGES * n)
    for j in range(n):
        end[j] = final[j]
    return evaluations
