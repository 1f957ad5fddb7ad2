"""PD and PID: what they compute, what they follow, where they stop, and their linear model."""

import numpy as np
import pytest

import limber as lb


def arm(gravity=(0.0, -9.81, 0.0)):
    a = lb.Assembly("arm", gravity=gravity)
    link = lb.RigidBody(1.0, com=(0.5, 0, 0), inertia=[0.1] * 3, nodes={"tip": (1.0, 0, 0)})
    a.attach("link1", link, lb.Revolute("z", armature=0.1))
    a.attach("link2", link, lb.Revolute("z", armature=0.1), to="link1", at="tip")
    return a.build()


@pytest.fixture(scope="module")
def s():
    return arm()


def prepared(s, controller, **options):
    lb.control.Loop(s, controller, **options)
    return controller


def measured(q, v):
    return lb.control.Measured(0.0, np.asarray(q, float), np.asarray(v, float))


def test_the_torque_is_that_of_the_formula(s):
    c = prepared(
        s,
        lb.control.PID(
            [10.0, 20.0],
            [3.0, 4.0],
            [1.0, 2.0],
            sample_time=0.1,
            reference=[0.5, -0.5],
            filter_time=0.2,
        ),
    )
    c.start(0.0, measured([0, 0], [0, 0]))
    a = np.exp(-0.5)
    q, v = np.array([0.1, 0.2]), np.array([0.3, -0.4])
    error = np.array([0.5, -0.5]) - q
    integral, rate = 0.0, 0.0
    for _ in range(3):
        integral = integral + 0.1 * np.array([3.0, 4.0]) * error
        rate = a * rate + (1 - a) * -v
        expected = [10.0, 20.0] * error + integral + [1.0, 2.0] * rate
        assert np.allclose(c.command(0.0, measured(q, v)), expected)


def test_without_speeds_the_position_is_differenced(s):
    encoder = lb.control.Encoder(rate=100.0)
    c = prepared(s, lb.control.PD(0.0, 1.0, sample_time=0.1), sensors=[encoder])
    nan = [np.nan, np.nan]
    c.start(0.0, measured([0, 0], nan))
    assert c.command(0.0, measured([0, 0], nan)).tolist() == [0, 0]
    assert np.allclose(c.command(0.1, measured([0.1, -0.2], nan)), [-1.0, 2.0])


@pytest.mark.parametrize("speeds", [True, False])
@pytest.mark.parametrize("filter_time", [0.0, 0.03])
@pytest.mark.parametrize("ki", [0.0, 5.0])
def test_the_linear_model_computes_the_same(s, speeds, filter_time, ki):
    sensors = [lb.control.Encoder(rate=100.0)]
    sensors += [lb.control.Tachometer(rate=100.0)] if speeds else []
    gains = {"sample_time": 0.01, "filter_time": filter_time}
    c = prepared(s, lb.control.PID([50.0, 40.0], ki, 6.0, reference=0.0, **gains), sensors=sensors)
    m = c.linear()
    assert m.dt == 0.01 and m.outputs == ("torque link1", "torque link2")
    assert len(m.states) == len(m.A) == 2 * ((ki > 0) + (filter_time > 0) + (not speeds))
    x, rng = np.zeros(len(m.A)), np.random.default_rng(1)
    c.start(0.0, measured([0, 0], [0, 0]))
    q = v = np.zeros(2)
    for _ in range(20):
        y = np.concatenate([q, v])[: len(m.inputs)]
        assert np.allclose(c.command(0.0, measured(q, v)), m.C @ x + m.D @ y, rtol=1e-9)
        x = m.A @ x + m.B @ y
        q, v = rng.normal(size=(2, 2))


def test_the_integral_removes_the_error_of_gravity_and_so_does_compensation(s):
    common = {"sample_time": 0.002, "reference": 0.3}
    runs = {
        "pd": lb.control.PD(200.0, 40.0, **common),
        "pid": lb.control.PID(200.0, 400.0, 40.0, **common),
        "gravity": lb.control.PD(200.0, 40.0, gravity=True, **common),
    }
    error = {}
    for name, c in runs.items():
        r = lb.simulate(s, 4.0, torque=c, t_eval=[4.0])
        error[name] = np.abs(r.q[-1] - 0.3).max()
    assert error["pd"] > 0.05
    assert error["pid"] < 2e-3 and error["gravity"] < 1e-6


def test_references_are_trajectories_functions_numbers_or_by_joint(s):
    path = lb.trajectories.Quintic([0.0, 0.0], [0.4, -0.6], 1.0)
    one = lb.trajectories.Quintic(0.0, -0.6, 1.0)
    ends = []
    for reference in (
        path,
        lambda t: (path(t).position, path(t).velocity),
        {"link1": lambda t: tuple(x[:1] for x in path(t)), "link2": one},
    ):
        c = lb.control.PD(300.0, 60.0, sample_time=0.002, reference=reference, gravity=True)
        ends.append(lb.simulate(s, 1.5, torque=c, t_eval=[0.6, 1.5]).q)
    assert np.allclose(ends[0], ends[1], atol=1e-9) and np.allclose(ends[0], ends[2], atol=1e-9)
    assert np.allclose(ends[0][-1], [0.4, -0.6], atol=2e-3)
    # joints that are not named hold where they were
    c = lb.control.PD(300.0, 60.0, sample_time=0.002, reference={"link2": 0.2}, gravity=True)
    r = lb.simulate(s, 1.5, q0=[0.7, 0.0], torque=c)
    assert np.allclose(r.q[-1], [0.7, 0.2], atol=2e-3)


def test_the_integral_does_not_wind_up_at_the_limit():
    s = arm(gravity=(0, 0, 0))
    overshoot = []
    for limit in (None, 3.0):
        c = lb.control.PID(60.0, 60.0, 25.0, sample_time=0.005, reference=[1.0, 0.0], limit=limit)
        servos = [lb.control.Servo(f"link{i}", limit=3.0) for i in (1, 2)]
        # without a limit of its own the controller takes that of the servos
        loop = lb.control.Loop(s, c, actuators=servos)
        r = lb.simulate(s, 6.0, torque=loop)
        overshoot.append(r.q[:, 0].max() - 1.0)
        assert np.abs(r.tau).max() <= 3.0
    assert overshoot[0] == overshoot[1] < 0.25

    class Blind(lb.control.PID):
        """One that does not know of the limit."""

        def prepare(self, loop):
            super().prepare(loop)
            self._limited = False

    c = Blind(60.0, 60.0, 25.0, sample_time=0.005, reference=[1.0, 0.0])
    r = lb.simulate(s, 6.0, torque=lb.control.Loop(s, c, actuators=servos))
    assert r.q[:, 0].max() - 1.0 > 1.5 * overshoot[0]


def test_what_does_not_fit_is_refused_with_names(s):
    PD = lb.control.PD
    encoder = [lb.control.Encoder("link1", rate=10.0)]
    cases = [
        (r"kp must be one number, or 2 of them.*link1, link2", PD([1.0, 2.0, 3.0], sample_time=1.0), {}),
        ("no sensor reads the position of 'link2'", PD(1.0, sample_time=1.0), {"sensors": encoder}),
        (
            "no actuator drives 'link2'", PD(1.0, sample_time=1.0),
            {"actuators": [lb.control.Servo("link1")]},
        ),
        ("'link3' is not a joint", PD(1.0, sample_time=1.0, reference={"link3": 0.0}), {}),
        ("moves 3 joints", PD(1.0, sample_time=1.0, reference=lb.trajectories.Hold([0, 0, 0])), {}),
        ("body='arm'", PD(1.0, sample_time=1.0, bodies="arm"), {}),
    ]  # fmt: skip
    for text, c, options in cases:
        with pytest.raises(lb.LimberError, match=text):
            prepared(s, c, **options)
    with pytest.raises(lb.LimberError, match="PD has no ki"):
        PD(1.0, sample_time=1.0, ki=1.0)
    with pytest.raises(lb.LimberError, match="is not in a loop yet"):
        PD(1.0, sample_time=1.0).linear()
    with pytest.raises(lb.LimberError, match=r"reference\(t\) must return"):
        lb.simulate(s, 0.1, torque=PD(1.0, sample_time=1.0, reference=lambda t: np.zeros(3)))


def test_servos_may_have_names_of_their_own(s):
    """Controllers find the joint that a servo drives, whatever it is called; even by the name of the other joint."""
    runs = []
    for names in ((None, None), ("motor A", "motor B"), ("link2", "link1")):
        servos = [lb.control.Servo(f"link{i + 1}", names[i]) for i in range(2)]
        pd = lb.control.PD([60.0, 20.0], [25.0, 8.0], sample_time=0.005, reference=[0.4, -0.2])
        loop = lb.control.Loop(s, pd, actuators=servos)
        runs.append(lb.simulate(s, 1.0, torque=loop, every=0.1).q)
    assert np.array_equal(runs[0], runs[1]) and np.array_equal(runs[0], runs[2])


# --- closed systems and joints without rates -------------------------------------------------------


def four_bar():
    a = lb.Assembly("four-bar", gravity=(0, -9.81, 0))
    rod = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), nodes={"tip": (1.0, 0, 0)})
    a.attach("crank", rod, lb.Revolute("z"))
    a.attach("coupler", rod, lb.Revolute("z"), "crank", "tip")
    a.attach("rocker", rod, lb.Revolute("z"), offset=(1.5, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"))
    return a.build()


@pytest.mark.filterwarnings("ignore:the closures")
@pytest.mark.parametrize("bodies", ["crank", ["rocker", "crank"], None])
def test_the_weight_of_a_closed_system_is_held_by_the_joints_that_are_controlled(bodies):
    s = four_bar()
    q0 = lb.assemble(s, [1.2, -0.9, 1.4])
    pd = lb.control.PD(50.0, 10.0, sample_time=0.002, bodies=bodies, gravity=True)
    r = lb.simulate(s, 0.5, q0=q0, torque=pd)
    assert np.abs(r.q - q0).max() < 1e-9
    if bodies == "crank":  # the torque is the slope of the potential energy along the only freedom
        up, down = (
            lb.potential_energy(s, lb.assemble(s, q0 + np.array([h, 0, 0]), locked=["crank"]))
            for h in (1e-5, -1e-5)
        )
        assert r.tau[0, 0] == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_the_weight_of_a_closed_system_needs_the_positions_of_all_joints():
    s = four_bar()
    pd = lb.control.PD(50.0, 10.0, sample_time=0.002, bodies="crank", gravity=True)
    some = [lb.control.Encoder("crank", rate=500.0)]
    with pytest.raises(lb.LimberError, match=r"reads those of 'coupler', 'rocker'.*Add an Encoder"):
        lb.control.Loop(s, pd, sensors=some)
    lb.control.Loop(s, pd, sensors=[lb.control.Encoder(rate=500.0)])


def test_joints_whose_speeds_are_no_rates_are_refused_and_yet_read():
    H = np.vstack([np.eye(3), np.zeros((3, 3))])
    a = lb.Assembly("ball")
    a.attach("ball", lb.RigidBody(1.0, inertia=[1.0, 2.0, 2.5]), lb.SimpleJoint(H))
    s = a.build()
    pd = lb.control.PD(1.0, 1.0, sample_time=0.01, bodies="ball")
    with pytest.raises(lb.LimberError, match="several axes that turn each other"):
        lb.control.Loop(s, pd)
    with pytest.raises(lb.LimberError, match="several axes that turn each other in the joint of"):
        lb.control.tune(s, "pd", sample_time=0.01)
    q = np.array([0.5, 0.7, 0.9])
    encoder = lb.control.Encoder(rate=10.0)
    assert np.array_equal(encoder.reader(s).q, [0, 1, 2])
    model = lb.linearize(s, q, outputs=["ball"])
    turns = np.array([lb.qdot(s, q, unit) for unit in np.eye(3)]).T
    assert np.allclose(model.C[:, :3], turns)  # those that an encoder reads


@pytest.mark.parametrize(("angle", "kp", "stable"), [(-0.5, -2.0, False), (0.5, 2.0, True)])
def test_margins_count_the_weight_that_is_compensated(angle, kp, stable):
    """I x'' = -kp x - kd x': the compensation takes away the stiffness of the weight, as a run shows."""
    a = lb.Assembly("pendulum", gravity=(0, -9.81, 0))
    a.attach("rod", lb.RigidBody(1.0, (0.5, 0, 0), [0.1, 0.1, 0.1]), lb.Revolute("z"))
    s, at = a.build(), np.array([angle * np.pi])
    c = lb.control.PD(kp, 1.0, sample_time=0.0005, gravity=True, reference=at)
    loop = lb.control.Loop(s, c)
    hold = lb.inverse_dynamics(s, at, [0.0], [0.0])
    plant = lb.linearize(s, at, [0.0], hold, inputs=["rod"], outputs=["rod", ("speed", "rod")])
    found = lb.control.margins(plant, c)
    assert found.stable == stable
    exact = np.sort_complex(np.roots([0.35, 1.0, kp]))
    assert np.allclose(np.sort_complex(np.log(found.poles) / 0.0005), exact, rtol=2e-3)
    r = lb.simulate(s, 3.0, q0=at + 1e-4, torque=loop, every=3.0)
    assert (abs(r.q[-1, 0] - at[0]) < 1e-4) == stable


def test_weight_that_depends_on_other_joints_has_no_linear_model():
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    link = lb.RigidBody(1.0, (0.5, 0, 0), [0.1, 0.1, 0.1], {"tip": (1, 0, 0)})
    a.attach("upper", link, lb.Revolute("z"))
    a.attach("fore", link, lb.Revolute("z"), "upper", "tip")
    c = lb.control.PD(1.0, 1.0, sample_time=0.01, gravity=True, bodies="upper", reference=0.3)
    lb.control.Loop(a.build(), c)
    with pytest.raises(lb.LimberError, match="positions of joints that it does not control"):
        c.linear()


def test_gains_of_a_wrong_number_are_shown_as_a_list(s):
    with pytest.raises(
        lb.LimberError, match=r"kp must be one number, or .* got \[1\.0, 2\.0, 3\.0"
    ):
        lb.control.Loop(
            s, lb.control.PD([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 1.0, sample_time=0.01)
        )
