"""
Static deflection of a crane
============================

A boom of two flexible parts on a joint with a spring carries a growing load. ``lb.equilibrium`` finds its rest
position, and a result of one row has the bending moments.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

crane = lb.Assembly("crane", gravity=(0, 0, -9.81))
end = (6e5, 1e7)  # shapes for heavy loads at the tip: kg, kg m^2
part = lb.beam(4.0, 60.0, EI=5e5, modes={"z": 2}, load=end, geometric_stiffening=True)
up = [[np.cos(0.5), 0, -np.sin(0.5)], [0, 1, 0], [np.sin(0.5), 0, np.cos(0.5)]]
crane.attach("boom", part, lb.Revolute("y", stiffness=4e5), rotation=up)
crane.attach("jib", part, lb.Fixed(), to="boom", at="tip")
s = crane.build()

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
heights = []
for mass in (0.0, 100.0, 200.0, 300.0):
    hook = {("jib", "tip"): [0, 0, 0, 0, 0, -9.81 * mass]}
    q = lb.equilibrium(s, external=hook)
    points = lb.viewer.geometry(s, q).points
    line = np.concatenate([points["boom"], points["jib"]])
    left.plot(line[:, 0], line[:, 2], label=f"{mass:g} kg")
    rest = np.zeros((1, s.nv))
    loads = {place: np.array([wrench]) for place, wrench in hook.items()}
    still = lb.Result(s, np.zeros(1), q[None], rest, rest, external=loads)
    x = np.linspace(0, 4, 21)
    moment = [still.section_forces(body, x).moment_y[0] for body in ("boom", "jib")]
    right.plot(np.concatenate([x, 4 + x]), np.abs(np.concatenate(moment)) / 1e3)
    heights.append(lb.pose(s, q, "jib", "tip")[1][2])
assert np.all(np.diff(heights) < 0)
left.set(xlabel="x, m", ylabel="z, m", aspect="equal", title="at rest")
left.legend(title="on the hook")
right.set(xlabel="along the boom, m", ylabel="bending moment, kN m", xlim=(0, 8), ylim=(0, None))
plt.show()
