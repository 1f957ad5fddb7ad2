"""
Moving the tip, not the joint
=============================

The tip of a flexible link first responds to a torque in the wrong direction, so torques computed from the tip motion
by direct inversion grow without bound. Stable inversion finds the bounded torques: they begin before the tip moves.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb
from limber import control

a = lb.Assembly("link")
beam = lb.beam(1.0, 0.5, EI=10.0, modes={"y": 2}, damping=0.01)
a.attach("link", beam, lb.Revolute("z", armature=0.1))
a.attach("load", lb.RigidBody(0.2, inertia=[0.001] * 3), lb.Fixed(), "link", "tip")
s = a.build()
turn = lb.trajectories.Quintic(0.0, 0.5, 0.8)  # of the tip
found = control.stable_inversion(s, turn, [("angle", "link", "tip", "z")])
inversion = control.StableInversion(found, kp=5.0, kd=1.0, sample_time=0.001)
rigid = control.ComputedTorque(400.0, 40.0, sample_time=0.001, reference=turn)

fig, (top, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True)
error = {}
for name, controller, begin in (
    ("stable inversion", inversion, inversion.begin),
    ("computed torque", rigid, 0.0),
):
    result = lb.simulate(s, 1.6, q0=found.start, torque=controller, every=0.002)
    t = result.t - begin
    x, y, _ = result.node("link", "tip").position.T
    angle, wanted = np.arctan2(y, x), turn(np.clip(t, 0, 0.8)).position
    error[name] = np.abs(angle - wanted).max()
    top.plot(t, np.degrees(angle), label=name)
    below.plot(t, result.tau[:, s.layout["link"].v_joint.start])
assert error["stable inversion"] < 1e-4 < 0.05 < error["computed torque"]
top.plot(t, np.degrees(wanted), "k--", lw=1, label="wanted")
top.set(ylabel="angle of the tip, degrees", xlim=(-0.25, 1.3))
top.legend()
below.axvspan(-0.25, 0, color="0.92")
below.text(-0.24, below.get_ylim()[0], " before the path", va="bottom", color="0.4")
below.set(xlabel="time, s", ylabel="torque, N m")
plt.show()
