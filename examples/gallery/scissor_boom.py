"""
Extending a scissor boom
========================

The boom has ten cells of crossed bars, and every cell is a closed loop. One slider at the base has a prescribed
motion, and all bars follow. The force on the slider peaks while the boom is short, because the bars have poor
leverage there.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

CELLS = 10
s = lb.models.scissor_boom(CELLS, modes=0).build()
steep = np.radians(75)  # bars at 75 degrees to the axis
guess = s.neutral()
for name, angle in (("A", np.pi - 2 * (np.pi / 2 - steep)), ("B", -2 * steep)):
    for i in range(1, CELLS + 1):
        guess[s.layout[f"{name}{i}"].q_joint] = angle
guess[s.layout["A1"].q_joint], guess[s.layout["slider"].q_joint] = steep, np.sin(steep)
q0 = lb.assemble(s, guess, locked=["slider"])
closing = lb.trajectories.Quintic(np.sin(steep), 0.574, 12.0)  # m
with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", lb.ModelWarning
    )  # hinges of a planar boom have superfluous rows
    result = lb.simulate(s, 12.0, q0=q0, motion={"slider": closing}, every=0.1)
reach = result.node("payload").position[:, 0]
assert np.allclose(reach, (CELLS - 0.5) * np.sqrt(1 - result.joint("slider")[:, 0] ** 2))

fig, (top, below) = plt.subplots(2, 1, figsize=(8, 6), layout="constrained", height_ratios=(2, 1))
for k, row in enumerate((0, 50, 70, 120)):
    shape = lb.viewer.geometry(s, result.q[row])
    for name in s.bodies:
        if name[0] in "AB":
            x, y, _ = shape.points[name].T
            top.plot(x, y - 1.2 * k, color="C0" if name[0] == "A" else "C2")
    top.text(-0.2, 0.4 - 1.2 * k, f"{result.t[row]:g} s", ha="right")
top.set(xlabel="x, m", aspect="equal", yticks=[], xlim=(-1.2, 9))
below.plot(result.t, result.driving["slider"][:, 0])
below.set(xlabel="time, s", ylabel="force of the slider, N", xlim=(0, 12))
plt.show()
