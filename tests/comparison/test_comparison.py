"""The comparison of controllers: one on each plant in a shortened run, all of them in the slow tests."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import limber as lb
from helpers.turned_wheel import turned_wheel
from limber import comparison
from limber.comparison import pictures
from limber.comparison.figures import _effort, _settling
from limber.comparison.planned import oscillations

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "comparison.md"
SHORT = {
    "canadarm": ("PD", 0.4),
    "two-link": ("PD", 0.4),
    "spacecraft": ("PD", 5.0),
    "two-arms": ("load sharing, held squeeze", 0.1),
}


def shortened(name):
    controller, until = SHORT[name]
    plant = replace(comparison.plants()[name](), window=(0.5 * until, until))
    return plant, comparison.run(plant, controller, until=until)


@pytest.mark.parametrize("name", SHORT)
def test_a_short_run_has_its_figures(name):
    plant, outcome = shortened(name)
    f = outcome.figures
    assert outcome.failure == ""
    assert np.isnan(f.settling)  # it is still on its way
    assert f.residual > 0.0 and f.final_error > plant.tolerance
    assert f.peak_torque > 0.0 and f.energy > 0.0 and f.computing > 0.0
    assert f.peak_torque <= np.abs(outcome.result.signals["command"].y).max()
    assert np.isnan(f.changed_settling) and f.changed_error > plant.tolerance
    assert bool(np.isfinite(f.further)) is (plant.further is not None)
    assert not np.array_equal(outcome.changed.q[-1], outcome.result.q[-1])


def test_settling_is_the_time_after_the_last_error_outside():
    t = np.arange(5.0)
    assert _settling(t, np.array([3.0, 1.0, 3.0, 1.0, 1.0]), 2.0) == 3.0
    assert _settling(t, np.array([1.0, 1.0, 1.0, 1.0, 1.0]), 2.0) == 0.0
    assert np.isnan(_settling(t, np.array([1.0, 1.0, 1.0, 1.0, 3.0]), 2.0))
    assert np.isnan(_settling(t, np.array([1.0, 1.0, 1.0, 1.0, np.nan]), 2.0))


def test_the_energy_of_a_joint_under_constant_torque_is_the_kinetic_energy_that_it_gets():
    a = lb.Assembly("rotor")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[2.0] * 3), lb.Revolute("z"))
    s = a.build()

    class Constant(lb.control.Controller):
        sample_time = 0.001

        def command(self, t, measured):
            return [3.0]

    loop = lb.control.Loop(s, Constant(), actuators=[lb.control.Servo("wheel")])
    r = lb.simulate(s, 1.0, torque=loop, every=0.01)
    peak, energy = _effort(SimpleNamespace(system=s), r)
    assert peak == 3.0
    assert energy == pytest.approx(
        r.kinetic_energy[-1], rel=5e-3
    )  # the last sample is before the end


def test_settings_are_chosen_by_the_time_to_settle_on_both_plants():
    plant = turned_wheel()
    found = comparison.tune(plant, "PD")
    assert len(found) == 4 and found[0].settings == {"kp": 2.0}
    f = found[0].outcome.figures
    assert found[0].score == pytest.approx(f.settling + f.changed_settling)
    assert found[1].score <= found[2].score or found[2].outcome.changed is None
    assert found[-1].settings == {"kp": -1.0}  # it runs away
    assert comparison.run(plant, "PD").figures.settling == f.settling  # these are its settings


def test_every_controller_is_on_the_page():
    """In a table, or in words where it is in none."""
    text = PAGE.read_text(encoding="utf-8")
    controllers = [
        name
        for name in lb.control.__all__
        if isinstance(getattr(lb.control, name), type)
        and issubclass(getattr(lb.control, name), lb.control.Controller)
    ]
    assert len(controllers) > 10
    for name in set(controllers) - {"Controller", "Guard"}:
        assert f"`{name}`" in text, name


def test_oscillations_are_those_with_little_damping():
    found = oscillations(np.array([-1 + 2j, -1 - 2j, -0.1 + 1j, -0.1 - 1j, -5.0, -3 + 0.1j]))
    np.testing.assert_allclose(
        found, [(np.sqrt(1.01), 0.1 / np.sqrt(1.01)), (np.sqrt(5), 1 / np.sqrt(5))]
    )


def test_a_controller_that_cannot_run_is_told_and_others_go_on(tmp_path):
    plant = comparison.two_link()

    def broken(plant):
        return plant.loop(lb.control.PD(1.0, sample_time=0.001, bodies=["elbow"]))

    plant = replace(plant, entries={"broken": broken, "PD": plant.entries["PD"]}, window=(0.1, 0.2))
    outcomes = comparison.compare(plant, until=0.2)
    assert outcomes[0].figures is None and "elbow" in outcomes[0].failure
    assert outcomes[1].figures is not None
    text = pictures.markdown(plant, outcomes)
    assert re.search(r"^\| broken \| failed: .*elbow", text, re.MULTILINE)
    pictures.draw(plant, outcomes, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table of two-link -->\nold\n<!-- end of two-link -->\nafter\n")
    assert pictures.put(page, plant, outcomes)
    assert (
        page.read_text()
        == f"before\n<!-- table of two-link -->\n{text}<!-- end of two-link -->\nafter\n"
    )
    assert not pictures.put(page, replace(plant, name="other"), outcomes)
    with pytest.raises(lb.LimberError, match=r"has no controller 'PDD'\. Did you mean 'PD'"):
        comparison.run(plant, "PDD")


@pytest.mark.parametrize("name", SHORT)
def test_the_page_has_a_row_for_every_controller_and_a_small_picture(name):
    text = PAGE.read_text(encoding="utf-8")
    table = text.split(f"<!-- table of {name} -->")[1].split("<!-- end of")[0]
    rows = re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[2:]
    plant = comparison.plants()[name]()
    assert rows == list(plant.entries)
    assert (PAGE.parent / "pictures" / f"compare_{name}.png").stat().st_size < 100_000


# active damping has a linear filter, whose model is about joints that stick
@pytest.mark.filterwarnings("ignore:Kalman. the friction:limber.errors.ModelWarning")
# on the changed Canadarm the filter of NMPC goes astray, and with it the programs that are to be solved
@pytest.mark.filterwarnings("ignore:NMPC. the quadratic program:limber.errors.ModelWarning")
@pytest.mark.filterwarnings("ignore:Kalman. the filter has lost:limber.errors.ModelWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_the_best_controllers_settle_and_leave_the_plant_quiet(name):
    plant = comparison.plants()[name]()
    found = {x.controller: x.figures for x in comparison.compare(plant)}
    assert all(found.values())
    best = {
        "canadarm": ("patent, impedance", 2e-4, 11.0),
        "two-link": ("patent, impedance", 1e-4, 4.0),
        "spacecraft": ("PD, notches, ZVD", 2e-4, 50.0),
        "two-arms": ("load sharing, held squeeze", 1e-4, 1.5),
    }[name]
    assert found[best[0]].residual < best[1] and found[best[0]].settling < best[2]
