"""The environment in scenario files: the shipped example, sections by themselves, and what is wrong in them."""

import numpy as np
import pytest
import yaml

import limber as lb
from helpers.files import EXAMPLES
from limber.errors import FileError

FILE = EXAMPLES / "orbit_reboost.yaml"


def changed(tmp_path, **sections):
    """The example with other sections, loaded."""
    data = yaml.safe_load(FILE.read_text())
    data.update(sections)
    path = tmp_path / "case.yaml"
    kept = {k: v for k, v in data.items() if v is not None}
    path.write_text(yaml.safe_dump(kept, sort_keys=False))
    return lb.io.load_scenario(path)


def test_the_reboost_raises_the_orbit():
    case = lb.io.load_scenario(FILE)
    env = case.environment
    r = lb.simulate(case.system, case.duration, **(case.settings | {"every": 20.0}))
    assert str(env) == "orbit from 400 km, gravity j2, 3 faces, 1 burn"
    burn = env.burns[0]
    assert r.masses["propellant"][-1] == pytest.approx(
        r.masses["propellant"][0] - 120.0 * burn.flow
    )
    total = sum(body.mass for body in case.system.bodies.values())
    gain = burn.isp * lb.orbit.G0 * np.log(total / (total - 120.0 * burn.flow))
    a = env.track(r).elements.semi_major
    speed = np.linalg.norm(env.orbit.velocity)
    raised = 2.0 * a[0] * gain / speed
    # J2 changes the osculating axis in the meantime, by some kilometres
    assert a[-1] - a[0] == pytest.approx(raised, abs=3e3)
    assert np.abs(r.joint("propellant slosh")).max() > 1e-3
    assert np.abs(r.modal("left panel")).max() > 1e-4
    assert r.power_audit().accuracy < 1e-3


def test_orbits_are_given_in_three_ways(tmp_path):
    round_ = changed(tmp_path).environment.orbit
    given = [
        {"semi_major": 6378137.0 + 4e5, "inclination": 0.9006},
        {"position": list(round_.position), "velocity": list(round_.velocity)},
    ]
    for section in given:
        orbit = changed(tmp_path, environment={"orbit": section}, initial=None).environment.orbit
        np.testing.assert_allclose(orbit.position, round_.position, rtol=1e-12)
        np.testing.assert_allclose(orbit.velocity, round_.velocity, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize(
    ("air", "density"),
    [
        ("earth", 3.725e-12),
        ({"density": 2e-12, "altitude": 4e5, "scale_height": 6e4}, 2e-12),
        ({"altitudes": [4e5, 5e5], "densities": [3e-12, 1e-13]}, 3e-12),
    ],
)
def test_air_is_given_in_three_ways(tmp_path, air, density):
    section = {
        "orbit": {"altitude": 4e5},
        "drag": {"faces": [{"body": "station", "area": 1.0}], "air": air},
    }
    found = changed(tmp_path, environment=section).environment.drag.air
    at = dict(zip(found.altitude, found.density))
    assert at[4e5] == pytest.approx(density)


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        (
            {"initial": {"q": {"station": [1, 0, 0, 0, 9, 0, 0]}, "orbital": {}}},
            r"initial\.q\.station: `orbital` already gives the start of the joint of 'station'",
        ),
        (
            {"initial": {"v": {"station": [0, 0, 1, 0, 0, 0]}, "orbital": {"body": "station"}}},
            r"initial\.v\.station: `orbital` already gives the start of the joint of 'station'",
        ),
        ({"environment": None}, r"initial\.orbital: a start in the orbital frame needs an `environment`"),
        ({"environment": {"orbit": {"altitude": 4e5, "argument": 1.0}}}, r"environment\.orbit\.argument: cannot be used with altitude"),
        ({"environment": {"orbit": {"position": [7e6, 0, 0]}}}, "a state needs a velocity as well"),
        ({"environment": {"orbit": {}}}, "needs one of altitude, semi_major, position"),
        ({"method": "DOP853"}, "does not support an environment"),
        (
            {"environment": {"orbit": {"altitude": 4e5}, "burns": [{"body": "station", "node": "nose", "thrust": [1, 0, 0], "start": 0, "duration": 1}]}},
            "nose",
        ),
        (
            {"environment": {"orbit": {"altitude": 4e5}, "burns": [{"body": "station", "thrust": [1, 0, 0], "start": 0, "duration": 1, "isp": 300}]}},
            "isp and tank belong together",
        ),
        ({"slosh": [{"name": "fuel", "to": "nowhere", "radius": 1, "depth": 1, "mass": 1}]}, "nowhere"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, sections, words):
    with pytest.raises(FileError, match=words):
        changed(tmp_path, **sections)
