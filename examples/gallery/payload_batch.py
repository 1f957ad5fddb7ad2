"""
One slew, a hundred arms
========================

The payload and the stiffness of the longest link are uncertain. Parameters can be changed by name without a new
model, and a batch of simulations runs on all cores. The heavier the payload and the softer the link, the more the arm
swings afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

a = lb.models.canadarm(modes={"y": 1}, damping=0.01)
a.attach("payload", lb.RigidBody(100.0, inertia=[20.0] * 3), lb.Fixed(), to="link3", at="tip")
s = a.build()
turns = {"link1": 0.4, "link2": 0.3, "link3": -0.5}  # rad
slew = {body: lb.trajectories.Cycloid(turn, 10.0) for body, turn in turns.items()}

rng = np.random.default_rng(0)
payload = rng.uniform(20.0, 180.0, 100)  # kg
EI = rng.normal(1e5, 1e4, 100)  # N m^2
batch = lb.simulate(
    s, 20.0, motion=slew, every=0.1, method="sdirk4", rtol=1e-4,
    parameters={"payload.mass": payload, "link2.EI": EI},
)  # fmt: skip
assert batch.finished.all()
tip = 1e3 * np.array([result.deflection("link2", "tip")[:, 1] for result in batch])
left_over = np.ptp(tip[:, batch.t > 10.0], axis=1) / 2

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(1.3, 1))
left.fill_between(
    batch.t, *np.quantile(tip, (0.05, 0.95), axis=0), alpha=0.3, label="90 % of the arms"
)
left.plot(batch.t, np.median(tip, axis=0), label="median")
left.set(xlabel="time, s", ylabel="deflection of link 2, mm", xlim=(0, 20))
left.legend()
dots = right.scatter(payload, left_over, c=EI / 1e3, s=16, cmap="viridis")
right.set(xlabel="payload, kg", ylabel="swing after the slew, mm", ylim=(0, None))
fig.colorbar(dots, label="EI of link 2, kN m$^2$")
plt.show()
