"""
Frequencies of a rotor blade
============================

This is a Campbell diagram: the faster a blade spins, the stiffer it is, and more so out of the plane of rotation than
in it. Where a frequency meets a multiple of the speed (grey), it is excited once, twice, ... per revolution.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

speeds = np.linspace(0.0, 30.0, 31)  # rad/s
turns = 60 * speeds / (2 * np.pi)  # a minute
fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
rise = {}
for plane, where, colour in (("z", "out of the plane", "C0"), ("y", "in the plane", "C1")):
    blade = lb.beam(5.0, 30.0, EI=1.5e4, modes={plane: 3}, geometric_stiffening=True)
    rotor = lb.Assembly("rotor")
    rotor.attach("hub", lb.RigidBody(100.0, inertia=(50.0, 50.0, 50.0)), lb.Revolute("z"))
    rotor.attach("blade", blade, lb.Fixed(), "hub", offset=(0.3, 0, 0))
    s = rotor.build()
    omega = []
    for speed in speeds:
        omega.append(lb.modes(s, v=s.speeds({"hub": speed}), locked=["hub"]).omega[:2])
    lines = ax.plot(turns, np.array(omega) / (2 * np.pi), colour)
    lines[0].set_label(where)
    rise[plane] = omega
# Southwell: the squares of the frequencies differ by that of the speed
assert np.allclose(np.square(rise["z"]) - np.square(rise["y"]), speeds[:, None] ** 2, rtol=1e-6)
for k in (1, 2, 3, 4, 6):
    ax.plot(turns, k * turns / 60, color="0.8", lw=1, zorder=0)
    ax.text(275, k * 275 / 60, f"{k}x", color="0.4", ha="center", va="center", clip_on=True)
ax.set(xlabel="speed, turns a minute", ylabel="frequency, Hz", xlim=(0, 286), ylim=(0, 20))
ax.legend(title="bending")
plt.show()
