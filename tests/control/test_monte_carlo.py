"""Many cases of a control loop: each is the run that it would be alone, with a plant that the controller does not know."""

import numpy as np
import pytest

import limber as lb
from limber.errors import ArgumentTypeError, ArgumentValueError

CASES = 5
OPTIONS = {"every": 0.02, "processes": 2}
MASSES = np.linspace(0.5, 1.5, CASES)
MEASURES = {"angle": lambda r: r.joint("link")[-1, 0], "speeds": lambda r: r.v[:, 1]}


class Remembers(lb.control.Controller):
    """PD control that adds up what it has done, and does not forget it when it is started."""

    sample_time = 0.01

    def __init__(self):
        self.sum = 0.0

    def command(self, t, measured):
        """Torque of the link."""
        self.sum += 1.0
        return [4.0 * (0.3 - measured["encoder"][0]) + 1e-3 * self.sum]


@pytest.fixture(scope="module")
def loop():
    a = lb.Assembly("arm")
    beam = lb.beam(1.0, 1.0, EI=50.0, modes={"y": 1}, damping=0.02)
    a.attach("link", beam, lb.Revolute("z", damping=1.0))
    a.attach("load", lb.RigidBody(1.0, inertia=0.01 * np.eye(3)), lb.Fixed(), "link", "tip")
    encoder = lb.control.Encoder(rate=100.0, noise=1e-3)
    return lb.control.Loop(a.build(), Remembers(), sensors=[encoder], seed=0)


@pytest.fixture(scope="module")
def study(loop):
    given = {"load.mass": MASSES, "link.EI": 60.0}
    return lb.control.monte_carlo(loop, 0.2, measures=MEASURES, parameters=given, **OPTIONS)


def test_every_case_is_the_run_that_it_would_be_alone(loop, study):
    assert study.finished.all() and len(study) == CASES
    for case, mass in enumerate(MASSES):
        s = loop.system.with_parameters({"load.mass": mass, "link.EI": 60.0})
        alone = lb.simulate(s, 0.2, torque=loop.with_seed(case), every=0.02)
        assert study.measures["angle"][case] == alone.joint("link")[-1, 0]
        assert np.array_equal(study.measures["speeds"][case], alone.v[:, 1])
    assert loop.controller.controller.sum == 0.0  # every case had a controller of its own


def test_one_process_finds_the_same_as_several(loop, study):
    given = {"load.mass": MASSES, "link.EI": 60.0}
    again = lb.control.monte_carlo(
        loop, 0.2, measures=MEASURES, parameters=given, every=0.02, processes=1
    )
    for name, values in study.measures.items():
        assert np.array_equal(values, again.measures[name])


def test_seeds_alone_make_cases(loop):
    found = lb.control.monte_carlo(loop, 0.1, measures=MEASURES, seeds=[3, 3, 4], **OPTIONS)
    angle = found.measures["angle"]
    assert angle[0] == angle[1] != angle[2]


def test_a_case_is_repeated_by_number_and_by_its_line(loop, study):
    worst = study.worst("angle")
    assert study.measures["angle"][worst] == study.measures["angle"].max()
    repeated = study.result(worst)
    from_line = eval(study.line(worst))
    assert np.array_equal(repeated.q, from_line.q)
    assert repeated.joint("link")[-1, 0] == study.measures["angle"][worst]
    with pytest.raises(ArgumentTypeError, match="case must be a number below 5, got 9"):
        study.result(9)


def test_one_case_that_fails_is_a_row_with_its_reason(loop):
    given = {"load.mass": [1.0, -1.0, 1.2]}
    found = lb.control.monte_carlo(loop, 0.1, measures=MEASURES, parameters=given, **OPTIONS)
    assert found.status.tolist() == ["finished", "failed", "finished"]
    assert list(found.failures) == [1] and "mass" in found.failures[1]
    assert (
        np.isnan(found.measures["angle"][1]) and np.isfinite(found.measures["angle"][[0, 2]]).all()
    )
    assert found.worst("angle") == 1
    assert "2 finished, 1 failed" in str(found)


def test_an_error_of_all_cases_is_raised(loop):
    with pytest.raises(ZeroDivisionError):
        lb.control.monte_carlo(
            loop, 0.05, measures={"bad": lambda r: 1 / 0}, seeds=range(3), **OPTIONS
        )


def test_dataset_has_measures_parameters_statistics_and_the_worst_case(study):
    pytest.importorskip("xarray")
    data = study.to_xarray()
    assert data["angle"].dims == ("case",) and data["speeds"].dims == ("case", "speeds_0")
    assert np.array_equal(data["load.mass"], MASSES) and data["seed"].values.tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]
    assert (
        float(data["statistics"].sel(measure="angle", statistic="max"))
        == study.measures["angle"].max()
    )
    assert int(data["worst"].sel(measure="angle")) == study.worst("angle")


def test_sensors_read_the_plant_that_runs(loop):
    """The sensors of a loop belong to the plant of the case, not to the one that the loop was made for."""

    def made(system):
        sensors = [
            lb.control.Encoder(rate=100.0),
            lb.control.Tachometer(rate=100.0),
            lb.control.ForceTorque("load", rate=100.0, name="wrist"),
        ]
        return lb.control.Loop(system, lb.control.PD(4.0, 1.0, sample_time=0.01), sensors=sensors)

    heavy = loop.system.with_parameters({"load.mass": 3.0})
    q0 = heavy.neutral()
    q0[0] = 0.01
    found, wanted = (
        lb.simulate(heavy, 0.1, q0=q0, torque=made(s)).signals["wrist"].y
        for s in (loop.system, heavy)
    )
    assert np.array_equal(found, wanted) and np.abs(wanted).max() > 1.0


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({}, ArgumentValueError, "nothing differs from case to case"),
        ({"seeds": 3}, ArgumentTypeError, r"seeds must be whole numbers, one for each case, such as range\(100\)"),
        ({"seeds": [1, -2]}, ArgumentTypeError, "seeds must be a whole number of at least 0"),
        ({"seeds": [1, 2], "parameters": {"load.mass": [1.0] * 3}}, ArgumentValueError, "seeds has 2 numbers, and the other arguments have 3 cases"),
        ({"seeds": [1], "torque": None}, ArgumentTypeError, "torque= is not an argument of monte_carlo"),
        ({"seeds": [1], "processes": 0}, ArgumentTypeError, "processes must be a whole number of at least 1, got 0"),
        ({"seeds": [1], "measures": {}}, ArgumentTypeError, "measures must map names to functions"),
        ({"seeds": [1], "measures": {"a": lambda: 1}}, ArgumentTypeError, r"measures\['a'\] is called with \(result\)"),
        ({"seeds": [1, 2], "measures": {"a": lambda r: np.zeros(int(1e6 * abs(r.q[-1, 1])) % 97)}}, ArgumentValueError, r"measures\['a'\] must have the same shape in all cases"),
    ],
)  # fmt: skip
def test_misuse_is_refused(loop, given, kind, text):
    with pytest.raises(kind, match=text):
        lb.control.monte_carlo(loop, 0.1, **{"measures": MEASURES, **given})
    with pytest.raises(ArgumentTypeError, match=r"loop must be an lb.control.Loop, got"):
        lb.control.monte_carlo(None, 0.1, measures=MEASURES, seeds=[1])
