"""
A slew of the flexible Canadarm
===============================

The torques are those that would move a rigid arm along a cycloid in 10 s. The flexible links bend by a quarter of a
metre on the way. At the end of the slew the wrist is 0.09 rad off its goal and still drifts, and the links keep
swinging by a centimetre.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

flexible = lb.models.canadarm(modes=2).build()
rigid = lb.models.canadarm(modes=0).build()
path = lb.trajectories.Cycloid([0.75, 0.5, -1.0], duration=10.0)  # rad

times = np.linspace(0, 10, 201)
tau = np.array([lb.inverse_dynamics(rigid, *path(t)) for t in times])
result = lb.simulate(flexible, 15.0, torque=lb.Table(times, tau, smooth=True), every=0.05)
end = np.searchsorted(result.t, 10.0)
assert np.isclose(result.joint("link3")[end, 0], -1.09, atol=0.005)  # rad, where -1 was wanted

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for i in range(0, 201, 40):
    points = lb.viewer.geometry(flexible, result.q[i]).points
    line = np.concatenate([points[f"link{k}"] for k in (1, 2, 3)])
    left.plot(line[:, 0], line[:, 1], color=plt.cm.viridis(i / 220), label=f"{result.t[i]:g} s")
left.set(xlabel="x, m", ylabel="y, m", aspect="equal", title="the arm every 2 s")
left.legend(fontsize="small")
for k in (1, 2, 3):
    right.plot(result.t, 1e3 * result.deflection(f"link{k}", "tip")[:, 1], label=f"link {k}")
right.axvline(10.0, color="0.7", ls="--")
right.text(10.1, right.get_ylim()[0], " torques end", color="0.4", va="bottom")
right.set(xlabel="time, s", ylabel="tip deflection, mm", xlim=(0, 15), title="the links bend")
right.legend()
plt.show()
