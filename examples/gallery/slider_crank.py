"""
A slider-crank engine
=====================

The crank turns at constant speed. The torque that this requires, and the force in the wrist pin, follow from the
closure. The dashed line neglects the mass of the connecting rod, as simple formulas do.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

SPEED = 2 * np.pi * 50.0  # rad/s


def engine(rod_mass):
    """Crank, connecting rod and piston; the piston slides along x."""
    a = lb.Assembly("engine")
    crank = lb.RigidBody(2.0, inertia=(0.01, 0.01, 0.01), nodes={"pin": (0.05, 0, 0)})
    rod = lb.RigidBody(
        rod_mass, (0.08, 0, 0), rod_mass * np.array([1e-5, 3e-3, 3e-3]), nodes={"end": (0.16, 0, 0)}
    )
    a.attach("crank", crank, lb.Revolute("z"))
    a.attach("rod", rod, lb.Revolute("z"), "crank", "pin")
    a.attach("piston", lb.RigidBody(0.5), lb.Prismatic("x"))
    a.close(("rod", "end"), ("piston", None), lb.Revolute("z"), name="wrist pin")
    return a.build()


fig, (top, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True)
for mass, style, label in ((0.6, "-", "rod of 0.6 kg"), (1e-6, "--", "rod without mass")):
    s = engine(mass)
    q0 = lb.assemble(s, [0.0, 0.0, 0.21], locked=["crank"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)  # superfluous rows of a planar mechanism
        turn = {"crank": lambda t: (SPEED * t, SPEED, 0.0)}
        result = lb.simulate(s, 0.02, q0=q0, motion=turn, every=5e-5, rtol=1e-8)
        pin = result.constraint_forces("wrist pin")[:, 3:5]
    angle = np.degrees(result.joint("crank")[:, 0])
    top.plot(angle, result.driving["crank"][:, 0], style, color="C0", label=label)
    below.plot(angle, np.linalg.norm(pin, axis=1) / 1e3, style, color="C1")
    x = 0.05 * np.cos(SPEED * result.t) + np.sqrt(0.16**2 - (0.05 * np.sin(SPEED * result.t)) ** 2)
    assert np.allclose(result.joint("piston")[:, 0], x, atol=1e-8)
top.legend(loc="upper right")
top.set(ylabel="torque of the crank, N m", xlim=(0, 360), xticks=range(0, 361, 60))
below.set(xlabel="crank, degrees", ylabel="force in the pin, kN", ylim=(0, None))
plt.show()
