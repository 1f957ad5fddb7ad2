"""A small plant for comparisons: a wheel that is to turn by one radian."""

import numpy as np

import limber as lb
from limber import comparison


def turned_wheel():
    """With one controller, PD, of which four springs are tried; the first one pushes the wrong way."""
    a = lb.Assembly("wheel")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[2.0] * 3), lb.Revolute("z", damping=1.0))
    s = a.build()

    def pd(plant, kp=1.0):
        return plant.loop(lb.control.PD(kp, 1.0, sample_time=0.01, reference=1.0))

    return comparison.Plant(
        name="wheel", title="Wheel", system=s, q0=s.neutral(), changed=s.with_parameters({"wheel.joint_damping": 2.0}),
        path=lb.trajectories.Quintic(0.0, 1.0, 1.0), duration=8.0, window=(6.0, 8.0),
        error=lambda r: np.abs(r.q[:, 0] - 1.0), error_unit="mrad", error_scale=1e3, tolerance=0.05,
        deflections=lambda r: r.q, watched="wheel", loop=lambda c: lb.control.Loop(s, c),
        entries={"PD": comparison.Entry(pd, {"kp": 2.0}, {"kp": (-1.0, 0.3, 2.0, 100.0)})},
    )  # fmt: skip
