"""A scenario of one joint under PD control, for runs in real time."""

SCENARIO = """
limber: 1
model:
  bodies:
    bob: {rigid: {mass: 1.0, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}, joint: {revolute: z}}
controller:
  pd: {kp: 20, kd: 5, sample_time: 0.005}
duration: 60
method: rk4
step: 0.005
"""
