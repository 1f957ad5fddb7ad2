"""The torque between two samples of a controller.  Compiled only.

Most torques are held.  That of a speed with a law follows a closed form until the next sample:

    torque = held + fading exp(-rate (t - start)),      start the time of the sample,

a drive whose current loop goes to its new value with the time constant 1 / rate.  It is cut to +- limit, to what the
voltage leaves at the speed v, from -stall - drop v to stall - drop v, and to power / |v|.  A missing limit is
infinite; drop is zero if the voltage does not matter.
"""

from math import exp

from limber.kernels.scalar import kernel
from limber.native.pointers import shifted

from .context import (
    L_DROP,
    L_FADING,
    L_HELD,
    L_LIMIT,
    L_POWER,
    L_RATE,
    L_SPEED,
    L_STALL,
    LAW,
    P_LAWS,
    P_START,
    PLAN_HEAD,
)


@kernel
def follow_laws(plan, t, v, tau):
    """Bring the torques that have laws up to the time t and the speeds v."""
    for number in range(int(plan[P_LAWS])):
        law = shifted(plan, PLAN_HEAD + LAW * number)
        i = int(law[L_SPEED])
        torque = law[L_HELD]
        if law[L_FADING] != 0.0:
            torque += law[L_FADING] * exp(-law[L_RATE] * (t - plan[P_START]))
        torque = max(-law[L_STALL] - law[L_DROP] * v[i], torque)
        torque = min(law[L_STALL] - law[L_DROP] * v[i], torque)
        most = law[L_LIMIT]
        if abs(v[i]) * most > law[L_POWER]:
            most = law[L_POWER] / abs(v[i])
        tau[i] = max(-most, min(most, torque))
