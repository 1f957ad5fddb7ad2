"""
The intermediate axis
=====================

A body that spins about its axis of intermediate inertia turns over again and again. Linear theory gives the rate at
which the first disturbance grows; after that the motion is periodic, on the curve where the ellipsoids of energy and
momentum intersect.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

body = lb.RigidBody(1.0, inertia=(1.0, 2.0, 2.5))
s = lb.Assembly("book").attach("book", body, lb.Free()).build()
spin = np.array([0.0, 3.0, 0, 0, 0, 0])
growth = lb.modes(s, v=spin).growth[0]
assert np.isclose(growth, 3.0 * np.sqrt((2.0 - 1.0) * (2.5 - 2.0) / (1.0 * 2.5)))

fig = plt.figure(figsize=(9, 4), layout="constrained")
left, right = fig.add_subplot(1, 2, 1), fig.add_subplot(1, 2, 2, projection="3d")
start = np.array([1e-4, 3.0, 1e-4, 0, 0, 0])
result = lb.simulate(s, 40.0, v0=start, rtol=1e-10, atol=1e-12, every=0.02)
for k, name in enumerate("xyz"):
    left.plot(result.t, result.v[:, k], label=name)
left.set(xlabel="time, s", ylabel="spin about body axes, rad/s", xlim=(0, 40))
left.legend(loc=(0.36, 0.6), fontsize="small", title=f"grows at {growth:.2f}/s")
for first in np.linspace(0.05, 1.4, 8):
    for axis in ((0, 1), (2, 1)):
        v0 = np.zeros(6)
        v0[axis[0]], v0[axis[1]] = 3.0 * np.sin(first), 3.0 * np.cos(first)
        I = np.array([1.0, 2.0, 2.5])
        v0[:3] *= 6.0 / np.linalg.norm(I * v0[:3])  # the same momentum
        w = I * lb.simulate(s, 12.0, v0=v0, every=0.05).v[:, :3]
        right.plot(*w.T, lw=0.8, color="C0" if axis[0] == 0 else "C2")
        right.plot(*(-w).T, lw=0.8, color="C0" if axis[0] == 0 else "C2")
right.set(
    xlabel="x",
    ylabel="y",
    zlabel="z",
    title="paths of the momentum, kg m$^2$/s",
    box_aspect=(1, 1, 1),
)
plt.show()
