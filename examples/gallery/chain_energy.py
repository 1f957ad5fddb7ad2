"""
Energy of a falling chain
=========================

A chain of four rigid links is released from the horizontal and tumbles chaotically. Potential energy becomes kinetic
energy and back; their sum stays constant to the tolerance of the integrator.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

chain = lb.Assembly("chain", gravity=(0, 0, -9.81))
link = lb.RigidBody(1.0, com=(0.25, 0, 0), inertia=(1e-4, 0.02, 0.02), nodes={"tip": (0.5, 0, 0)})
chain.attach("link1", link, lb.Revolute("y"))
for i in (2, 3, 4):
    chain.attach(f"link{i}", link, lb.Revolute("y"), to=f"link{i - 1}", at="tip")
result = lb.simulate(chain.build(), 5.0, rtol=1e-10, atol=1e-10)
assert np.ptp(result.energy) < 1e-6  # J

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(1, 1.6))
tip = result.node("link4", "tip").position
left.plot(tip[:, 0], tip[:, 2], lw=0.8)
left.plot(0, 0, "ko")
left.set(xlabel="x, m", ylabel="z, m", title="path of the last tip", aspect="equal")
right.plot(result.t, result.kinetic_energy, label="kinetic")
right.plot(result.t, result.potential_energy, label="potential")
right.plot(result.t, result.energy, "k", label="sum")
right.set(xlabel="time, s", ylabel="energy, J", xlim=(0, 5), ylim=(-45, 60))
right.legend(ncols=3, loc="upper center")
plt.show()
