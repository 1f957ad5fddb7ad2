"""
Colliding balls
===============

An event finds the instant at which a function of the state crosses zero, and may change the state. Two pendulums hang
side by side; when the balls meet, they exchange their speeds, as elastic balls of equal mass do.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

a = lb.Assembly("balls", gravity=(0, 0, -9.81))
for name, x in (("left", -0.05), ("right", 0.05)):
    ball = lb.RigidBody(1.0, com=(0, 0, -1), nodes={"ball": (0, 0, -1)})
    a.attach(name, ball, lb.Revolute("-y"), offset=(x, 0, 0))
s = a.build()


def gap(t, q, v):
    """The distance of the balls, which have a radius of 5 cm."""
    left, right = (lb.pose(s, q, name, "ball")[1] for name in s.bodies)
    return np.linalg.norm(right - left) - 0.1


hit = lb.Event(gap, lambda t, q, v: (q, v[::-1]), direction=-1, name="hit")
result = lb.simulate(s, 8.0, q0=[-0.8, 0.3], events=hit, rtol=1e-9, atol=1e-9, every=0.01)
assert np.ptp(result.energy) < 1e-4 and len(result.events) > 5

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, label in (("left", "left ball"), ("right", "right ball")):
    ax.plot(result.t, np.degrees(result.joint(name)[:, 0]), label=label)
for event in result.events:
    ax.axvline(event.t, color="0.85", zorder=0)
ax.set(xlabel="time, s (grey: collisions)", ylabel="angle, degrees", xlim=(0, 8))
ax.legend(loc="upper right")
plt.show()
