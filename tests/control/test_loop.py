"""Loops in simulations: sample times, held commands, delays, several rates, repeatability, records, files."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg

import limber as lb

OPTIONS = {"rtol": 1e-9, "atol": 1e-11}


def arm(gravity=(0.0, -9.81, 0.0), flexible=True):
    a = lb.Assembly("arm", gravity=gravity)
    for i, parent in ((1, "world"), (2, "link1")):
        body = (
            lb.beam(1.0, 1.0, EI=80.0, modes=2)
            if flexible
            else lb.RigidBody(1.0, com=(0.5, 0, 0), inertia=[0.1] * 3, nodes={"tip": (1, 0, 0)})
        )
        joint = lb.Revolute("z", armature=0.1)
        a.attach(f"link{i}", body, joint, to=parent, at=None if i == 1 else "tip")
    return a.build()


@pytest.fixture(scope="module")
def s():
    return arm()


class Sine(lb.control.Controller):
    """Torques that differ at every sample; it keeps what it was given."""

    def __init__(self, sample_time=0.01, size=2):
        self.sample_time, self.size = sample_time, size
        self.measured = []

    def start(self, t, measured):
        self.measured.clear()

    def command(self, t, measured):
        self.measured.append(measured)
        return np.sin(37.0 * t + np.arange(self.size))


def pd(**options):
    return lb.control.PD(60.0, 12.0, **{"sample_time": 0.01, **options})


def noisy(s, **options):
    sensors = [
        lb.control.Encoder(rate=1000.0, counts=2**14, noise=1e-5),
        lb.control.Tachometer(rate=250.0, noise_density=1e-3, delay=0.002, bias_walk=1e-3),
        lb.control.Gyro("link2", "tip", rate=100.0, noise_density=1e-3),
    ]
    return lb.control.Loop(s, pd(), sensors=sensors, **{"delay": 0.003, "seed": 5, **options})


# --- samples and held commands ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "engine"),
    [(m, "general") for m in ("dop853", "sdirk4", "tsit5", "auto")] + [("dop853", "generated")],
)
def test_a_loop_equals_runs_from_sample_to_sample_with_constant_torque(s, method, engine):
    c = Sine()
    r = lb.simulate(s, 0.1, torque=c, method=method, engine=engine, t_eval=[0.1], **OPTIONS)
    q, v = s.neutral(), np.zeros(s.nv)
    for k in range(10):
        assert np.allclose(c.measured[k].q, q, rtol=0, atol=1e-7)
        tau = np.sin(37.0 * 0.01 * k + np.arange(2))
        part = lb.simulate(
            s, 0.01, q0=q, v0=v, torque=tau, method="dop853", t_eval=[0.01], rtol=1e-11, atol=1e-13
        )
        q, v = part.q[-1], part.v[-1]
    assert np.allclose(r.q[-1], q, rtol=0, atol=1e-7)
    assert np.allclose(r.v[-1], v, rtol=0, atol=1e-5)


def test_a_loop_converges_to_the_continuous_law_as_the_sample_time_goes_to_zero(s):
    places = lb.control.joints.joint_places(s, None, "")

    def law(t, q, v):
        tau = np.zeros(s.nv)
        tau[places.v] = 60.0 * (0.0 - q[places.q]) - 12.0 * v[places.v]
        return tau

    exact = lb.simulate(s, 0.5, torque=law, t_eval=[0.5], **OPTIONS).q[-1]
    errors = []
    for sample_time in (0.002, 0.001):
        r = lb.simulate(s, 0.5, torque=pd(sample_time=sample_time), t_eval=[0.5], **OPTIONS)
        errors.append(np.abs(r.q[-1] - exact).max())
    assert errors[1] == pytest.approx(errors[0] / 2.0, rel=0.1)


def test_a_sampled_loop_follows_its_exact_discrete_model():
    I, kp, kd, T = 2.0, 30.0, 6.0, 0.05
    a = lb.Assembly("rotor")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[I] * 3), lb.Revolute("z"))
    s = a.build()
    c = lb.control.PD(kp, kd, sample_time=T, reference=0.0)
    for delay in (0.0, 0.4 * T, 1.7 * T):
        loop = lb.control.Loop(s, c, delay=delay)
        every = T * np.arange(41)
        r = lb.simulate(s, 2.0, q0=[0.3], torque=loop, t_eval=every, method="dop853", **OPTIONS)
        whole, part = int(delay // T), delay % T
        state, past = np.array([0.3, 0.0]), [0.0] * (whole + 2)
        for k in range(41):
            assert np.allclose([r.q[k, 0], r.v[k, 0]], state, rtol=0, atol=1e-9)
            past.insert(0, float(-kp * state[0] - kd * state[1]))
            for h, u in ((part, past[whole + 1]), (T - part, past[whole])):
                A = scipy.linalg.expm(h * np.array([[0, 1, 0], [0, 0, 1 / I], [0, 0, 0]]))
                state = A[:2, :2] @ state + A[:2, 2] * u


def test_the_step_after_a_sample_is_as_long_as_before():
    s = arm(flexible=False)
    c = Sine(sample_time=0.001)
    r = lb.simulate(s, 1.0, torque=c, method="dop853")
    assert r.statistics.steps <= 1010  # one a sample
    assert r.statistics.rejected < 20


def test_dense_output_events_and_the_energy_audit_keep_working(s):
    event = lb.Event(lambda t, q, v: q[s.layout["link1"].q_joint][0] + 0.05, name="low")
    r = lb.simulate(
        s, 0.5, torque=noisy(s), events=[event], t_eval=np.linspace(0, 0.5, 777), **OPTIONS
    )
    assert [e.name for e in r.events][:1] == ["low"]
    assert r.power_audit().accuracy < 1e-7
    assert (np.diff(r.t) > 0).all() and len(r) == 777


def test_closed_systems_are_controlled_too():
    a = lb.Assembly("four-bar", gravity=(0, -9.81, 0))
    rod = lb.RigidBody(1.0, com=(0.5, 0, 0), inertia=[0.1] * 3, nodes={"tip": (1.0, 0, 0)})
    a.attach("crank", rod, lb.Revolute("z"))
    a.attach("coupler", rod, lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", rod, lb.Revolute("z"), offset=(1.0, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"))
    s = a.build()
    q0 = lb.assemble(s, [1.2, -1.2, 1.2])
    c = lb.control.PID(200.0, 400.0, 30.0, sample_time=0.005, bodies="crank")
    loop = lb.control.Loop(
        s, c, sensors=[lb.control.Encoder("crank", rate=200.0), lb.control.Accelerometer("rocker", rate=50.0)]
    )  # fmt: skip
    with pytest.warns(lb.ModelWarning, match="redundant"):  # a plane linkage with spatial joints
        r = lb.simulate(s, 2.0, q0=q0, torque=loop)
    assert r.joint("crank")[-1, 0] == pytest.approx(q0[0], abs=1e-3)
    assert np.abs(r.constraint_residual()[0]).max() < 1e-8
    motion = r.node("rocker")
    rest = motion.R[-1].T @ -s.gravity
    assert np.allclose(r.signals["accelerometer"].y[-1], rest, atol=0.3)


def test_an_interrupted_run_returns_its_signals(s):
    class Interrupts(Sine):
        armed = True

        def command(self, t, measured):
            if self.armed and t > 0.095:
                self.armed = False
                raise KeyboardInterrupt
            return super().command(t, measured)

    loop = lb.control.Loop(s, Interrupts())
    with pytest.warns(UserWarning, match="interrupted"):
        r = lb.simulate(s, 0.3, torque=loop, every=0.01)
    assert len(r.signals["command"]) == 10 and r.t[-1] == pytest.approx(0.1)


def test_closures_may_change_while_a_loop_runs(s):
    held = s.layout["link2"].q_joint.start
    event = lb.Event(0.1, action=lb.lock("link2"), name="lock")
    r = lb.simulate(s, 0.3, torque=noisy(s), events=[event], t_eval=[0.1, 0.2, 0.3], **OPTIONS)
    assert [change.t for change in r.changes] == [0.1]
    assert np.ptp(r.q[:, held]) < 1e-9
    assert len(r.signals["encoder"]) == 300


# --- rates, delays and what is recorded -----------------------------------------------------------


def test_every_part_has_its_own_rate_and_is_recorded_at_its_own_times(s):
    r = lb.simulate(s, 0.2, torque=noisy(s), every=0.05)
    counts = {name: len(x) for name, x in r.signals.items()}
    assert counts == {
        "encoder": 200, "tachometer": 50, "gyro": 20, "command": 19, "guard": 20,
    }  # fmt: skip
    assert np.allclose(r.signals["encoder"].t, np.arange(200) / 1000.0, rtol=0, atol=1e-12)
    assert r.signals["gyro"].unit == "rad/s" and r.signals["gyro"].labels == ("x", "y", "z")
    assert r.signals["command"].labels[s.layout["link2"].v_joint.start] == "link2.joint0"


def test_a_controller_sees_readings_of_encoders_and_nothing_else(s):
    c = Sine()
    loop = lb.control.Loop(s, c, sensors=[lb.control.Encoder("link2", rate=100.0)])
    lb.simulate(s, 0.02, torque=loop)
    q = c.measured[1].q
    place = s.layout["link2"].q_joint
    assert np.isfinite(q[place]).all() and np.isnan(np.delete(q, place)).all()
    assert np.isnan(c.measured[1].v).all()
    with pytest.raises(
        lb.LimberError, match=r"'gyro' is not in the loop; its sensors are: 'encoder'"
    ):
        c.measured[1]["gyro"]


def test_a_command_takes_effect_after_its_delay(s):
    r = lb.simulate(s, 0.1, torque=lb.control.Loop(s, Sine(), delay=0.025), every=0.0005)
    t = r.t + 1e-9
    sent = np.floor((t - 0.025) / 0.01) * 0.01
    expected = np.where(t < 0.025, 0.0, np.sin(37.0 * sent))
    away = np.abs((t - 0.025) / 0.01 - np.rint((t - 0.025) / 0.01)) > 1e-3
    place = s.layout["link1"].v_joint.start
    assert np.allclose(r.tau[away, place], expected[away], rtol=0, atol=1e-12)


def test_an_initial_command_holds_until_the_first_one_arrives(s):
    q = lb.equilibrium(s, s.neutral(), locked=["link1", "link2"])
    hold = lb.inverse_dynamics(s, q, np.zeros(s.nv), np.zeros(s.nv))
    joints = np.concatenate([hold[s.layout[body].v_joint] for body in ("link1", "link2")])
    loop = lb.control.Loop(s, Sine(), delay=0.015, initial=joints)
    r = lb.simulate(s, 0.02, q0=q, torque=loop, every=0.005, **OPTIONS)
    assert np.abs(r.q[r.t < 0.0149] - q).max() < 1e-9
    assert np.abs(r.v[-1]).max() > 1e-3
    with pytest.raises(lb.LimberError, match=r"initial must be .* numbers"):
        lb.control.Loop(s, Sine(), initial=[1.0])


def test_outputs_of_the_controller_are_recorded(s):
    class Talks(Sine):
        def outputs(self):
            return {"count": len(self.measured), "pair": [1.0, 2.0]}

    r = lb.simulate(s, 0.05, torque=Talks())
    assert r.signals["count"].y[:, 0].tolist() == [1, 2, 3, 4, 5]
    assert r.signals["pair"].labels == ("pair[0]", "pair[1]")
    assert r.signals["pair"].unit == ""

    class Names(Talks):
        output_labels = {"pair": ["left", "right"]}
        output_units = {"pair": "N"}

    pair = lb.simulate(s, 0.05, torque=Names()).signals["pair"]
    assert pair.labels == ("left", "right") and pair.unit == "N"

    class Miscounts(Talks):
        output_labels = {"pair": ["left"]}

    with pytest.raises(lb.LimberError, match="1 labels for 'pair', which has 2 numbers"):
        lb.simulate(s, 0.05, torque=Miscounts())


# --- repeatability -------------------------------------------------------------------------------


def same(a, b):
    return a.keys() == b.keys() and all(
        (a[name].t == b[name].t).all() and (a[name].y == b[name].y).all() for name in a
    )


def test_the_same_seed_gives_the_same_run_to_the_bit(s):
    first = lb.simulate(s, 0.3, torque=noisy(s))
    again = lb.simulate(s, 0.3, torque=noisy(s))
    assert (first.q == again.q).all() and same(first.signals, again.signals)
    loop = noisy(s)
    for _ in range(2):  # a loop that is used again begins anew
        r = lb.simulate(s, 0.3, torque=loop)
        assert (first.q == r.q).all() and same(first.signals, r.signals)
    other = lb.simulate(s, 0.3, torque=noisy(s, seed=6))
    assert not (other.signals["gyro"].y == first.signals["gyro"].y).any()


@pytest.mark.parametrize("middle", [0.13, 0.1324])
def test_a_run_that_is_resumed_goes_on_as_if_it_had_not_ended(s, middle):
    whole = lb.simulate(s, 0.3, torque=noisy(s), t_eval=[middle, 0.3], **OPTIONS)
    loop = noisy(s)
    first = lb.simulate(s, middle, torque=loop, t_eval=[middle], **OPTIONS)
    second = lb.simulate(
        s, 0.3, t0=middle, q0=first.q[-1], v0=first.v[-1], torque=loop.resumed(), t_eval=[0.3], **OPTIONS
    )  # fmt: skip
    assert np.allclose(second.q[-1], whole.q[-1], rtol=0, atol=1e-7)
    for name, samples in whole.signals.items():
        parts = first.signals[name], second.signals[name]
        assert np.allclose(np.concatenate([x.t for x in parts]), samples.t, rtol=0, atol=1e-12)
        assert np.allclose(np.concatenate([x.y for x in parts]), samples.y, rtol=0, atol=1e-3)
    noise = [
        x.signals["encoder"].y[-1] % (2 * np.pi / 2**14) for x in (whole, second)
    ]  # multiples of the step
    assert np.allclose(noise[0] - noise[1], 0, atol=1e-9)
    with pytest.raises(lb.LimberError, match="is not where the previous run ended"):
        lb.simulate(s, 0.6, t0=0.5, torque=loop.resumed())
    with pytest.raises(lb.LimberError, match="nothing to resume"):
        noisy(s).resumed()


def test_copies_of_a_loop_run_at_the_same_time_and_give_the_same_bits(s):
    def run(loop):
        return lb.simulate(s, 0.3, torque=loop, progress=False)

    loop = noisy(s)
    expected = run(loop)
    copies = [copy.deepcopy(loop, {id(s): s}) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for r in pool.map(run, copies):
            assert (r.q == expected.q).all() and same(r.signals, expected.signals)
    with pytest.raises(lb.LimberError, match="nothing to resume"):
        copy.deepcopy(loop, {id(s): s}).resumed()


def test_a_loop_in_two_runs_at_once_is_refused(s):
    loop = noisy(s)
    first, second = loop.session(s, 0.0), loop.session(s, 0.0)
    q, v = s.neutral(), np.zeros(s.nv)
    second.sample(0.0, q, v)
    with pytest.raises(lb.LimberError, match="in two runs at the same time"):
        first.sample(0.0, q, v)


# --- files ----------------------------------------------------------------------------------------


def test_signals_are_kept_in_files(s, tmp_path):
    pytest.importorskip("h5py")
    r = lb.simulate(s, 0.2, torque=noisy(s), save=tmp_path / "run.h5")
    for path in ("run.h5", "again.h5"):
        r.save(tmp_path / "again.h5")
        found = lb.Result.load(tmp_path / path)
        assert same(r.signals, found.signals) and (found.q == r.q).all()
        assert found.signals["gyro"].unit == "rad/s"
        assert found.signals["gyro"].labels == ("x", "y", "z")
    plain = lb.simulate(s, 0.1)
    plain.save(tmp_path / "plain.h5")
    assert lb.Result.load(tmp_path / "plain.h5").signals == {}


def test_signals_of_a_run_that_fails_are_in_the_error_and_in_the_file(s, tmp_path):
    pytest.importorskip("h5py")

    class Fails(Sine):
        def command(self, t, measured):
            if t > 0.105:
                raise ZeroDivisionError("no battery")
            return super().command(t, measured)

    sensors = [lb.control.Encoder(rate=500.0)]
    loop = lb.control.Loop(s, Fails(), sensors=sensors)
    with pytest.raises(ZeroDivisionError, match="no battery") as caught:
        lb.simulate(s, 0.3, torque=loop, save=tmp_path / "run.h5")
    so_far = caught.value.result.signals
    assert len(so_far["command"]) == 11 and len(so_far["encoder"]) == 56
    with pytest.warns(lb.ModelWarning, match="did not end"):
        found = lb.Result.load(tmp_path / "run.h5")
    assert same(so_far, found.signals)


# --- misuse ---------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_with_names(s):
    class NoTime(lb.control.Controller):
        def command(self, t, measured):
            return np.zeros(2)

    with pytest.raises(lb.LimberError, match="NoTime has no attribute sample_time"):
        lb.simulate(s, 0.1, torque=NoTime())
    with pytest.raises(lb.LimberError, match="must be 10 numbers, or 2 for the joints alone"):
        lb.simulate(s, 0.1, torque=Sine(size=3))
    other = arm(flexible=False)
    with pytest.raises(lb.LimberError, match="this loop was made for 'arm'"):
        lb.simulate(other, 0.1, torque=noisy(s))
    with pytest.raises(lb.LimberError, match="sample_time needs a method of Limber"):
        lb.simulate(s, 0.1, torque=noisy(s), method="RK45")
    with pytest.raises(
        lb.LimberError, match=r"sensors must be objects such as those of lb\.control\.sensors"
    ):
        lb.control.Loop(s, pd(), sensors=["encoder"])
    with pytest.raises(lb.LimberError, match="delay"):
        lb.control.Loop(s, pd(), delay=-1.0)
    with pytest.raises(lb.LimberError, match="cannot be called 'guard'"):
        lb.control.Loop(s, pd(), sensors=[lb.control.Encoder(name="guard", rate=1.0)])

    class Repeats(Sine):
        def outputs(self):
            return {"command": 1.0}

    with pytest.raises(lb.LimberError, match="outputs\\(\\) of Repeats has 'command'"):
        lb.simulate(s, 0.1, torque=Repeats())


# --- pictures -------------------------------------------------------------------------------------


def test_signals_are_plotted_and_reported(s, tmp_path):
    r = lb.simulate(s, 0.1, torque=noisy(s))
    figure = r.plot("signals")
    labels = [axes.get_ylabel().replace("\n", " ") for axes in figure.axes]
    names = ["encoder (rad)", "tachometer (rad/s)", "gyro (rad/s)", "command (N m)", "guard"]
    assert labels == names  # the guard waited for the first readings
    page = r.report(tmp_path / "report.html").read_text()
    assert "gyro (rad/s)" in page
    with pytest.raises(lb.LimberError, match="this result has no such signals"):
        lb.simulate(s, 0.1).plot("signals")


def test_a_run_of_endless_samples_is_refused():
    a = lb.Assembly("rotor")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Revolute("z"))
    s = a.build()
    pd = lb.control.PD(1.0, 1.0, sample_time=1e-300)
    with pytest.raises(lb.LimberError, match=r"1\.0e\+300 samples in a run of 1 s"):
        lb.simulate(s, 1.0, torque=pd)
    sensors = [lb.control.Encoder(rate=1e12), lb.control.Tachometer(rate=100.0)]
    loop = lb.control.Loop(s, lb.control.PD(1.0, 1.0, sample_time=0.01), sensors=sensors)
    with pytest.raises(lb.LimberError, match=r"1\.0e\+12 samples.* rate for the sensors"):
        lb.simulate(s, 1.0, torque=loop)


@pytest.mark.parametrize("t0", [1e4, 1.7e9])
def test_loops_run_at_times_that_count_from_an_epoch(t0):
    """The last digit of such times is longer than what samples may differ by; the motion is that from time 0."""
    s = arm(flexible=False)
    found = []
    for start in (0.0, t0):
        loop = lb.control.Loop(
            s, pd(reference=[0.1, 0.2]), delay=0.0043, seed=1,
            sensors=[lb.control.Encoder(rate=300.0, noise=1e-5), lb.control.Tachometer(rate=100.0)],
            actuators=[lb.control.Servo(f"link{i}", current_time=0.003) for i in (1, 2)],
        )  # fmt: skip
        found.append(lb.simulate(s, start + 0.2, t0=start, torque=loop, **OPTIONS))
    assert np.allclose(found[1].v[-1], found[0].v[-1], atol=100 * np.spacing(t0))
    assert np.allclose(found[1].signals["command"].y[:20], found[0].signals["command"].y[:20])


def controllers():
    """Controllers with references of every kind, and with observers."""
    path = lb.trajectories.Quintic([0.0, 0.0], [0.1, 0.2], 0.3)
    one = lb.trajectories.Quintic(0.0, 0.1, 0.3)
    kalman = {"observer": lb.control.Kalman(0.02)}
    gains = {"kp": 60.0, "kd": 12.0, "sample_time": 0.01}
    return {
        "trajectory": pd(reference=path),
        "positions": pd(reference=[0.1, 0.2]),
        "names": lb.control.PID(60.0, 10.0, 12.0, sample_time=0.01, reference={"link1": one}),
        "function": pd(reference=np.cos),
        "computed torque": lb.control.ComputedTorque(50.0, 14.0, sample_time=0.01, reference=path),
        "active damping": lb.control.ActiveDamping(**gains, damping=0.5, **kalman),
    }


@pytest.mark.parametrize("name", controllers())
def test_a_loop_that_ran_can_be_pickled_and_runs_alike(name):
    """Other processes get loops in this way where they are not forks."""
    a = lb.Assembly("arm")
    body = lb.beam(1.0, 1.0, EI=80.0, modes={"y": 1}, damping=0.02)
    a.attach("link1", body, lb.Revolute("z", armature=0.1))
    a.attach("link2", body, lb.Revolute("z", armature=0.1), "link1", "tip")
    s = a.build()
    sensors = [lb.control.Encoder(rate=100.0, noise=1e-5), lb.control.Tachometer(rate=100.0, noise=1e-4)]  # fmt: skip
    loop = lb.control.Loop(s, controllers()[name], sensors=sensors, delay=0.003, seed=1)
    first = lb.simulate(s, 0.1, torque=loop)
    for other in (pickle.loads(pickle.dumps(loop)), copy.deepcopy(loop)):
        assert np.array_equal(lb.simulate(s, 0.1, torque=other).q, first.q)
