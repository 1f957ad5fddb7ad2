"""Quantities of a result."""

import warnings

import numpy as np
import pytest

import limber as lb
from helpers.studies import arm
from limber.campaigns.quantities import quantity


@pytest.fixture(scope="module")
def result():
    s = arm()
    return lb.simulate(s, 1.0, q0=[0.0, 0.3], torque=[1.0], every=0.01)


def of(result, **given):
    return quantity("x", given, result.system).measure(result)


def test_quantities_are_what_numpy_finds(result):
    r = result
    bent, place = r.deflection("link", "tip"), r.node("load").position
    theta = r.joint("link")[:, 0]
    assert of(r, final={"joint": "link"}) == theta[-1]
    assert of(r, max={"joint_speed": "link"}) == r.joint_speed("link").max()
    assert of(r, min={"modal": "link"}) == r.modal("link").min()
    assert of(r, mean={"torque": "link"}) == 1.0
    assert of(r, peak={"deflection": ["link", "tip"]}) == np.linalg.norm(bent, axis=1).max()
    assert of(r, range={"deflection": ["link", "tip"]}, component="y", after=0.5) == np.ptp(
        bent[r.t >= 0.5, 1]
    )
    assert np.isclose(of(r, rms="kinetic_energy"), np.sqrt((r.kinetic_energy**2).mean()))
    assert np.array_equal(of(r, final={"position": "load"}), place[-1])
    off = of(r, final={"position": "load"}, target=[1, 0, 0], norm=True, scale=1000)
    assert np.isclose(off, 1000 * np.linalg.norm(place[-1] - [1, 0, 0]))
    assert of(r, final={"joint": "link"}, until=0.5) == theta[50]


def test_a_signal_has_settled_where_it_last_leaves_its_band(result):
    goal = result.joint("link")[-1, 0]
    settled = of(result, settle={"joint": "link"}, within=0.05, target=goal)
    outside = np.flatnonzero(np.abs(result.joint("link")[:, 0] - goal) > 0.05)
    assert settled == result.t[outside[-1] + 1]
    assert np.isnan(of(result, settle={"joint": "link"}, within=0.05, target=5.0))
    assert of(result, settle={"joint": "link"}, within=100.0, target=5.0) == 0.0


@pytest.mark.parametrize(
    "given, words",
    [
        ({"final": {"joint": "lnk"}}, "lnk"),
        ({"final": {"deflection": ["link", "tpi"]}}, "tpi"),
        ({"final": {"jiont": "link"}}, "Did you mean 'joint'"),
        ({"settle": {"joint": "link"}}, "settle, and nothing else, needs within"),
        ({"final": {"joint": "link"}, "max": {"joint": "link"}}, "needs one of"),
        ({"final": {"joint": "link"}, "after": 2, "until": 1}, "after must be earlier"),
        (3, "must be a function of a Result"),
        (lambda: 3, "is called with"),
    ],
)
def test_quantities_that_cannot_be_are_refused(given, words):
    with pytest.raises(lb.LimberError, match=words) as told:
        quantity("end", given, arm())
    assert "keep['end']" in str(told.value)


def test_what_statistics_leave_out_is_told(tmp_path):
    done = lb.campaign(
        lambda x: {"time": np.nan if x > 2 else x, "place": [x, x]}, vary={"x": [1, 2, 3, 4]},
        method="grid", processes=1,
    )  # fmt: skip
    first, second = done.remarks
    assert first.startswith("time is nan in 2 of 4 cases that ran, for instance in case 2")
    assert second.startswith("place has 2 numbers in each case")
    assert first in repr(done) and done.worst("time") == [1, 0]
    page = done.report(tmp_path / "page.html").read_text()
    assert first in page and second in page


def test_statistics_of_infinite_numbers_have_no_nan():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = lb.campaign(
            lambda x: np.inf if x == 2 else x, vary={"x": [1, 2, 3]}, method="grid", processes=1
        )
        found = done.statistics["value"]
    assert (found["median"], found["min"], found["max"], found["p99"]) == (3, 1, np.inf, np.inf)
    assert done.worst("value") == [1, 2, 0]


@pytest.mark.parametrize("given", [None, [1.0, None], 1.0 + 2.0j, np.array([2j]), "3.5"])
def test_what_is_no_real_number_is_a_failed_case(given):
    done = lb.campaign(lambda x: given, vary={"x": [1, 2]}, method="grid", processes=1)
    assert len(done.failures) == 2
    assert "quantity 'value' must be real numbers" in done.failures[0]


def test_infinite_numbers_have_ranks_and_no_sobol_indices():
    def blows_up(x):
        return np.inf if x > 0.9 else x

    vary = {"x": {"uniform": [0.0, 1.0]}}
    ranked = lb.campaign(blows_up, vary=vary, samples=50, processes=1).sensitivity("value")
    assert ranked.cases == 50 and ranked.values["rank correlation"][0] > 0.99
    spread = lb.campaign(blows_up, vary=vary, samples=64, method="saltelli", processes=1)
    assert any("Sobol indices leave out" in text for text in spread.remarks)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_rank_correlations_of_few_cases_tell_nothing_and_do_not_warn(count):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = lb.campaign(
            lambda x, y: x, vary={"x": list(range(count)), "y": [1] * count}, method="listed",
            processes=1,
        )  # fmt: skip
        found = done.sensitivity("value")
    assert np.isnan(found.low["rank correlation"][1])
    if count == 3:
        assert (found.low["rank correlation"][0], found.high["rank correlation"][0]) == (-1, 1)


def test_plots_of_infinite_numbers_have_the_median_of_the_table(tmp_path, monkeypatch):
    from matplotlib.axes import Axes

    marked, drawn = [], Axes.axvline

    def axvline(self, x=0, *given, **options):
        marked.append(float(x))
        return drawn(self, x, *given, **options)

    monkeypatch.setattr(Axes, "axvline", axvline)
    done = lb.campaign(
        lambda x: np.inf if x > 6 else x, vary={"x": list(range(10))}, method="grid", processes=1
    )
    done.report(tmp_path / "page.html")
    found = done.statistics["value"]
    assert marked[:3] == [found["median"], found["p95"], found["max"]]


def test_errors_of_files_name_the_entry_once(tmp_path):
    scenario = "{model: {bodies: {arm: {rigid: {mass: 1, com: [1, 0, 0]}, joint: {revolute: z}}}}, duration: 0.1}"
    (tmp_path / "study.yaml").write_text(
        f"limber: 1\nscenario: {scenario}\nvary: {{arm.mass: [1, 2]}}\nsample: grid\nkeep: {{end: {{final: {{joint: amr}}}}}}\n"
    )
    with pytest.raises(lb.FileError, match=r"study\.yaml:5:8: keep\.end: body='amr' is not in"):
        lb.campaign(tmp_path / "study.yaml")


@pytest.fixture(scope="module")
def loaded():
    """A beam of a real section under weight and a torque, with a controller's signals."""
    steel = lb.Section.tube(0.04, 0.002, lb.Material(200e9, 7800.0, nu=0.3))
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    a.attach(
        "link", lb.beam(1.0, section=steel, modes=2, damping=0.01), lb.Revolute("y", damping=0.1)
    )
    a.attach("load", lb.RigidBody(2.0), lb.Fixed(), to="link", at="tip")
    s = a.build()
    pd = lb.control.PD(300.0, 30.0, sample_time=0.01, reference={"link": -0.2})
    loop = lb.control.Loop(s, pd, sensors=[lb.control.Encoder(rate=50.0)])
    return lb.simulate(s, 0.5, torque=loop, every=0.01)


def test_loads_stresses_and_sampled_signals_are_signals(loaded):
    r = loaded
    root = r.section_forces("link", "root")
    moments = np.column_stack([root.torsion[:, 0], root.moment_y[:, 0], root.moment_z[:, 0]])
    forces = np.column_stack([root.axial[:, 0], root.shear_y[:, 0], root.shear_z[:, 0]])
    peak = np.linalg.norm(moments, axis=1).max()
    assert peak > 1.0
    assert of(r, peak={"section_moment": ["link", "root"]}) == peak
    assert of(r, max={"section_moment": ["link", 0.0]}, component="y") == root.moment_y.max()
    assert np.array_equal(of(r, final={"section_force": ["link", "root"]}), forces[-1])
    assert of(r, max={"von_mises": ["link", "root"]}) == root.von_mises.max()
    assert of(r, max={"surface_strain": ["link", "root"]}) == np.abs(root.surface_strain).max()
    assert of(r, final={"surface_stress": ["link", "root"]}, scale=1e-6) == pytest.approx(
        1e-6 * np.abs(root.surface_stress[-1]).max()
    )
    assert np.array_equal(of(r, final={"joint_wrench": "link"}), r.joint_wrench("link")[-1])
    tip = r.node("link", "tip").acceleration
    assert of(r, peak={"acceleration": ["link", "tip"]}) == np.linalg.norm(tip, axis=1).max()
    read = r.signals["encoder"]
    late = read.t >= 0.25
    assert 0 < late.sum() < len(r.t)  # a signal has its own times
    assert of(r, mean={"signal": "encoder"}, after=0.25) == read.y[late].mean()


@pytest.mark.parametrize(
    "given, words",
    [
        ({"max": {"section_moment": ["link", "rot"]}}, r"keep\['x'\].*rot"),
        ({"max": {"section_moment": ["load", "root"]}}, r"keep\['x'\].*no section forces"),
        ({"max": {"section_moment": "link"}}, r"must be \[body, station\]"),
        ({"max": {"section_moment": ["link", True]}}, r"must be \[body, station\]"),
        ({"max": {"strain": ["link", "gauge"]}}, r"keep\['x'\].*no strain gauges"),
        ({"max": {"acceleration": ["link", "tpi"]}}, "tpi"),
        ({"max": {"joint_wrench": "lnk"}}, "lnk"),
    ],
)
def test_signals_that_the_system_lacks_are_refused_at_once(given, words, loaded):
    with pytest.raises(lb.LimberError, match=words):
        quantity("x", given, loaded.system)


def test_stresses_need_a_section_and_signals_a_controller(result, loaded):
    with pytest.raises(lb.LimberError, match=r"keep\['x'\].*von Mises stress need"):
        quantity("x", {"max": {"von_mises": ["link", "root"]}}, result.system)
    with pytest.raises(lb.LimberError, match="Did you mean 'encoder'"):
        of(loaded, mean={"signal": "encodr"})
    with pytest.raises(lb.LimberError, match="it has: none"):
        of(result, mean={"signal": "encoder"})
