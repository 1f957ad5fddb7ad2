"""What determines the numbers of a campaign is in its record: a change of it is seen, and use changes nothing."""

import json
from pathlib import Path

import numba
import numpy as np
import pytest

import limber as lb
from limber.campaigns.records import described

control = lb.control
FORCE = 1.0


def record(value):
    return json.dumps(described(value), default=str)


def arm(**changed):
    given = {"effort": np.inf, "speed": np.inf, "strain": 3.0, "names": ("one", "two"), "node": 0.1}
    given |= changed
    a = lb.Assembly("arm")
    modes = {"translation": [[[0.0], [0], [0]], [[0], [1], [0]]], "stiffness": [[9.0]]}
    link = lb.FlexibleBody.from_nodes(
        [1.0, 2.0], [[0, 0, 0], [1, 0, 0]], **modes, strain={"gauge": [given["strain"]]}
    )
    joint = lb.Revolute(
        "z", armature=0.1, damping=0.1, effort_limit=given["effort"], speed_limit=given["speed"]
    )
    a.attach("link", link, joint, joint_name=given["names"][0])
    load = lb.RigidBody(1.0, inertia=np.eye(3), nodes={"edge": (given["node"], 0, 0)})
    a.attach("load", load, lb.Revolute("z"), "link", 1, joint_name=given["names"][1])
    return a.build()


@pytest.mark.parametrize(
    "changed",
    [{"effort": 3.0}, {"speed": 3.0}, {"strain": 4.0}, {"names": ("two", "one")}, {"node": 0.2}],
)
def test_all_of_a_system_counts(changed):
    assert record(arm()) == record(arm())
    assert record(arm(**changed)) != record(arm())


def test_pictures_of_a_system_do_not_count():
    def hub(**options):
        body = lb.RigidBody(1.0, inertia=np.eye(3))
        return lb.Assembly("a").attach("hub", body, lb.Revolute("z"), **options).build()

    assert record(hub(shapes=[lb.shapes.Box([1.0, 1.0, 1.0])])) == record(hub())


def of_closure(x):
    return lambda t, q, v: x


def of_default(x):
    def force(t, q, v, x=x):
        return x

    return force


def of_keyword(x):
    def force(t, q, v, *, x=x):
        return x

    return force


def compiled(x):
    @numba.njit
    def force(t):
        return x * t

    return lambda t, q, v: [force(t)]


def of_module(x):
    globals()["FORCE"] = x
    return by_name


def by_name(t, q, v):
    return [sum(FORCE for _ in range(1))]


def by_other(t, q, v):
    return by_name(t, q, v)


def through_another(x):
    globals()["FORCE"] = x
    return by_other


class Pull:
    """A torque that keeps its argument under another name."""

    def __init__(self, newton):
        self.force = newton

    def __call__(self, t, q, v):
        return [self.force]


class Shared:
    """A torque whose number belongs to the module."""

    def __init__(self, x):
        globals()["FORCE"] = x

    def __call__(self, t, q, v):
        return [FORCE]


def table(x, **options):
    return lb.Table([0.0, 1.0, 2.0], [[0.0], [x], [0.0]], **options)


@pytest.mark.parametrize(
    ("make", "one", "other"),
    [
        *((make, (1.0,), (2.0,)) for make in (of_closure, of_default, of_keyword)),
        (of_closure, [1.0], [2.0]),
        (of_closure, {"k": 1.0}, {"k": 2.0}),
        (of_closure, {"a", "b"}, {"a", "c"}),
        (of_closure, 1j, 2j),
        (of_closure, Path("a"), Path("b")),
        (of_closure, of_default(1.0), of_default(2.0)),
        (of_closure, table(1.0), table(2.0)),
        (of_closure, arm(), arm(effort=3.0)),
        (of_closure, Pull(1.0), Pull(2.0)),
        (lambda x: [lambda: 1, lambda: 2][x], 0, 1),
        *((make, 1.0, 2.0) for make in (compiled, of_module, through_another, Pull, Shared)),
        (lambda x: table(1.0, smooth=x), False, True),
    ],
)  # fmt: skip
def test_values_that_functions_use_count(make, one, other):
    first = record(make(one))
    assert record(make(other)) != first
    assert record(make(one)) == first


def test_a_function_that_calls_itself_has_a_record():
    def power(n):
        return 1.0 if n == 0 else 2.0 * power(n - 1)

    assert record(power) == record(power)


def test_generated_functions_count_by_their_code():
    f, g = (lb.compile(arm(), name) for name in ("kinetic_energy", "potential_energy"))
    assert record(of_closure(f)) != record(of_closure(g))
    assert record(of_closure(f)) == record(of_closure(lb.compile(arm(), "kinetic_energy")))


def path(distance=0.3):
    return lb.trajectories.Cycloid(distance, 0.2)


S = arm()
RATES = {"kp": 11.0, "kd": 3.0, "sample_time": 0.02}
FIRST = {"kp": 10.0, "kd": 2.0, "sample_time": 0.01}
COSTS = [control.Effort(1.0), control.Tracking(S.neutral(), 1.0)]
#: Classes with their arguments at first, and other values of all of them.
MADE = [
    (control.PID, FIRST, RATES | {"ki": 1.0, "bodies": "link", "reference": path(), "limit": 3.0, "gravity": True, "filter_time": 0.1}),
    (control.ComputedTorque, FIRST, RATES | {"model": "flexible", "system": S, "bodies": "link", "reference": path(), "limit": 3.0, "observer": control.Kalman(0.1), "weights": 2.0, "near": S.neutral()}),
    (control.ActiveDamping, FIRST, RATES | {"damping": 0.3, "modes": 2, "law": "ppf", "about": S.neutral(), "system": S, "observer": control.Kalman(0.1)}),
    (control.SingularPerturbation, FIRST, RATES | {"damping": 0.4}),
    (control.LQR, {"Q": 1.0, "R": 1.0, "sample_time": 0.01, "about": S.neutral()}, {"Q": 2.0, "R": 2.0, "sample_time": 0.02, "about": S.neutral() + 0.1, "bodies": "link", "free": "link", "points": 5, "delay": 0.01, "observer": control.Kalman(0.1), "system": S}),
    (control.Kalman, {"disturbance": 0.1}, {"disturbance": 0.2, "q": S.neutral(), "initial": 0.02, "noise": {"encoder": 0.1}, "bias": {"gyro": 0.1}, "load": {"link": 0.1}, "sensors": ["encoder"], "extended": True, "record": True}),
    (control.AttitudeEstimator, {}, {"bias": 1e-3, "bias_walk": 1e-5}),
    (control.AttitudeController, {"hub": "link", "bandwidth": 1.0, "sample_time": 0.01}, {"hub": "load", "bandwidth": 2.0, "sample_time": 0.02, "damping": 0.8, "integral_time": 3.0, "filters": [control.SecondOrder(1, 0.1, 1, 0.2, 1, 1)], "unloading": control.Unloading(1.0, 0.5, 3.0), "observer": control.AttitudeEstimator(), "system": S, "q": S.neutral()}),
    (control.OptimalAttitude, {"hub": "link", "sample_time": 0.01}, {"hub": "load", "sample_time": 0.02, "rotation": 0.002, "torque": 0.2, "energy": 1e-3, "noise": (1e-5, 1e-5), "disturbance": 0.01}),
    (control.Guard, {"controller": control.PD(1.0, sample_time=0.01)}, {"controller": control.PD(2.0, sample_time=0.01), "limit": 3.0, "hold": 0.13, "oldest": 0.2, "recover": 3, "follow": 0.1}),
    (control.Loop, {"system": S, "controller": control.PD(1.0, sample_time=0.01)}, {"system": arm(effort=3.0), "controller": control.PD(2.0, sample_time=0.01), "sensors": [control.Encoder(rate=100.0)], "actuators": [control.Servo("link"), control.Servo("load")], "delay": 0.001, "seed": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("made", "first", "others"), MADE)
def test_all_arguments_of_controllers_count(made, first, others):
    assert record(made(**first)) == record(made(**first))
    for name, value in others.items():
        assert record(made(**(first | {name: value}))) != record(made(**first)), name


def test_all_arguments_of_model_predictive_control_count():
    pytest.importorskip("piqp")
    first = {"system": S, "intervals": 5, "sample_time": 0.01, "costs": COSTS}
    others = {"intervals": 6, "sample_time": 0.02, "costs": COSTS[:1], "joints": ["link"], "torque": 3.0, "speed": 3.0, "coordinates": {"link": (-1, 1)}, "end": S.neutral() + 0.1, "substeps": 7, "start_iterations": 3, "qp_iterations": 9, "accuracy": 1e-5, "delay": 0.01}  # fmt: skip
    for name, value in others.items():
        changed = record(control.NMPC(**(first | {name: value})))
        assert changed != record(control.NMPC(**first)), name


def test_use_of_a_controller_with_an_observer_does_not_count():
    sensors = [control.Encoder(rate=100.0, noise=1e-3), control.StrainGauge("link", "gauge", rate=100.0, noise=1e-3)]  # fmt: skip
    controller = control.LQR(
        1.0,
        1.0,
        sample_time=0.01,
        about=S.neutral(),
        observer=control.Kalman(0.1, load={"link": 0.5}),
    )
    loop = control.Loop(S, controller, sensors=sensors, seed=3)
    before, made = record(loop), record(controller.observer)
    assert made == record(control.Kalman(0.1, load={"link": 0.5}))
    lb.simulate(S, 0.05, torque=loop, every=0.01)
    assert record(loop) == before and record(controller.observer) == made
