"""
A boom in orbit
===============

A satellite with a long boom hangs in the gravity gradient of the Earth, like a pendulum whose period is that of the orbit
divided by the square root of three. Released two degrees off the vertical, it swings about it. The swing is so slow that
the boom bends by only a micrometre.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

a = lb.Assembly("satellite")
bus = lb.RigidBody(80.0, inertia=[6.0, 6.0, 4.0])
a.attach("bus", bus, lb.Free())
boom = lb.beam(12.0, 3.0, EI=20.0, modes={"bending": 1}, damping=0.005)
a.attach("boom", boom, lb.Fixed(), to="bus", offset=(0.3, 0, 0))
a.attach("mass", lb.RigidBody(4.0, inertia=[0.1] * 3), lb.Fixed(), "boom", "tip")
s = a.build()

orbit = lb.orbit.circular(altitude=600e3, inclination=np.radians(97.8))
env = lb.orbit.Environment(orbit)
tilt = np.radians(2.0)
c, d = np.cos(tilt), np.sin(tilt)
q, v = env.start(s, attitude=[[c, -d, 0], [d, c, 0], [0, 0, 1]])
r = lb.simulate(s, 2 * orbit.period, q0=q, v0=v, environment=env, every=20.0, rtol=1e-8, atol=1e-11)

R, _ = lb.pose(s, r.q, "bus")
inside = np.einsum("nji,njk->nik", env.frame(r.t).R, R)  # attitude in the orbital frame
pitch = np.degrees(np.arctan2(inside[:, 1, 0], inside[:, 0, 0]))
theory = 2.0 * np.cos(np.sqrt(3) * 2 * np.pi / orbit.period * r.t)
assert np.abs(pitch - theory).max() < 0.15

fig = plt.figure(figsize=(9, 3.6), layout="constrained")
left, right = fig.subplots(1, 2, width_ratios=(1.7, 1))
left.plot(r.t / orbit.period, pitch, label="simulated")
left.plot(r.t / orbit.period, theory, "--", color="0.4", label="a slender rod")
left.set(xlabel="revolutions", ylabel="off the vertical, degrees", xlim=(0, 2))
left.legend(loc="upper right", ncols=2)
left.set_ylim(-2.2, 3.0)
bend = 1e6 * r.deflection("boom", "tip")[:, 1]
right.plot(r.t / orbit.period, bend, color="C1")
right.set(xlabel="revolutions", ylabel="deflection of the tip, 1e-6 m", xlim=(0, 2))
plt.show()
