"""
Geometric stiffening
====================

A beam is spun up to a speed above its first frequency (the problem of Kane, Ryan and Banerjee). A linear model of the
beam predicts that it diverges. With geometric stiffening it bends back and straightens out again.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

LENGTH, EI, DENSITY = 10.0, 1.4e4, 1.2  # m, N m^2, kg/m


def turn(t, speed=6.0, T=15.0):
    """Angle, speed and acceleration of the hub: from rest to 6 rad/s in 15 s."""
    w = 2 * np.pi / T
    if t >= T:
        return speed * (t - T / 2), speed, 0.0
    return (
        speed / T * (t**2 / 2 + (np.cos(w * t) - 1) / w**2),
        speed / T * (t - np.sin(w * t) / w),
        speed / T * (1 - np.cos(w * t)),
    )


fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for stiffened, until in ((False, 9.0), (True, 20.0)):
    beam = lb.beam(LENGTH, DENSITY * LENGTH, EI=EI, modes={"y": 3}, geometric_stiffening=stiffened)
    s = lb.Assembly("spin-up").attach("beam", beam, lb.Revolute("z")).build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.TheoryWarning)  # the linear beam bends far too much
        result = lb.simulate(s, until, motion={"beam": turn}, every=0.02)
    tip = result.deflection("beam", "tip")[:, 1]
    ax.plot(result.t, tip, label="with geometric stiffening" if stiffened else "without")
assert -0.7 < tip.min() < -0.5 and abs(tip[-1]) < 0.05  # m
ax.set(xlabel="time, s", ylabel="tip deflection, m", ylim=(-2.0, 0.5), xlim=(0, 20))
ax.legend()
plt.show()
