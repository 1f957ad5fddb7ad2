"""
A column under a growing load
=============================

``lb.follow`` tracks the equilibrium while a load grows. The frequency of a perfect column falls to zero at Euler's
load. If the load is slightly off its axis, the column bends further and further instead.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

LENGTH, EI = 2.0, 30.0
euler = np.pi**2 * EI / (4 * LENGTH**2)
beam = lb.beam(LENGTH, 3.0, EI=(1e4, EI), modes={"y": 3}, geometric_stiffening=True)
s = lb.Assembly("column").attach("column", beam, lb.Fixed()).build()

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", lb.TheoryWarning)  # bent columns leave the range of the theory
    for off in (0.0, 0.002, 0.01):  # m
        press = {("column", "tip"): [0, 0, -off * euler, -euler, 0, 0]}
        path = lb.follow(s, np.linspace(0, 1.2 if off == 0 else 0.97, 40), external=press)
        bend = [lb.pose(s, q, "column", "tip")[1][1] for q in path.q]
        right.plot(path.factors, 1e3 * np.abs(bend), label=f"{1e3 * off:g} mm")
        if off == 0:
            assert abs(path.critical - 1) < 0.003
            stable = path.factors < path.critical
            frequency = path.omega[stable] / (2 * np.pi)
            left.plot([*path.factors[stable], path.critical], [*frequency, 0.0])
left.set(xlabel="load / Euler's load", ylabel="first frequency, Hz", xlim=(0, 1.1), ylim=(0, None))
right.legend(title="load off the axis by")
right.set(xlabel="load / Euler's load", ylabel="tip deflection, mm", xlim=(0, 1.1), ylim=(-5, 300))
plt.show()
