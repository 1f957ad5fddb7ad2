"""
Input shaping
=============

A shaper splits a command into a few impulses so that the vibrations of the parts cancel. The zero-vibration shaper
(ZV) needs the exact frequency. ZVD and EI take longer and tolerate errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb
from limber import control

a = lb.Assembly("arm")
a.attach("link", lb.beam(1.0, 1.0, EI=60.0, modes={"y": 2}), lb.Revolute("z", armature=0.5))
a.attach("load", lb.RigidBody(1.0, inertia=[0.01] * 3), lb.Fixed(), "link", "tip")
s = a.build()
omega = lb.modes(s, locked=["link"]).omega[0]
move = lb.trajectories.Quintic(0.0, 0.2, 0.4)  # rad, in 0.4 s

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
factor = np.linspace(0.6, 1.4, 161)
swing = {}
for name, shaper in (("none", None), ("ZV", control.zv), ("ZVD", control.zvd), ("EI", control.ei)):
    reference = shaper(omega).shaped(move) if shaper else move
    result = lb.simulate(s, 2.0, motion={"link": reference}, every=0.005)
    tip = 1e3 * result.deflection("link", "tip")[:, 1]
    swing[name] = np.ptp(tip[result.t > reference.duration])
    left.plot(result.t, tip, label=name)
    if shaper:
        right.plot(factor, 100 * np.ravel(shaper(omega).residual(factor * omega)), label=name)
    else:
        right.plot([], [])  # keep the colours
left.set(
    xlabel="time, s",
    ylabel="tip deflection, mm",
    xlim=(0, 2),
    ylim=(-150, 180),
    title="a fast turn of the joint",
)
left.legend(ncols=4, loc="upper center", fontsize="small", columnspacing=1.0)
right.set(
    xlabel="true frequency / assumed one", ylabel="vibration left, %", xlim=(0.6, 1.4), ylim=(0, 70),
    title="if the frequency is wrong",
)  # fmt: skip
right.legend(title="shaper")
assert swing["ZV"] < 0.05 * swing["none"]
plt.show()
