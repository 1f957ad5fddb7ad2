"""lb.identify: starts, bounds, priors, noise, biases, several experiments, and what is told of doubtful results."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import limber as lb
from limber.errors import ModelWarning
from limber.identification import Experiment, Unknown, simulated_experiment

T = np.linspace(0.0, 0.6, 31)
PULSE = lb.Table([0.0, 0.1, 0.101, 0.2, 0.201], [[4.0], [4.0], [-4.0], [-4.0], [0.0]])


@pytest.fixture(scope="module")
def arm() -> lb.System:
    a = lb.Assembly("arm")
    a.attach("link", lb.beam(1.0, 1.0, EI=50.0, modes={"y": 1}, damping=0.02), lb.Revolute("z", damping=0.1))  # fmt: skip
    a.attach("tool", lb.RigidBody(0.5, inertia=0.01 * np.eye(3)), lb.Fixed(), "link", "tip")
    return a.build()


ENCODER = lb.control.Encoder(rate=50.0, noise=1e-3)
GAUGE = lb.control.StrainGauge("link", at=0.1, y=0.01, rate=50.0, noise=1e-5)
NAMES = ["link.EI", "tool.mass"]


@pytest.fixture(scope="module")
def data(arm) -> Experiment:
    return simulated_experiment(arm, [ENCODER, GAUGE], T, seed=3, torque=PULSE)


@pytest.fixture(scope="module")
def clean(arm) -> Experiment:
    return simulated_experiment(arm, [ENCODER, GAUGE], T, torque=PULSE)


def started(arm) -> lb.System:
    return arm.with_parameters({"link.EI": 40.0, "tool.mass": 0.7})


def test_clean_readings_give_the_truth(arm, clean):
    with pytest.warns(ModelWarning, match="times as large as the noise"):
        found = lb.identify(started(arm), NAMES, clean, [ENCODER, GAUGE])
    assert found.values["link.EI"] == pytest.approx(50.0, rel=1e-6)
    assert found.values["tool.mass"] == pytest.approx(0.5, rel=1e-6)
    assert found.system.parameters["tool.mass"].value == found.values["tool.mass"]
    assert found.starts == {"link.EI": 40.0, "tool.mass": 0.7}


def test_table_names_values_errors_and_combinations(arm, data):
    found = lb.identify(started(arm), NAMES, data, [ENCODER, GAUGE])
    text = str(found)
    for part in ("2 parameters of 'arm' from 62 readings", "link.EI", "95 % from", "known to", "times the noise"):  # fmt: skip
        assert part in text
    assert np.allclose(np.linalg.inv(found.information), found.covariance, rtol=1e-6)
    low, high = found.bounds["link.EI"]
    error = found.standard_errors["link.EI"]
    assert np.log(high / low) == pytest.approx(2 * 1.96 * error / found.values["link.EI"], rel=1e-3)
    assert np.allclose(np.diag(found.correlation), 1.0)
    assert [r.label for r in found.residuals] == ["encoder", "strain gauge"]
    assert "Identified('arm'" in repr(found)


def test_noise_is_estimated_where_it_is_not_known(arm, data):
    found = lb.identify(started(arm), NAMES, data, [ENCODER, GAUGE], noise={"encoder": None})
    assert found.estimated_noise == ("encoder",)
    assert found.noise["encoder"][0] == pytest.approx(1e-3, rel=0.4)
    assert found.noise["strain gauge"][0] == 1e-5


def test_a_prior_counts_as_a_reading(arm, data):
    alone = lb.identify(arm, NAMES, data, [ENCODER, GAUGE])
    error = alone.standard_errors["tool.mass"]
    prior = Unknown(prior=(alone.values["tool.mass"] + 2.0 * error, error))
    found = lb.identify(arm, {"link.EI": None, "tool.mass": prior}, data, [ENCODER, GAUGE])
    moved = found.values["tool.mass"] - alone.values["tool.mass"]
    assert moved == pytest.approx(error, rel=0.02)
    assert found.standard_errors["tool.mass"] == pytest.approx(error / np.sqrt(2.0), rel=0.02)


def test_a_parameter_at_its_bound_is_told(arm, data):
    unknown = {"link.EI": Unknown(start=45.0, bounds=(30.0, 48.0)), "tool.mass": None}
    with pytest.warns(ModelWarning) as told:
        found = lb.identify(arm, unknown, data, [ENCODER, GAUGE])
    assert found.values["link.EI"] == pytest.approx(48.0, rel=1e-3)
    assert any("link.EI is at its bound, 48" in str(one.message) for one in told)


def test_combinations_that_readings_do_not_tell_are_named(arm, data):
    names = ["tool.inertia[2, 2]", "link.joint_damping"]
    short = replace(data, t=T[:6], readings={"encoder": data.readings["encoder"][:6]})
    with pytest.warns(ModelWarning) as told:
        found = lb.identify(arm, names, short, [ENCODER], noise={"encoder": 0.1})
    assert any(
        "do not determine link.joint_damping better than to" in str(one.message) for one in told
    )
    assert not found.identifiable
    assert "not known" in str(found)


def test_a_parameter_that_changes_no_reading_has_no_bounds(arm, data):
    with pytest.warns(ModelWarning, match=r"do not determine tool.inertia\[0, 0\] at all"):
        found = lb.identify(arm, ["tool.mass", "tool.inertia[0, 0]"], data, [ENCODER, GAUGE])
    assert found.standard_errors["tool.inertia[0, 0]"] == np.inf
    assert np.isfinite(found.standard_errors["tool.mass"])
    assert "not seen by the readings at all" in str(found)


@pytest.mark.filterwarnings(
    "ignore:identify. the readings do not determine:limber.errors.ModelWarning"
)
def test_what_readings_do_not_determine_does_not_run_away(data):
    """The place of the tool along the axis of the joint, which is a combination of its coordinates, changes nothing."""
    turned = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    a = lb.Assembly("arm")
    a.attach("link", lb.beam(1.0, 1.0, EI=50.0, modes={"y": 1}, damping=0.02), lb.Revolute("z", damping=0.1))  # fmt: skip
    a.attach("tool", lb.RigidBody(0.5, inertia=0.01 * np.eye(3)), lb.Fixed(), "link", "tip", rotation=turned)  # fmt: skip
    found = lb.identify(started(a.build()), ["link.EI", "tool.mass", "tool.com"], data, [ENCODER, GAUGE])  # fmt: skip
    assert max(abs(found.values[f"tool.com[{i}]"]) for i in range(3)) < 0.1


def test_what_the_model_leaves_out_colours_the_residuals(arm):
    other = lb.Assembly("arm")
    other.attach("link", arm.bodies["link"], lb.Revolute("z", damping=0.1, stiffness=3.0))
    other.attach("tool", arm.bodies["tool"], lb.Fixed(), "link", "tip")
    data = simulated_experiment(other.build(), [ENCODER, GAUGE], T, seed=1, torque=PULSE)
    with pytest.warns(ModelWarning) as told:
        found = lb.identify(arm, NAMES, data, [ENCODER, GAUGE], noise={"encoder": None})
    assert any("not white: 'encoder in experiment 1'" in str(one.message) for one in told)
    assert found.residuals[0].white < 1e-4


def test_starts_and_biases_are_found(arm):
    q0 = arm.neutral()
    q0[arm.layout["link"].q_joint] = 0.05
    data = simulated_experiment(arm, [ENCODER, GAUGE], T, seed=5, torque=PULSE, q0=q0)
    readings = {"encoder": data.readings["encoder"] - 0.05, "strain gauge": data.readings["strain gauge"] + 3e-5}  # fmt: skip
    moved = replace(data, q0=None, readings=readings, unknown_start={"link.joint0 rate": 0.1})
    found = lb.identify(started(arm), NAMES, moved, [ENCODER, GAUGE], bias=["strain gauge"])
    value, error = next(
        x for name, x in found.nuisance.items() if name.startswith("bias of strain")
    )
    assert abs(value - 3e-5) < 4.0 * error
    value, error = found.nuisance["link.joint0 rate at the start of experiment 1"]
    assert abs(value) < 4.0 * error < 0.4
    assert abs(found.values["tool.mass"] - 0.5) < 4.0 * found.standard_errors["tool.mass"]


def test_several_experiments_with_known_differences(arm, data):
    heavy = arm.with_parameters({"tool.mass": 1.5})
    second = simulated_experiment(heavy, [ENCODER, GAUGE], T, seed=9, torque=PULSE)
    second = replace(second, parameters={"tool.mass": 1.5}, name="heavy")
    first = replace(data, parameters={"tool.mass": 0.5}, name="light")
    found = lb.identify(started(arm), ["link.EI"], [first, second], [ENCODER, GAUGE])
    one = lb.identify(started(arm), ["link.EI"], first, [ENCODER, GAUGE])
    assert abs(found.values["link.EI"] - 50.0) < 4.0 * found.standard_errors["link.EI"]
    assert found.standard_errors["link.EI"] < one.standard_errors["link.EI"]
    assert {r.experiment for r in found.residuals} == {"light", "heavy"}


def test_missing_readings_are_left_out(arm, data):
    gaps = data.readings["encoder"].copy()
    gaps[5:15] = np.nan
    found = lb.identify(arm, NAMES, replace(data, readings={**data.readings, "encoder": gaps}), [ENCODER, GAUGE])  # fmt: skip
    assert len(found.residuals[0].t) == len(T) - 10
    gaps[7] = np.inf
    with pytest.raises(ValueError, match=r"readings\['encoder'\] of .* is infinite in row 7"):
        lb.identify(arm, NAMES, replace(data, readings={**data.readings, "encoder": gaps}), [ENCODER, GAUGE])  # fmt: skip


@pytest.mark.parametrize("noise", [{}, {"encoder": None, "strain gauge": None}])
def test_a_sensor_without_any_reading_is_left_out(arm, data, noise):
    lost = {**data.readings, "encoder": np.full((len(T), 1), np.nan)}
    one = {name: None for name in noise if name != "encoder"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lb.identify(started(arm), NAMES, replace(data, readings=lost), [ENCODER, GAUGE], noise=noise)  # fmt: skip
        alone = replace(data, readings={"strain gauge": data.readings["strain gauge"]})
        assert found.values == lb.identify(started(arm), NAMES, alone, [GAUGE], noise=one).values
        found.plot()


def test_windows_give_the_same_answer(arm, data):
    whole = lb.identify(started(arm), NAMES, data, [ENCODER, GAUGE])
    parts = lb.identify(started(arm), NAMES, data, [ENCODER, GAUGE], windows=(0.4, 1.0))
    for name in NAMES:
        assert parts.values[name] == pytest.approx(whole.values[name], rel=1e-6)


def test_pictures(arm, data, tmp_path):
    found = lb.identify(arm, NAMES, data, [ENCODER, GAUGE])
    figure = found.plot(path=tmp_path / "residuals.png")
    assert len(figure.axes) == 6 and (tmp_path / "residuals.png").stat().st_size > 10_000
    assert len(found.plot_fit(width=4.0).axes) == 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"parameters": ["tool.weight"]}, "'tool.weight' is unknown"),
        ({"parameters": ["tool.com[3]"]}, r"tool.com has shape \(3,\), and no element \[3\]"),
        ({"parameters": ["link.rotation"]}, "is a rotation matrix"),
        ({"parameters": ["tool.mass", "tool.mass"]}, "tool.mass more than once"),
        ({"parameters": {"tool.mass": 3.0}}, r"must be lb.identification.Unknown"),
        ({"parameters": {"tool.mass": Unknown(bounds=(1.0, 2.0))}}, "start of 'tool.mass', 0.5, must lie within"),
        ({"parameters": {"tool.com": Unknown(start=1.0)}}, r"has 3 numbers: .* \"tool.com\[0\]\""),
        ({"parameters": {"tool.com[0]": Unknown(scale="log")}}, "must be greater than 0, got 0"),
        ({"sensors": [lb.control.StarTracker("tool", rate=1.0)]}, "sensors may have 'Encoder'"),
        ({"sensors": [ENCODER, ENCODER]}, "several sensors with the name 'encoder'"),
        ({"noise": {"gyro": 1.0}}, "noise has 'gyro', which is not a sensor"),
        ({"bias": ["gyro"]}, "bias names 'gyro', which is not a sensor"),
        ({"windows": (0.5, 0.2, 1.0)}, "windows must be fractions of the experiments that increase to 1"),
        ({"experiments": {"t": T[::-1]}}, "must contain at least two increasing times"),
        ({"experiments": {"torque": lambda t, q, v: v}}, "must be what acted in the experiment"),
        ({"experiments": {"readings": {"gyro": T}}}, "'gyro' is not a sensor; the sensors are"),
        ({"experiments": {"readings": {"encoder": T[:3]}}}, r"must have shape \(31, 1\)"),
        ({"experiments": {"unknown_start": ["link.joint9"]}}, "'link.joint9' is not one of link.mode0, link.joint0"),
        ({"experiments": {"settled": True, "unknown_start": ["link.mode0"]}}, "is known, because the experiment starts at rest"),
        ({"experiments": {"parameters": {"tool.mass": 1.0}}}, "'tool.mass' is both unknown and given for experiment 1"),
        ({"experiments": {"parameters": {"link.EIz": 60.0}}}, "given for experiment 1 are inconsistent: .*EI and EIz"),
        ({"parameters": {"link.EI": Unknown(bounds=60.0)}}, r"bounds of 'link.EI' must be \(lowest, highest\)"),
        ({"parameters": {"link.EI": Unknown(bounds=(1.0, 60.0, 70.0))}}, r"must be \(lowest, highest\)"),
        ({"experiments": {"t0": 0.1}}, "is later than its first reading"),
        ({"experiments": {"readings": {}}}, "0 readings cannot determine 2 unknowns"),
    ],
)  # fmt: skip
def test_refused(arm, data, change, text):
    given = {"parameters": NAMES, "experiments": data, "sensors": [ENCODER, GAUGE], **change}
    if isinstance(given["experiments"], dict):
        given["experiments"] = replace(data, **given["experiments"])
    with pytest.raises(lb.LimberError, match=text):
        lb.identify(arm, **given)


def test_a_model_that_is_too_fast_for_slopes_is_refused_in_words(arm, data):
    """Its slopes would fill the memory; the search goes back from such numbers, and says so where it starts with them."""
    with pytest.raises(lb.LimberError, match="too fast for derivatives"):
        lb.identify(arm.with_parameters({"link.EI": 1e15}), NAMES, data, [ENCODER, GAUGE])


def test_unknown_starts_are_found_before_parameters_go_astray():
    """A body that tumbles: a search of everything at once ended at an inertia that no body can exceed, 300 times off the noise."""
    a = lb.Assembly("satellite")
    a.attach("bus", lb.RigidBody(10.0, inertia=np.diag([2.0, 3.0, 4.0])), lb.Free())
    true = a.build()
    gyro = lb.control.Gyro("bus", rate=20.0, noise=1e-3)
    t = np.linspace(0.0, 4.0, 41)
    torque = np.tile([0.0, 0.3, -0.2, 0.0, 0.0, 0.0], (21, 1))
    torque[:, 0] = 0.5 * np.cos(3.0 * t[::2])
    data = simulated_experiment(
        true, gyro, t, seed=1, torque=lb.Table(t[::2], torque), v0=[0.3, -0.2, 0.5, 0.0, 0.0, 0.0]
    )  # fmt: skip
    rates = [f"bus.joint{i} rate" for i in range(3)]
    start = true.with_parameters({"bus.inertia": np.diag([2.2, 2.9, 3.9])})
    names = [f"bus.inertia[{i}, {i}]" for i in range(3)]
    found = lb.identify(start, names, replace(data, v0=None, unknown_start=rates), gyro)
    assert not found.warnings
    for name, truth in zip(names, (2.0, 3.0, 4.0)):
        assert abs(found.values[name] - truth) < 4.0 * found.standard_errors[name]


def test_a_search_that_ends_beside_impossible_numbers_says_so():
    def wheel(moment):
        a = lb.Assembly("wheel")
        a.attach("disc", lb.RigidBody(1.0, inertia=np.diag([2.0, 2.0, moment])), lb.Revolute("z"))
        return a.build()

    # twice the torque that acted is told, so that the moment should be twice what it is, and no body has that
    data = simulated_experiment(wheel(3.9), ENCODER, T, seed=1, torque=[1.0])
    with pytest.warns(ModelWarning):
        found = lb.identify(wheel(3.0), ["disc.inertia[2, 2]"], replace(data, torque=[2.0]), ENCODER)  # fmt: skip
    assert found.values["disc.inertia[2, 2]"] == pytest.approx(4.0, rel=1e-3)
    assert any(
        "next to values that are impossible for the model" in text for text in found.warnings
    )


def test_residuals_far_above_the_noise_say_that_the_search_may_have_gone_astray(arm, data):
    other = replace(data, torque=np.zeros(arm.nv))  # the forces are not those that acted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        found = lb.identify(started(arm), ["tool.mass"], other, [ENCODER, GAUGE])
    assert any("The search may also have ended far" in text for text in found.warnings)


def test_small_numbers_that_start_at_zero_are_found():
    """A pendulum of 2 mg: a damping of 3e-11 N m s and a friction of 5e-12 N m, of whose sizes nothing tells."""

    def pendulum(damping, friction, rest):
        a = lb.Assembly("pendulum", gravity=(0, 0, -9.81))
        body = lb.RigidBody(2e-6, (4e-3, 0, 1e-3), 6e-12 * np.eye(3))
        physics = {"damping": damping, "friction": friction, "friction_speed": 0.1}
        joint = lb.Revolute("y", stiffness=1.5e-10, rest=rest, **physics)
        return a.attach("rod", body, joint).build()

    true = {"rod.joint_damping": 3e-11, "rod.joint_friction": 5e-12, "rod.joint_rest": 0.2}
    t = np.linspace(0.0, 1.0, 51)
    torque = lb.Table([0.0, 0.5, 1.0], [[0.0], [2e-9], [-1.5e-9]])
    encoder = lb.control.Encoder(rate=50.0, noise=1e-4)
    data = simulated_experiment(pendulum(*true.values()), encoder, t, torque=torque, seed=1)
    found = lb.identify(pendulum(0.0, 0.0, 0.0), list(true), data, encoder)
    assert not found.warnings and found.identifiable
    for name, value in true.items():
        assert abs(found.values[name] - value) < 4.0 * found.standard_errors[name]


def test_a_search_that_goes_astray_is_repeated_from_the_beginning_of_the_data():
    """Vibrations of many periods fit from stiffnesses that are wrong by a whole period, far from the best ones."""
    a = lb.Assembly("arm")
    for name, mass, armature, to in (("upper", 0.9, 0.8, ()), ("fore", 0.7, 0.4, ("upper", "tip"))):
        link = lb.beam(1.0, mass, EI=8000.0, modes={"z": 1}, damping=0.008)
        a.attach(name, link, lb.Revolute("y", armature=armature, damping=0.3), *to)
    a.attach("load", lb.RigidBody(2.0, inertia=[0.01] * 3), lb.Fixed(), "fore", "tip")
    s = a.build()
    sensors = [
        lb.control.Encoder(rate=50.0, noise=2e-4),
        lb.control.StrainGauge("upper", at=0.1, z=0.03, rate=50.0, noise=2e-6),
    ]
    t = np.linspace(0.0, 0.8, 41)
    wave = 2.0 * np.pi * t[:, None]
    torque = [25.0, 10.0] * np.sin(wave * [1.1, 1.9]) + [12.0, 6.0] * np.sign(
        np.sin(wave * [5, 6.3])
    )
    data = simulated_experiment(s, sensors, t, torque=lb.Table.held(t, torque), seed=0)
    names = ["upper.EI", "fore.EI"]
    wrong = s.with_parameters({"upper.EI": 10400.0, "fore.EI": 5600.0})
    found = lb.identify(wrong, names, data, sensors)
    for name in names:
        assert abs(found.values[name] - 8000.0) < 4.0 * found.standard_errors[name]
    assert not found.warnings
