"""Joints with physics: rotor inertia, springs, dampers, friction and stops, speed by speed.

The equations of motion are M vdot + bias = tau with the armature a on the diagonal of M and, in the bias,

    f = k (theta - rest) + d beta                                                       spring and damper
      + beta (level + peak / (1 + (beta / v_s)^2)) / sqrt(beta^2 + v_0^2)               friction
      + k_u s(theta - upper) g(c beta) - k_l s(lower - theta) g(-c beta)                stops

    s(x) = (x + sqrt(x^2 + e^2)) / 2,       g(y) = y + sqrt(y^2 + 1)

Friction is smoothed over the speed v_0 and has the Stribeck factor with the speed v_s.  A stop is softened over
the length e.  Its damping factor g is 1 at rest and positive at any speed, so a stop never pulls, and
(g - 1) y >= 0, so it only dissipates energy.  No branch depends on a value: the same lines run compiled, traced
and symbolic.

Needs     speeds that are rates of coordinates for springs and stops (`limber.joints` refuses others)
Cost      4 multiplications a speed; a root and 6 more for friction, four roots and 14 more for stops
"""

from .layout import (
    COLUMNS,
    DOFS,
    END,
    G_DOFS,
    G_Q,
    G_V,
    GENERAL,
    GROUP,
    HAS_FRICTION,
    HAS_STOPS,
    JOINT,
    NV,
    PH_ARMATURE,
    PH_DAMPING,
    PH_FRICTION,
    PH_LOWER,
    PH_LOWER_STOP,
    PH_PEAK,
    PH_REST,
    PH_SMOOTHING,
    PH_SOFTNESS,
    PH_STIFFNESS,
    PH_STOP_DAMPING,
    PH_STRIBECK,
    PH_UPPER,
    PH_UPPER_STOP,
    PHYSICS,
    PHYSICS_RECORD,
    Q_JOINT,
    V_JOINT,
)
from .scalar import kernel, log, sqrt


@kernel
def coordinate_of(topo, k, r):
    """The index in q of the coordinate whose rate is joint speed r of body k."""
    if topo[k + JOINT] == GENERAL:
        g = topo[k + GROUP]
        i = topo[k + V_JOINT] + r
        while i >= topo[g + G_V] + topo[g + G_DOFS]:
            g += COLUMNS
        return topo[g + G_Q] + i - topo[g + G_V]
    else:
        return topo[k + Q_JOINT]


@kernel
def armature(topo, const, k, r):
    """Rotor inertia of joint speed r of body k, as reflected through the gear."""
    if topo[k + PHYSICS] != 0:
        return const[topo[k + PHYSICS] + r * PHYSICS_RECORD + PH_ARMATURE]
    else:
        return 0.0


@kernel
def softplus(x, softness):
    """s(x), and its slope."""
    root = sqrt(x * x + softness)
    s = 0.5 * (x + root)
    return s, s / root


@kernel
def friction_level(const, c, beta):
    """Level of friction at the speed beta, the Stribeck factor in it, and sqrt(beta^2 + v_0^2)."""
    square = beta * beta
    fade = 1.0 / (1.0 + const[c + PH_STRIBECK] * square)
    level = const[c + PH_FRICTION] + const[c + PH_PEAK] * fade
    return level, fade, sqrt(square + const[c + PH_SMOOTHING])


@kernel
def speed_force(topo, const, q, v, k, r):
    """f of joint speed r of body k, which must have physics."""
    c = topo[k + PHYSICS] + r * PHYSICS_RECORD
    theta = q[coordinate_of(topo, k, r)]
    beta = v[topo[k + V_JOINT] + r]
    force = const[c + PH_STIFFNESS] * (theta - const[c + PH_REST]) + const[c + PH_DAMPING] * beta
    if topo[k + HAS_FRICTION] != 0:
        level, _, root = friction_level(const, c, beta)
        force += level * beta / root
    if topo[k + HAS_STOPS] != 0:
        y = const[c + PH_STOP_DAMPING] * beta
        root = sqrt(y * y + 1.0)
        upper, _ = softplus(theta - const[c + PH_UPPER], const[c + PH_SOFTNESS])
        lower, _ = softplus(const[c + PH_LOWER] - theta, const[c + PH_SOFTNESS])
        force += const[c + PH_UPPER_STOP] * upper * (root + y)
        force -= const[c + PH_LOWER_STOP] * lower * (root - y)
    return force


@kernel
def stop_slopes(const, c, theta, beta):
    """Slopes of the force of the stops by theta and by beta."""
    rate = const[c + PH_STOP_DAMPING]
    y = rate * beta
    root = sqrt(y * y + 1.0)
    upper, upper_slope = softplus(theta - const[c + PH_UPPER], const[c + PH_SOFTNESS])
    lower, lower_slope = softplus(const[c + PH_LOWER] - theta, const[c + PH_SOFTNESS])
    into_upper, into_lower = (
        const[c + PH_UPPER_STOP] * (root + y),
        const[c + PH_LOWER_STOP] * (root - y),
    )
    by_theta = into_upper * upper_slope + into_lower * lower_slope
    return by_theta, rate * (into_upper * upper + into_lower * lower) / root


@kernel
def slopes_without_friction(topo, const, q, v, k, r):
    """Slopes by theta and by beta of what spring, damper and stops do along joint speed r of body k."""
    c = topo[k + PHYSICS] + r * PHYSICS_RECORD
    by_theta = const[c + PH_STIFFNESS]
    by_beta = const[c + PH_DAMPING]
    if topo[k + HAS_STOPS] != 0:
        theta, beta = q[coordinate_of(topo, k, r)], v[topo[k + V_JOINT] + r]
        stop_by_theta, stop_by_beta = stop_slopes(const, c, theta, beta)
        by_theta += stop_by_theta
        by_beta += stop_by_beta
    return by_theta, by_beta


@kernel
def speed_slopes(topo, const, q, v, k, r):
    """(df/dtheta, df/dbeta) of `speed_force`."""
    by_theta, by_beta = slopes_without_friction(topo, const, q, v, k, r)
    if topo[k + HAS_FRICTION] != 0:
        c = topo[k + PHYSICS] + r * PHYSICS_RECORD
        beta = v[topo[k + V_JOINT] + r]
        level, fade, root = friction_level(const, c, beta)
        by_beta += level * const[c + PH_SMOOTHING] / (root * root * root)
        fading = 2.0 * const[c + PH_PEAK] * const[c + PH_STRIBECK] * fade * fade
        by_beta -= fading * beta * beta / root
    return by_theta, by_beta


@kernel
def speed_secants(topo, const, q, v, k, r):
    """`speed_slopes` with friction / beta in the place of the slope of friction.

    With the slope, Newton's method jumps from one side of zero speed to the other and back.  With this secant, which
    is never less than the slope or zero, it does not.
    """
    by_theta, by_beta = slopes_without_friction(topo, const, q, v, k, r)
    if topo[k + HAS_FRICTION] != 0:
        c = topo[k + PHYSICS] + r * PHYSICS_RECORD
        level, _, root = friction_level(const, c, v[topo[k + V_JOINT] + r])
        by_beta += level / root
    return by_theta, by_beta


@kernel
def conservative_force(topo, const, q, k, r):
    """The part of f that has a potential: the spring, and the stops without their damping."""
    c = topo[k + PHYSICS] + r * PHYSICS_RECORD
    theta = q[coordinate_of(topo, k, r)]
    force = const[c + PH_STIFFNESS] * (theta - const[c + PH_REST])
    if topo[k + HAS_STOPS] != 0:
        upper, _ = softplus(theta - const[c + PH_UPPER], const[c + PH_SOFTNESS])
        lower, _ = softplus(const[c + PH_LOWER] - theta, const[c + PH_SOFTNESS])
        force += const[c + PH_UPPER_STOP] * upper - const[c + PH_LOWER_STOP] * lower
    return force


@kernel
def stop_energy(x, softness):
    """The integral of s(x) from 0: (x^2 + x sqrt(x^2 + e^2) + e^2 asinh(x / e)) / 4."""
    root = sqrt(x * x + softness)
    e = sqrt(softness)
    # asinh(x / e), in a form that loses few digits for large negative x.  The root is added first: it is not less
    # than |x| even when rounded, and e is left where it is far below |x|.
    asinh = log((root + x + e) / (root - x + e))
    return 0.25 * (x * (x + root) + softness * asinh)


@kernel
def joint_energy(topo, const, q, k):
    """Energy of the springs and stops of the joint of body k, which has physics."""
    total = 0.0
    for r in range(topo[k + DOFS]):
        c = topo[k + PHYSICS] + r * PHYSICS_RECORD
        theta = q[coordinate_of(topo, k, r)]
        x = theta - const[c + PH_REST]
        total += 0.5 * const[c + PH_STIFFNESS] * x * x
        if topo[k + HAS_STOPS] != 0:
            softness = const[c + PH_SOFTNESS]
            total += const[c + PH_UPPER_STOP] * stop_energy(theta - const[c + PH_UPPER], softness)
            total += const[c + PH_LOWER_STOP] * stop_energy(const[c + PH_LOWER] - theta, softness)
    return total


@kernel
def add_joint_forces(topo, const, q, v, vdot, tau, k):
    """Add f and the force of the armature to tau of the joint of body k."""
    if topo[k + PHYSICS] != 0:
        t = topo[k + V_JOINT]
        for r in range(topo[k + DOFS]):
            tau[t + r] += (
                speed_force(topo, const, q, v, k, r) + armature(topo, const, k, r) * vdot[t + r]
            )


@kernel
def joint_forces(topo, const, work, q, v, out):
    """out = f of every joint speed, in the layout of v; zero for modes."""
    for i in range(topo[NV]):
        out[i] = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + PHYSICS] != 0:
            for r in range(topo[k + DOFS]):
                out[topo[k + V_JOINT] + r] = speed_force(topo, const, q, v, k, r)


@kernel
def joint_slopes(topo, const, work, q, v, out):
    """out = df/dtheta of every joint speed, in the layout of v, then df/dbeta; zero for modes."""
    nv = topo[NV]
    for i in range(2 * nv):
        out[i] = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + PHYSICS] != 0:
            for r in range(topo[k + DOFS]):
                i = topo[k + V_JOINT] + r
                by_theta, by_beta = speed_slopes(topo, const, q, v, k, r)
                out[i] = by_theta
                out[nv + i] = by_beta


@kernel
def armatures(topo, const, work, q, out):
    """out = the armature of every joint speed, in the layout of v; zero for modes."""
    for i in range(topo[NV]):
        out[i] = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        for r in range(topo[k + DOFS]):
            out[topo[k + V_JOINT] + r] = armature(topo, const, k, r)
