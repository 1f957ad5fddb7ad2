"""
A robot from a URDF file
========================

``lb.load`` reads an arm from a URDF file of other programs. The map shows the torque that its shoulder needs to hold
each posture within the joint limits: one call computes all 40,401 of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb
from limber.cli.examples import folder

s = lb.load(folder() / "two_link.urdf").build()
limit = s.joints["upper_arm"].physics.upper[0]  # rad
shoulder, elbow = np.meshgrid(np.linspace(-limit, limit, 201), np.linspace(-np.pi, np.pi, 201))
hold = lb.bias(s, np.stack([shoulder, elbow], axis=-1), np.zeros(s.nv))[..., 0]
assert hold.shape == (201, 201) and np.allclose(hold[0], hold[-1])  # a whole turn of the elbow

fig, ax = plt.subplots(figsize=(6.5, 5.2), layout="constrained")
where = np.degrees(shoulder), np.degrees(elbow)
most = np.abs(hold).max()
levels = ax.contourf(*where, hold, np.linspace(-most, most, 25), cmap="RdBu_r")
ax.contour(*where, hold, [0.0], colors="k")
fig.colorbar(levels, label="torque of the shoulder, N m (black: none)", format="%.0f")
ax.set(xlabel="shoulder, degrees", ylabel="elbow, degrees")
plt.show()
