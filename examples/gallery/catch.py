"""
Catching a satellite
====================

A free-flyer with a flexible arm grasps a satellite that drifts towards it. An event closes the loop. The impulse
conserves linear and angular momentum. Some energy is lost at once, as in a plastic collision, and some goes into the
arm.
"""

import matplotlib.pyplot as plt
import numpy as np

import limber as lb

flyer = lb.Assembly("flyer")
hull = lb.RigidBody(50.0, inertia=(5, 6, 7), nodes={"shoulder": (0.5, 0, 0)})
hand = lb.RigidBody(2.0, (0.2, 0, 0), (0.1, 0.2, 0.2), nodes={"palm": (0.4, 0, 0)})
flyer.attach("hull", hull, lb.Free())
boom = lb.beam(1.0, 3.0, EI=400.0, modes=1)
flyer.attach("boom", boom, lb.Revolute("z", stiffness=40.0, damping=4.0), "hull", "shoulder")
flyer.attach("hand", hand, lb.Revolute("z", stiffness=20.0, damping=2.0), "boom", "tip")
target = lb.Assembly("target")
body = lb.RigidBody(8.0, inertia=(1, 2, 2.5), nodes={"rim": (-0.4, 0, 0)})
target.attach("body", body, lb.Free())
s = lb.couple([flyer], ("target", target))

q, v = s.neutral(), np.zeros(s.nv)
q[s.layout["target/body"].q_joint][4:] = 2.7, 0.35, 0.0  # m
v[s.layout["target/body"].v_joint] = 0, 0, 0.3, -0.3, -0.15, 0.0  # rad/s, m/s


def gap(t, q, v):
    """The distance of palm and rim, less 0.1 m."""
    palm, rim = (lb.pose(s, q, *end)[1] for end in (("arm1/hand", "palm"), ("target/body", "rim")))
    return np.linalg.norm(palm - rim) - 0.1


grasp = (("arm1/hand", "palm"), ("target/body", "rim"), lb.RigidGrasp(), "grasp")
near = lb.Event(gap, lb.attach(grasp, in_place=True), direction=-1, once=True)
result = lb.simulate(s, 5.0, q0=q, v0=v, events=near, rtol=1e-9, atol=1e-11, every=0.01)
(catch,) = result.changes
assert np.abs(catch.momentum_after - catch.momentum_before).max() < 1e-10

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, label in (("arm1/hull", "flyer"), ("target/body", "satellite")):
    left.plot(result.t, np.degrees(result.node(name).angular_velocity[:, 2]), label=label)
left.set(xlabel="time, s", ylabel="spin about z, degrees/s", title="spins")
right.plot(result.t, result.kinetic_energy, label="kinetic")
right.plot(result.t, result.potential_energy, label="springs and bending")
right.set(xlabel="time, s", ylabel="energy, J", title=f"{catch.energy_lost:.3f} J are lost at once")
for ax in (left, right):
    ax.axvline(catch.t, color="0.6", ls=":", label="grasp")
    ax.legend()
plt.show()
