"""
The fastest slew
================

In the minimum-time slew under torque limits the motors push as hard as they can and switch a few times, and the
flexible arm is at rest at the end. A cycloid with the same limits takes longer and leaves the arm ringing.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb
from limber import control

a = lb.Assembly("arm")
upper = lb.beam(1.0, 1.5, EI=200.0, modes={"y": 1}, damping=0.005)
a.attach("upper", upper, lb.Revolute("z", armature=0.5))
fore = lb.beam(1.0, 1.0, EI=100.0, modes={"y": 1}, damping=0.005)
a.attach("fore", fore, lb.Revolute("z", armature=0.3), "upper", "tip")
a.attach("load", lb.RigidBody(1.0, inertia=[0.01] * 3), lb.Fixed(), "fore", "tip")
s = a.build()

limits = np.array([20.0, 8.0])  # N m
costs = [control.MinimumTime(), control.Effort(1e-4)]
goal = {"upper": 0.8, "fore": -0.6}
found = control.OptimalControl(
    s, (0.6, 2.0), 30, end=goal, torque=limits, costs=costs, substeps=4
).solve()
assert found.success and found.duration < 0.95  # s
result = lb.simulate(s, 1.4, torque=found.torque, every=0.005)

fig, (top, middle, below) = plt.subplots(3, 1, figsize=(7, 6.5), layout="constrained", sharex=True)
for k, body in enumerate(goal):
    top.plot(result.t, np.degrees(result.joint(body)[:, 0]), f"C{k}", label=body)
    middle.plot(result.t, result.tau[:, s.layout[body].v_joint.start], f"C{k}")
    middle.axhline(limits[k], color=f"C{k}", ls=":", lw=1)
    middle.axhline(-limits[k], color=f"C{k}", ls=":", lw=1)
    below.plot(result.t, 1e3 * result.deflection(body, "tip")[:, 1], f"C{k}")
top.set(ylabel="joint, degrees", title=f"at rest after {found.duration:.3f} s", xlim=(0, 1.4))
top.legend()
middle.set(ylabel="torque, N m")
below.set(xlabel="time, s", ylabel="tip deflection, mm")
plt.show()
