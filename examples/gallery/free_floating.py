"""
An arm that turns its own base
==============================

Nothing holds a free-flyer. When its arm swings out and returns along another path, the linear and angular momentum
stay zero, yet the base has turned: a closed loop in the joint angles is not a closed loop for the base. This is how
cats land on their feet.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

flyer = lb.Assembly("free flyer")
flyer.attach("hub", lb.RigidBody(60.0, inertia=(6, 6, 6), nodes={"port": (0.5, 0, 0)}), lb.Free())
link = lb.RigidBody(6.0, (0.5, 0, 0), (0.05, 0.5, 0.5), nodes={"tip": (1, 0, 0)})
flyer.attach("upper", link, lb.Revolute("z"), "hub", "port")
flyer.attach("lower", link, lb.Revolute("z"), "upper", "tip")
s = flyer.build()

loop = np.array([[0, 0], [1.2, 0], [1.2, -2.2], [0, -2.2]])  # corners, angles of the joints
corners = np.vstack([loop, loop, loop, loop[:1]])
path = {
    body: lb.trajectories.Sequence([lb.trajectories.Quintic(*ends, 2.0) for ends in pairwise(x)])
    for body, x in zip(("upper", "lower"), corners.T)
}
result = lb.simulate(s, 24.0, motion=path, every=0.05, rtol=1e-9, atol=1e-11)
assert np.abs(result.momentum).max() < 1e-6
w, _, _, z = result.joint("hub")[:, :4].T
turned = np.degrees(2 * np.unwrap(np.arctan2(z, w)))
assert abs(turned[-1]) > 5.0  # degrees

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(1, 1.5))
left.plot(*np.degrees([result.joint("upper")[:, 0], result.joint("lower")[:, 0]]), "C0")
left.set(
    xlabel="upper joint, degrees",
    ylabel="lower joint, degrees",
    title="three times round this loop",
)
right.plot(result.t, turned, "C1")
for k in (8, 16, 24):
    right.axvline(k, color="0.8")
right.set(xlabel="time, s", ylabel="base turned by, degrees", xlim=(0, 24.3), title="the base")
plt.show()
