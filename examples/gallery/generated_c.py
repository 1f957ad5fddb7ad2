"""
Generated C: a map of flips
===========================

``lb.compile`` generates straight-line C for one system. In this code a step of a double pendulum takes well under a
microsecond, and one call advances a whole batch. The colour shows when the lower rod first turns over, for 120 x 120
initial states at rest.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

rod = lb.RigidBody(1.0, com=(0, -0.5, 0), inertia=(1 / 12, 1e-6, 1 / 12), nodes={"end": (0, -1, 0)})
pendulum = lb.Assembly("double pendulum", gravity=(0, -9.81, 0))
pendulum.attach("upper", rod, lb.Revolute("z"))
pendulum.attach("lower", rod, lb.Revolute("z"), to="upper", at="end")
step = lb.compile(pendulum.build(), "step", lanes=4)

n, dt, end = 120, 0.01, 12.0
angle = np.linspace(-np.pi, np.pi, n)
upper, lower = (x.ravel() for x in np.meshgrid(angle, angle))
q = np.column_stack([upper, lower - upper])  # the lower angle is counted from the upper rod
v, tau = np.zeros_like(q), np.zeros_like(q)
flipped = np.full(n * n, np.nan)
for t in np.arange(dt, end, dt):
    q, v = step(q, v, tau, dt)
    over = np.isnan(flipped) & (np.abs(q.sum(axis=1)) > np.pi)
    flipped[over] = t
# below this energy no rod can turn over
low = 3 * np.cos(upper) + np.cos(lower) > 2.0
assert np.isnan(flipped[low]).all() and np.isfinite(flipped).mean() > 0.3

fig, ax = plt.subplots(figsize=(6.5, 5.2), layout="constrained")
edge = [-180, 180, -180, 180]
image = ax.imshow(
    flipped.reshape(n, n), extent=edge, origin="lower", cmap="magma_r", vmin=0, vmax=8
)
fig.colorbar(image, label="time of the first flip, s (white: none)")
ax.set(xlabel="upper rod, degrees", ylabel="lower rod, degrees")
plt.show()
