"""
Stick-slip
==========

A block on a rough floor is pulled by a spring whose end moves slowly. It sticks until the spring force exceeds static
friction, jumps, and sticks again. The period agrees with the textbook formula for a block with dry friction.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

m, k, V, static, sliding = 1.0, 20.0, 0.1, 3.0, 2.0  # kg, N/m, m/s, N, N
rough = lb.Prismatic(
    "x",
    stiffness=k,
    friction=sliding,
    static_friction=static,
    friction_speed=1e-5,
    stribeck_speed=1e-3,
)
s = lb.Assembly("block").attach("block", lb.RigidBody(m), rough).build()
ramp = lb.Table([0.0, 8.0], [[0.0], [8.0 * k * V]])  # the end of the spring moves at V
result = lb.simulate(s, 8.0, torque=ramp, method="sdirk4", every=0.002)

omega, jump = np.sqrt(k / m), (static - sliding) / (k * V)
period = 2 * jump + 2 / omega * (np.pi - np.arctan(jump * omega))
starts = result.t[1:][(result.v[1:, 0] > 0.01) & (result.v[:-1, 0] <= 0.01)]
assert np.allclose(np.diff(starts), period, rtol=0.01)

fig, (top, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True)
top.plot(result.t, V * result.t, "0.6", label="end of the spring")
top.plot(result.t, result.q[:, 0], label="block")
top.set(ylabel="position, m", xlim=(0, 8))
top.legend()
below.plot(result.t, k * (V * result.t - result.q[:, 0]), "C1")
below.axhline(static, color="0.6", ls="--")
below.axhline(sliding, color="0.6", ls=":")
below.text(0.05, static, "static", va="bottom")
below.text(0.05, sliding, "sliding", va="bottom")
below.set(xlabel="time, s", ylabel="force of the spring, N", ylim=(0, 3.6))
plt.show()
