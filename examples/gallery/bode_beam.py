"""
Sensor location
===============

The same motor turns the same satellite with its panel. In the response of the encoder at the motor, every resonance
is preceded by a zero, and the phase stays between -180 and 0 degrees. In the response of the tip there are no such
zeros: each mode adds another 180 degrees of phase lag.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

a = lb.Assembly("satellite")
a.attach("hub", lb.RigidBody(2.0, inertia=np.diag([0.1, 0.1, 0.2])), lb.Revolute("z"))
panel = lb.beam(3.0, 2.0, EI=60.0, modes={"y": 4}, damping=0.003)
a.attach("panel", panel, lb.Fixed(), to="hub", offset=(0.2, 0.0, 0.0))
model = lb.linearize(a.build(), inputs=["hub"], outputs=["hub", ("rotation", "panel", "tip", "z")])

frequency = np.geomspace(0.1, 100.0, 4000)  # Hz
response = model.response(2 * np.pi * frequency)[:, :, 0]
fig, (top, below) = plt.subplots(2, 1, figsize=(7, 5.5), layout="constrained", sharex=True)
for k, label in enumerate(("hub", "tip of the panel")):
    top.loglog(frequency, np.abs(response[:, k]), label=label)
    phase = np.degrees(np.unwrap(np.angle(response[:, k])))
    below.semilogx(frequency, phase - 360 * np.round((phase[0] + 180) / 360))
    assert (np.ptp(phase) < 181) == (label == "hub")  # degrees
top.set(ylabel="angle / torque, rad/(N m)", xlim=(0.1, 100), ylim=(1e-7, 2))
top.legend(title="measured at", loc="lower left")
below.set(xlabel="frequency, Hz", ylabel="phase, degrees", yticks=range(-900, 1, 180))
plt.show()
