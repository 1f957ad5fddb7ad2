"""
Identifying a boom
==================

A boom with a tool at its tip is struck, and a strain gauge records how it rings. From the noisy record the search finds the
stiffness, the damping and the mass of the tool, with bounds that hold the true values. The model it starts from is 14 %
off in frequency and soon runs out of step with the record.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

a = lb.Assembly("boom")
a.attach("boom", lb.beam(1.0, 2.0, EI=500.0, modes={"y": 1}, damping=0.005), lb.Fixed())
a.attach("tool", lb.RigidBody(0.5), lb.Fixed(), to="boom", at="tip")
s = a.build()
gauge = lb.control.StrainGauge("boom", at=0.1, y=0.01, rate=50.0, noise=2e-6)
blow = lb.Table([0.0, 0.1, 0.11], [[0, 0, 0, 0, 5, 0], [0, 0, 0, 0, 5, 0], [0] * 6])
t = np.linspace(0.0, 2.0, 101)
record = lb.identification.simulated_experiment(
    s, gauge, t, external={("tool", None): blow}, seed=1
)

guess = {"boom.EI": 375.0, "boom.damping_ratio": 0.008, "tool.mass": 0.6}
found = lb.identify(s.with_parameters(guess), list(guess), record, gauge)
for name, (low, high) in found.bounds.items():
    assert low < s.parameters[name].value < high

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(2, 1))
first = lb.identification.simulated_experiment(
    s.with_parameters(guess), gauge, t, external={("tool", None): blow}
)
for data, style, label in ((record, ".", "record"), (first, "-", "first guess")):
    color = "0.4" if data is record else "C1"
    left.plot(t, 1e6 * data.readings["strain gauge"][:, 0], style, color=color, ms=4, label=label)
(row,) = found.residuals
left.plot(t, 1e6 * row.modelled, color="C0", label="found")
left.set(xlabel="time, s", ylabel="strain, 1e-6", xlim=(0, 2), ylim=(-300, 380))
left.legend(loc="upper right", ncols=3)
for i, name in enumerate(guess):
    truth = s.parameters[name].value
    low, high = (100 * (x / truth - 1) for x in found.bounds[name])
    right.plot([low, high], [i, i], lw=6, alpha=0.5, color="C0", solid_capstyle="butt")
    right.plot(100 * (found.values[name] / truth - 1), i, "o", color="C0")
right.axvline(0.0, color="0.4", lw=0.8)
right.set_yticks(range(3), ["EI", "damping", "mass"])
right.set(xlabel="off the truth, % (bars: 95 %)", ylim=(-0.5, 2.5))
plt.show()
