"""Slopes of linear models and of transfer functions by numbers of the model, against differences of order eight."""

import numpy as np
import pytest

import limber as lb
from limber.identification.frequency import FrequencyProblem
from limber.identification.linear_slopes import AtRest, linear_slopes
from limber.identification.unknowns import sought, with_numbers

#: Of the largest slope of a matrix: what differences of order eight can tell.
TOLERANCE = 1e-8
WEIGHTS, STEP = (4 / 5, -1 / 5, 4 / 105, -1 / 280), 2e-2

PARAMETERS = [
    "link.EIy", "link.damping_ratio", "link.mass", "tool.mass", "tool.inertia[0, 1]", "link.offset[2]", "gravity[2]",
]  # fmt: skip
INPUTS = [
    "link",
    ("force", "tool", None),
    ("moment", "base", "out", "y"),
    ("mode_force", "link"),
]
OUTPUTS = [
    "link", ("speed", "link"), ("torque", "link"), ("mode", "link"), ("mode_speed", "link"), ("position", "tool", None),
    ("rotation", "tool", None), ("velocity", "link", "tip"), ("angular_velocity", "link", "tip"),
    ("acceleration", "link", "tip"), ("angular_acceleration", "tool", None), ("deflection", "link", "tip"),
    ("joint_force", "link"), ("strain", "link", 0.3, 0.01, 0.02), ("section_force", "link", 0.3, "moment_y"),
]  # fmt: skip


def arm(joint=None, **options) -> lb.System:
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    base = lb.RigidBody(4.0, (0.1, 0, 0), (0.1, 0.2, 0.2), nodes={"out": (0.3, 0, 0)})
    a.attach("base", base, joint or lb.Revolute("z", armature=0.1, damping=0.5))
    link = lb.beam(1.0, 1.0, EI=(200.0, 300.0), modes=1, damping=0.02, **options)
    a.attach("link", link, lb.Revolute("y", damping=0.3), "base", "out")
    tool = lb.RigidBody(0.5, (0.05, 0, 0.02), 0.01 * np.eye(3))
    a.attach("tool", tool, lb.Fixed(), "link", "tip")
    return a.build()


def check(s: lb.System, names, point: AtRest) -> None:
    for one in sought(s, names):
        mine = linear_slopes(s, point.of(s), one.number)
        size = STEP * one.unit

        def matrices(k, one=one, size=size):
            changed = with_numbers(s, [one], [one.start + k * size])
            model = point.of(changed).model(changed)
            return model.A, model.B, model.C, model.D

        pairs = [(matrices(k), matrices(-k)) for k in (1, 2, 3, 4)]
        for i, (name, slope) in enumerate(zip("ABCD", mine)):
            reference = sum(w * (up[i] - down[i]) for w, (up, down) in zip(WEIGHTS, pairs)) / size
            scale = np.abs(reference).max() + np.abs(pairs[0][0][i]).max() / one.unit
            assert np.abs(slope - reference).max() <= TOLERANCE * scale, (one.name, name)


def test_slopes_of_linear_models():
    s = arm()
    check(s, PARAMETERS, AtRest(lb.integrate(s, s.neutral(), [0.2, 0.1, 0.02, 0.4], 1.0), True, INPUTS, OUTPUTS))  # fmt: skip


def test_slopes_of_linear_models_that_are_not_in_balance():
    s = arm(geometric_stiffening=True)
    q = lb.integrate(s, s.neutral(), [0.2, 0.1, 0.02, 0.4], 1.0)
    check(s, PARAMETERS[:3], AtRest(q, False, INPUTS, OUTPUTS))


def test_slopes_of_linear_models_with_quaternions():
    s = arm(lb.Spherical())
    q = lb.integrate(s, s.neutral(), [0.3, 0.2, -0.1, 0.1, 0.02, 0.4], 1.0)
    check(s, PARAMETERS[:6:3], AtRest(q, True, INPUTS, OUTPUTS))


def test_slopes_of_a_stiffness_matrix():
    flexible = lb.FlexibleBody.from_nodes(
        mass=np.ones(3), position=[[0.2, 0, 0], [0.6, 0, 0], [1.0, 0, 0]],
        translation=np.random.default_rng(0).standard_normal((3, 3, 2)), rotation=np.zeros((3, 3, 2)),
        stiffness=[[200.0, 30.0], [30.0, 500.0]], damping=[[0.2, 0.1], [0.1, 0.4]],
    )  # fmt: skip
    a = lb.Assembly("plate", gravity=(0, 0, -9.81))
    a.attach("plate", flexible, lb.Revolute("y"))
    s = a.build()
    names = ["plate.stiffness[0, 1]", "plate.stiffness[0, 0]", "plate.damping[0, 1]"]
    check(s, names, AtRest(s.neutral(), True, ["plate"], [("acceleration", "plate", 2, "z")]))


@pytest.mark.parametrize("settled", [True, False])
def test_slopes_of_transfer_functions(settled):
    s = arm()
    omega = np.geomspace(3.0, 200.0, 15)
    names = ["link.EIy", "link.damping_ratio", "tool.mass"]
    outputs = [("strain", "link", 0.1, 0.01, 0.0), ("acceleration", "tool", None, "y")]
    point = AtRest(s.neutral(), settled, ["base", "link"], outputs)
    model = point.of(s).model(s)
    H = model.response(omega)
    p = FrequencyProblem(s, sought(s, names), omega, H, np.ones(H.shape), model, point)
    values, slopes = p.slopes(np.zeros(3))
    step = 1e-2
    for j, along in enumerate(np.eye(3)):
        pairs = [(p.modelled(k * step * along), p.modelled(-k * step * along)) for k in (1, 2, 3, 4)]  # fmt: skip
        for k, slope in enumerate(slopes):
            reference = sum(w * (up[k] - down[k]) for w, (up, down) in zip(WEIGHTS, pairs)) / step
            assert np.abs(slope[:, j] - reference).max() <= 1e-6 * np.abs(slope).max()
    assert np.allclose(values[0] + 1j * values[1], (H / np.abs(H))[:, 0, 0])
