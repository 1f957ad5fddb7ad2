"""
Coupler curves of a four-bar linkage
====================================

The crank turns once. Every point that moves with the coupler traces its own curve. The closure is a joint that cuts
the loop; a rough initial guess of the angles is enough to assemble it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import limber as lb


def rod(length, **nodes):
    """A thin rod along x; its tip, and further nodes."""
    places = {"tip": (length, 0, 0), **nodes}
    return lb.RigidBody(1.0, (length / 2, 0, 0), (0, length**2 / 12, length**2 / 12), places)


drawn = {f"p{i}": (1.25, height, 0) for i, height in enumerate(np.linspace(0.0, 1.6, 5))}
linkage = lb.Assembly("four-bar")
linkage.attach("crank", rod(1.0), lb.Revolute("z"))
linkage.attach("coupler", rod(2.5, **drawn), lb.Revolute("z"), to="crank", at="tip")
linkage.attach("rocker", rod(1.8), lb.Revolute("z"), offset=(2.2, 0, 0))
linkage.close(("coupler", "tip"), ("rocker", "tip"), lb.Spherical(), name="pin")
s = linkage.build()

start = lb.assemble(s, [0.0, 0.5, 1.5], locked=["crank"])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", lb.ModelWarning)  # a planar linkage needs two rows of three
    turn = lb.simulate(
        s, 2.0, q0=start, motion={"crank": lb.trajectories.Cycloid(2 * np.pi, 2.0)}, every=0.01
    )
assert np.isclose(turn.q[-1, 2], start[2])  # after one turn the rocker is back

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name in drawn:
    x, y, _ = turn.node("coupler", name).position.T
    ax.plot(x, y, label=f"{drawn[name][1]:.1f} m")
ends = [lb.pose(s, turn.q[60], body, node)[1] for body, node in
        (("crank", None), ("crank", "tip"), ("coupler", "tip"), ("rocker", None))]  # fmt: skip
ax.set_xlim(-1.4, 4.4)
ax.plot(*np.array(ends)[:, :2].T, "o-", color="0.25", lw=3, zorder=3)
ax.set(xlabel="x, m", ylabel="y, m", aspect="equal")
ax.legend(title="above the middle\nof the coupler", loc="upper right")
plt.show()
