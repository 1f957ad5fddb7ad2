"""
LQR against PD on a flexible arm
================================

A bent arm is released. A PD controller uses only the joints and lets the links ring. An LQR uses the whole state and
removes the energy from the modes through the same two motors.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb
from limber import control

a = lb.Assembly("arm")
upper = lb.beam(1.0, 1.5, EI=300.0, modes={"y": 2}, damping=0.002)
fore = lb.beam(1.0, 1.0, EI=150.0, modes={"y": 2}, damping=0.002)
a.attach("upper", upper, lb.Revolute("z", armature=0.5))
a.attach("fore", fore, lb.Revolute("z", armature=0.3), "upper", "tip")
a.attach("load", lb.RigidBody(1.0, inertia=[0.01] * 3), lb.Fixed(), "fore", "tip")
s = a.build()

Q = np.ones(2 * s.nv)  # weights of [dq, dv]
for body in ("upper", "fore"):
    Q[s.layout[body].v_joint] = 100.0
controllers = {
    "PD": control.PD([900.0, 400.0], [60.0, 25.0], sample_time=0.002, reference=[0.0, 0.0]),
    "LQR": control.LQR(Q, 0.05, sample_time=0.002, about=s.neutral()),
}
bent = s.neutral()
bent[s.layout["upper"].q_modes.start] = 0.02

fig, (top, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True)
left = {}
for name, controller in controllers.items():
    result = lb.simulate(s, 2.0, q0=bent, torque=controller, every=0.005)
    left[name] = result.energy[-1] / result.energy[0]
    top.plot(result.t, 1e3 * result.node("load").position[:, 1], label=name)
    below.semilogy(result.t, result.energy, label=name)
assert left["LQR"] < 0.1 * left["PD"]
top.set(ylabel="load off its place, mm", xlim=(0, 2))
below.set(xlabel="time, s", ylabel="energy of the arm, J")
top.legend()
plt.show()
