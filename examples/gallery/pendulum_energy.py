"""
Energy of a falling chain
=========================

A chain of four rigid links is let go from the horizontal and tumbles chaotically.
Potential energy becomes kinetic energy and back; the sum is constant to the tolerance of the integrator.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

chain = lb.Assembly("chain", gravity=(0, 0, -9.81))
link = lb.RigidBody(1.0, com=(0.25, 0, 0), inertia=(1e-4, 0.02, 0.02), nodes={"tip": (0.5, 0, 0)})
parent = "world"
for i in range(4):
    chain.attach(f"link{i}", link, lb.Revolute("y"), to=parent, at="tip" if i else None)
    parent = f"link{i}"
result = lb.simulate(chain.build(), 5.0, rtol=1e-10, atol=1e-10)

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(result.t, result.kinetic_energy, label="kinetic")
ax.plot(result.t, result.potential_energy, label="potential")
ax.plot(result.t, result.energy, "k", label="sum")
ax.set(xlabel="time, s", ylabel="energy, J", xlim=(0, 5))
ax.legend(loc="upper right")
assert np.ptp(result.energy) < 1e-6  # J
plt.show()
