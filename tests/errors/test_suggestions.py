"""A misspelt name is answered with the closest known one, wherever names are given."""

import numpy as np
import pytest

import limber as lb
from limber.checks import did_you_mean, suggestion


def arm():
    link = lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1), nodes={"elbow": (1, 0, 0)})
    beam = lb.beam(1.0, 1.0, EI=1.0, modes=1, polar_inertia=0.01)
    a = lb.Assembly("arm").attach("upper_arm", link, lb.Revolute("z"))
    return a.attach("forearm", beam, lb.Revolute("y"), to="upper_arm", at="elbow")


BODY = lb.RigidBody(1.0)
NAMES = {
    "parent": (lambda a: a.attach("hand", BODY, lb.Fixed(), to="fore_arm"), "forearm"),
    "node": (lambda a: a.attach("hand", BODY, lb.Fixed(), to="forearm", at="tpi"), "tip"),
    "world": (lambda a: a.attach("hand", BODY, lb.Fixed(), to="World"), "world"),
    "inboard": (
        lambda a: a.attach("x", lb.beam(1, 1, EI=1), lb.Fixed(), to="forearm", inboard="rot"),
        "root",
    ),
    "pose": (lambda a: lb.pose(a.build(), np.zeros(4), "Forearm"), "forearm"),
    "jacobian": (lambda a: lb.jacobian(a.build(), np.zeros(4), "forearm", "nod3"), "node3"),
    "locked": (lambda a: lb.modes(a.build(), np.zeros(4), locked=["upperarm"]), "upper_arm"),
    "external": (
        lambda a: lb.inverse_dynamics(
            a.build(), *np.zeros((3, 4)), external={("forearm", "tips"): np.zeros(6)}
        ),
        "tip",
    ),
}


@pytest.mark.parametrize("call, meant", NAMES.values(), ids=NAMES)
def test_a_misspelt_name_is_answered_with_the_closest(call, meant):
    with pytest.raises(lb.LimberError, match=f"Did you mean '{meant}'\\?"):
        call(arm())


MODEL = """limber: 1
name: arm
bodies:
  upper_arm: {{joint: {{revolute: z}}, rigid: {{mass: 1, inertia: [1, 1, 1], nodes: {{elbow: [1, 0, 0]}}}}}}
  forearm: {{to: {to}, at: {at}, joint: fixed, rigid: {{mass: 1}}}}
"""


@pytest.mark.parametrize(
    "to, at, meant",
    [("uper_arm", "elbow", "upper_arm"), ("upper_arm", "elbw", "elbow")],
    ids=["parent", "node"],
)
def test_files_do_the_same(to, at, meant, tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(MODEL.format(to=to, at=at))
    with pytest.raises(lb.FileError, match=f"Did you mean '{meant}'\\?"):
        lb.load(path)


def test_words_that_are_like_none_get_no_suggestion():
    assert suggestion("xyz", ["upper", "lower"]) == ""
    assert did_you_mean("xyz", ["upper", "lower"]) == "Known names: upper, lower."
    assert did_you_mean("xyz", ["PD", "PD, ZV"]) == "Known names: 'PD', 'PD, ZV'."
    many = [f"link{i}" for i in range(40)]
    assert did_you_mean("xyz", many).endswith("link28, link29 and 10 more.")
    assert suggestion("UPPER", ["upper", "lower"]) == " Did you mean 'upper'?"
