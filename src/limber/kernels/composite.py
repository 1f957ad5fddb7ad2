"""Mass matrix by composite bodies, and forward dynamics by solving with it.

Solves    R(k) = sum_c phi R(c) phi^T + M_m(k),  M(k, k) = H R H^T + armature,  M(j, k) = H(j) phi ... R(k) H^T
          (Jain & Rodriguez, Eqs. (47) to (50)); then M vdot = tau - C (46) by L D L^T
Given     q (and v, tau, external wrenches)
Computes  the mass matrix, row-major; vdot
Sweep     tip to base, one inward run per degree of freedom
Cost      for N bodies of m modes in a chain about N (48 m + 400) + N^2/2 (6 m^2 + 30 m + 24)
          multiplications; the solution (N (m + 1))^3 / 6 more
"""

from . import ldlt
from .forces import force_to_joint, inertia_to_joint, inertia_to_parent
from .inertia import (
    accumulate_rigid,
    load_inertia,
    rotate_symmetric,
    shift_rigid,
)
from .joints import joint_column, joint_row
from .layout import (
    ATTACHED,
    COLUMNS,
    DOFS,
    END,
    I_SHAPES,
    INBOARD,
    MODAL,
    MODES,
    NV,
    ORIGIN,
    PARENT,
    RIGIDLY,
    ROT,
    SCRATCH,
    V_JOINT,
    V_MODES,
    W_DF,
    W_INBOARD,
    W_MU,
    W_NODE,
    WORK,
    P,
)
from .modal import body_mass, moment_of, store_rigid
from .newton_euler import inverse_dynamics
from .physics import armature
from .placement import place
from .scalar import kernel
from .vec import add, cross, dot, load3, load6, load9, mul


@kernel
def joint_rows(topo, work, k, matrix, c, n, f):
    """Write H (n, f) to column c of the mass matrix, in the rows of the joint of body k, and to row c."""
    size = topo[NV]
    t = topo[k + V_JOINT]
    for r in range(topo[k + DOFS]):
        x = joint_row(topo, work, k, r, n, f)
        matrix[(t + r) * size + c] = x
        matrix[c * size + t + r] = x


@kernel
def spawn(topo, work, k, matrix, c, n, f):
    """Carry the wrench (n, f) at the joint of body k inward and fill column c of the ancestors."""
    size = topo[NV]
    joint_rows(topo, work, k, matrix, c, n, f)
    while topo[k + PARENT] != 0:
        p = topo[k + PARENT]
        b = topo[k + WORK]
        R = load9(work, b + ROT)
        n = mul(R, n)
        f = mul(R, f)
        m = topo[p + MODES]
        e = topo[p + V_MODES]
        if topo[k + ATTACHED] != RIGIDLY:
            i = topo[k + W_NODE]
            for r in range(m):
                x = dot(load3(work, i + 6 * r), n) + dot(load3(work, i + 6 * r + 3), f)
                matrix[(e + r) * size + c] = x
        else:
            for r in range(m):
                matrix[(e + r) * size + c] = 0.0
        n = add(n, cross(load3(work, b + ORIGIN), f))
        if topo[p + INBOARD] != 0:
            i = topo[p + W_INBOARD] + I_SHAPES
            for r in range(m):
                s = i + 6 * r
                matrix[(e + r) * size + c] -= dot(load3(work, s), n) + dot(load3(work, s + 3), f)
            n, f = force_to_joint(topo, work, p, n, f)
        for r in range(m):
            matrix[c * size + e + r] = matrix[(e + r) * size + c]
        joint_rows(topo, work, p, matrix, c, n, f)
        k = p


@kernel
def place_masses(topo, const, work, q):
    """Place every body and compute its own inertia."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        body_mass(topo, const, work, q, k)


@kernel
def composite_to_parent(topo, work, k):
    """Add the composite inertia of body k to that of its parent.

    The composite of a body and all bodies outboard of it, with their modes at rest, is a rigid body.
    """
    p = topo[k + PARENT]
    if p != 0:
        b = topo[k + WORK]
        R = load9(work, b + ROT)
        mass = work[b + P + 15]
        moment = mul(R, moment_of(work, b))
        J = rotate_symmetric(R, load6(work, b + P))
        if topo[k + ATTACHED] != RIGIDLY:
            store_rigid(work, b + SCRATCH, mass, moment, J)
            inertia_to_parent(topo, work, k, topo[p + MODES])
        else:
            moment, J = shift_rigid(load3(work, b + ORIGIN), mass, moment, J)
            accumulate_rigid(work, topo[p + WORK] + P, mass, moment, J)


@kernel
def diagonal(topo, const, work, q, out):
    """The diagonal of the mass matrix, in O(N)."""
    place_masses(topo, const, work, q)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        if topo[k + INBOARD] != 0:
            inertia_to_joint(topo, work, k)
        A, B, C = load_inertia(work, topo[k + WORK] + P)
        m = topo[k + MODES]
        df = topo[topo[k + MODAL] + W_DF]
        for r in range(m):
            out[topo[k + V_MODES] + r] = work[df + r * m + r]
        for r in range(topo[k + DOFS]):
            n, f = joint_column(topo, work, k, r, A, B, C)
            x = joint_row(topo, work, k, r, n, f) + armature(topo, const, k, r)
            out[topo[k + V_JOINT] + r] = x
        composite_to_parent(topo, work, k)


@kernel
def mass_matrix(topo, const, work, q, matrix):
    """The mass matrix, row-major in `matrix`; see the head of this file."""
    size = topo[NV]
    for i in range(size * size):
        matrix[i] = 0.0
    place_masses(topo, const, work, q)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        if topo[k + INBOARD] != 0:
            # the composites of the children have been added: refer the sum to the joint
            inertia_to_joint(topo, work, k)
        A, B, C = load_inertia(work, topo[k + WORK] + P)
        m = topo[k + MODES]
        modal = topo[k + MODAL]
        mu = topo[modal + W_MU]
        df = topo[modal + W_DF]
        e = topo[k + V_MODES]
        for r in range(m):
            for s in range(r + 1):
                x = work[df + s * m + r]
                matrix[(e + r) * size + e + s] = x
                matrix[(e + s) * size + e + r] = x
            spawn(
                topo, work, k, matrix, e + r, load3(work, mu + 6 * r), load3(work, mu + 6 * r + 3)
            )
        t = topo[k + V_JOINT]
        for r in range(topo[k + DOFS]):
            n, f = joint_column(topo, work, k, r, A, B, C)
            spawn(topo, work, k, matrix, t + r, n, f)
            matrix[(t + r) * size + t + r] += armature(topo, const, k, r)
        composite_to_parent(topo, work, k)


@kernel
def forward_dynamics(topo, const, work, q, v, tau, ext_count, ext_index, ext, vdot, matrix):
    """vdot of (q, v, tau) by the mass matrix.

    `matrix` has nv^2 numbers; it is left with the factorization.
    """
    size = topo[NV]
    for i in range(size):
        vdot[i] = 0.0
    # the first row of `matrix` holds the bias C until the mass matrix is formed
    inverse_dynamics(topo, const, work, q, v, vdot, ext_count, ext_index, ext, matrix)
    for i in range(size):
        vdot[i] = tau[i] - matrix[i]
    mass_matrix(topo, const, work, q, matrix)
    ldlt.factorize(matrix, 0, size)
    ldlt.solve(matrix, 0, size, vdot, 0)
