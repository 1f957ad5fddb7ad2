"""Fixed steps of all cases at once, in generated code."""

import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.gpu import needs_gpu
from limber.assembly.family import Family
from limber.dynamics.cores import at_most_cores
from limber.errors import collected_warnings
from limber.simulation.doubts import cases_in_doubt
from limber.simulation.validity import warn_outside_theory

OPTIONS = {"every": 0.05, "progress": False, "method": "rk4", "step": 1e-3}


@pytest.fixture(scope="module")
def hub():
    """A free body with a panel: quaternions, modes, and physics."""
    a = lb.Assembly("hub", gravity=(0, 0, -1.0))
    a.attach("hub", lb.RigidBody(2.0, (0.1, 0, 0), 0.3 * np.eye(3)), lb.Free())
    panel = lb.beam(1.0, 0.5, EI=20.0, modes=1, damping=0.02)
    a.attach("panel", panel, lb.Revolute("y", stiffness=2.0, damping=0.1), to="hub", offset=(0.2, 0, 0))  # fmt: skip
    return a.build()


def cases(system, count, seed=0):
    rng = np.random.default_rng(seed)
    q0 = np.array([lb.integrate(system, system.neutral(), 0.2 * rng.normal(size=system.nv), 1.0) for _ in range(count)])  # fmt: skip
    v0 = 0.2 * rng.normal(size=(count, system.nv))
    given = {
        "panel.EI": rng.uniform(10, 30, count), "hub.mass": rng.uniform(1, 3, count), "panel.joint_stiffness": 3.0,
        "hub.com": rng.uniform(-0.1, 0.1, (count, 3)), "panel.mass_scale": rng.uniform(0.8, 1.2, count),
    }  # fmt: skip
    return {"q0": q0, "v0": v0, "torque": 0.1 * rng.normal(size=(count, system.nv)), "parameters": given}  # fmt: skip


@pytest.mark.parametrize("count", [3, 150])
def test_lanes_are_the_runs_by_themselves(hub, count):
    given = cases(hub, count)
    batch = lb.simulate(hub, 0.2, engine="generated", **given, **OPTIONS)
    assert batch.finished.all() and batch.q.shape == (count, 5, hub.nq)
    for i in (0, count // 2, count - 1):
        own = {name: x[i] if np.ndim(x) else x for name, x in given["parameters"].items()}
        alone = lb.simulate(
            hub.with_parameters(own), 0.2, q0=given["q0"][i], v0=given["v0"][i], torque=given["torque"][i], **OPTIONS
        )  # fmt: skip
        assert_close(batch.q[i], alone.q, 1e-11)
        assert_close(batch.v[i], alone.v, 1e-11)
        assert_close(batch[i].tau, alone.tau, 0.0)
        assert batch[i].statistics.steps == 200
        assert_close(batch[i].energy, alone.energy, 1e-11)


def test_output_times_are_met_by_shorter_steps(hub):
    times = [0.0, 0.0105, 0.011, 0.1]
    given = {"q0": cases(hub, 2)["q0"], "t_eval": times, "progress": False}
    batch = lb.simulate(hub, 0.1, engine="generated", method="rk4", step=2.5e-4, **given)
    exact = lb.simulate(hub, 0.1, rtol=1e-11, atol=1e-12, **given)
    assert_close(batch.q, exact.q, 1e-7)
    assert batch[0].statistics.steps == 42 + 2 + 356


def test_cases_that_cannot_run_are_rows_with_their_reasons(hub):
    given = cases(hub, 4)
    given["parameters"]["hub.mass"][1] = -1.0
    given["v0"][2] = 1e200
    given["q0"][3, :4] = 0.0
    batch = lb.simulate(hub, 0.1, engine="generated", **given, **OPTIONS)
    assert batch.status.tolist() == ["finished", "failed", "failed", "failed"]
    assert "mass must be at least 0" in batch.messages[1]
    assert "no longer finite with fixed steps" in batch.messages[2] and len(batch[2]) == 1
    assert "quaternion" in batch.messages[3]


def test_other_batches_of_generated_code_run_in_threads(hub):
    """Torques that are functions, and events, are not for lanes; the motion is the same."""
    q0 = cases(hub, 2)["q0"]
    batch = lb.simulate(hub, 0.1, q0=q0, torque=lambda t, q, v: -0.1 * v, engine="generated", **OPTIONS)  # fmt: skip
    alone = lb.simulate(hub, 0.1, q0=q0[1], torque=lambda t, q, v: -0.1 * v, **OPTIONS)
    assert_close(batch.q[1], alone.q, 1e-11)


def test_the_gpu_runs_whole_batches(hub, monkeypatch):
    """What goes to the GPU and comes back, with the code of the CPU in the place of its kernel."""
    from limber.codegen import compiler

    real = compiler.compile

    def compile(system, function, target="c", **options):
        if target != "cuda":
            return real(system, function, target, **options)
        assert function == "rollout"
        step = real(system, "step", **options)

        def rollout(q, v, tau, dt, steps, *more, record):
            x, y, rows = q.T.copy(), v.T.copy(), ([], [])
            numbers = [np.moveaxis(p, -1, 0).copy() for p in more]
            for i in range(steps):
                x, y = step(x, y, tau.T.copy(), dt, *numbers)
                if (i + 1) % record == 0:
                    rows[0].append(x.T)
                    rows[1].append(y.T)
            found = np.array(rows[0]), np.array(rows[1])
            return found if steps > record else (found[0][0], found[1][0])

        return rollout

    monkeypatch.setattr(compiler, "compile", compile)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=np.asarray, asnumpy=np.asarray))  # fmt: skip
    given = cases(hub, 3)
    lanes = lb.simulate(hub, 0.2, engine="generated", **given, **OPTIONS)
    for times in ({"every": 0.05}, {"t_eval": [0.05, 0.1, 0.15, 0.2]}, {"t_eval": [0.2]}):
        gpu = lb.simulate(hub, 0.2, engine="cuda", **given, **(OPTIONS | {"every": None} | times))
        assert_close(gpu.q, lanes.q[:, np.isin(lanes.t.round(9), gpu.t.round(9))], 1e-12)
    with pytest.raises(lb.LimberError, match="equally spaced output times"):
        lb.simulate(hub, 0.2, engine="cuda", **given, **(OPTIONS | {"every": None, "t_eval": [0.1, 0.15]}))  # fmt: skip


def test_the_gpu_runs_batches_with_a_controller(hub, monkeypatch):
    """What goes to the GPU and comes back, with steps of the CPU in the place of its kernel."""
    from limber.codegen import compiler

    def controlled_rollout(system, parameters, places, model):
        step = lb.compile(system, "step", parameters=parameters)

        def rollout(q, v, tau, dt, steps, *more, record, sample, law):
            assert {name: len(x.shape) for name, x in law.items()} == {name: len(x) for name, x in places.shapes().items()}  # fmt: skip
            x, y, u, rows = q.T.copy(), v.T.copy(), tau.T.copy(), ([], [], [])
            numbers = [np.moveaxis(p, -1, 0).copy() for p in more]
            for k in range(steps):
                if k % sample == 0:
                    seen = np.hstack([x[:, places.q], y[:, places.v]])
                    error = law["reference"][k // sample] + law["start"].T - seen
                    asked = error @ law["gains"][0].T
                    u[:, places.torques] = np.clip(asked, -law["limit"], law["limit"])
                x, y = step(x, y, u, dt, *numbers)
                if (k + 1) % record == 0:
                    for row, z in zip(rows, (x, y, u)):
                        row.append(z.T.copy())
            return tuple(np.array(row) for row in rows)

        return rollout

    monkeypatch.setattr(compiler, "controlled_rollout", controlled_rollout)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=np.asarray, asnumpy=np.asarray))  # fmt: skip
    given = {k: x for k, x in cases(hub, 3).items() if k != "torque"}
    given |= OPTIONS | {"every": 2.0**-4, "step": 1.5e-3, "torque": controlled(limit=0.3)}
    gpu = lb.simulate(hub, 0.1875, engine="cuda", **given)
    lanes = lb.simulate(hub, 0.1875, engine="generated", **given)
    for name in ("q", "v", "tau"):
        assert_close(getattr(gpu, name), getattr(lanes, name), 1e-12)


def controlled(**options):
    """A PID controller of the joint of the panel."""
    path = lb.trajectories.Cycloid(0.3, 0.15)
    gains = {"kp": 4.0, "kd": 0.2, "sample_time": 2.0**-6}
    return lb.control.PID(bodies="panel", reference=path, **gains, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 0.05},
        {"ki": 20.0, "limit": 0.1},
        {"filter_time": 0.02},
        {"gravity": True},
        {"gravity": True, "ki": 10.0, "limit": 0.4},
        {"ki": 20.0, "filter_time": 0.02},
    ],
)
def test_lanes_with_a_controller_are_the_runs_by_themselves(hub, options):
    """All times are exact in binary, so that both see the torque before a sample."""
    given = {k: x for k, x in cases(hub, 9).items() if k != "torque"}
    given |= OPTIONS | {"every": 2.0**-4, "step": 2.0**-10}
    assert_alike(hub, controlled(**options), 0.1875, given)


def assert_alike(system, controller, t_end, given):
    """Lanes and single runs in threads."""
    assert not isinstance(controller.sampled_law(system), str)
    batch = lb.simulate(system, t_end, engine="generated", torque=controller, **given)
    threads = lb.simulate(system, t_end, torque=controller, **given)
    assert batch.finished.all() and batch[0].statistics.steps == round(t_end / given["step"])
    assert np.ptp(batch.tau, axis=1).max() > 1e-3
    for name in ("q", "v", "tau"):
        assert_close(getattr(batch, name), getattr(threads, name), 1e-11)


def test_cases_that_hold_their_starts_have_references_of_their_own(hub):
    given = {k: x for k, x in cases(hub, 3).items() if k != "torque"}
    given |= OPTIONS | {"every": 2.0**-4, "step": 2.0**-10}
    assert np.ptp(given["q0"][:, hub.layout["panel"].q_joint]) > 0.05
    assert_alike(hub, lb.control.PD(4.0, 0.2, sample_time=2.0**-6, bodies="panel"), 0.125, given)


@pytest.mark.parametrize("times", [[2.0**-5, 2.0**-4, 2.0**-3], [2.0**-3], [0.0]])
def test_a_controller_is_sampled_between_output_times(hub, times):
    """Its samples, memory and torques do not depend on where rows are."""
    given = {k: x for k, x in cases(hub, 10).items() if k != "torque"}
    given |= OPTIONS | {"every": None, "step": 2.0**-10, "engine": "generated"}
    law = controlled(ki=20.0, filter_time=0.02)
    all_rows = lb.simulate(hub, 0.125, torque=law, **(given | {"every": 2.0**-6}))
    some = lb.simulate(hub, 0.125, torque=law, t_eval=times, **given)
    chosen = np.isin(all_rows.t, times)
    for name in ("q", "v", "tau"):
        assert_close(getattr(some, name), getattr(all_rows, name)[:, chosen], 0.0)


def test_results_do_not_depend_on_cores_or_on_other_cases(hub):
    given = {k: x for k, x in cases(hub, 45).items() if k != "torque"} | OPTIONS
    given |= {"every": 2.0**-4, "engine": "generated", "torque": controlled(ki=20.0)}
    with at_most_cores(1):
        one = lb.simulate(hub, 0.125, **given)
    with at_most_cores(3):
        three = lb.simulate(hub, 0.125, **given)
    given["parameters"] = {k: x[20:30] if np.ndim(x) else x for k, x in given["parameters"].items()}
    few = lb.simulate(hub, 0.125, **(given | {"q0": given["q0"][20:30], "v0": given["v0"][20:30]}))
    for name in ("q", "v", "tau"):
        assert np.array_equal(getattr(one, name), getattr(three, name))
        assert np.array_equal(getattr(one, name)[20:30], getattr(few, name))


def test_code_is_generated_once_for_all_batches_of_a_system(hub, monkeypatch):
    from limber.codegen import compiler

    given, times = cases(hub, 3), OPTIONS | {"every": 2.0**-4, "engine": "generated"}
    law = controlled(ki=20.0)

    def batches():
        q0, v0 = given["q0"], given["v0"]
        yield lb.simulate(hub, 0.125, **given, **times)
        yield lb.simulate(hub, 0.125, q0=q0, v0=v0, **times)
        yield lb.simulate(hub, 0.125, q0=q0, v0=v0, torque=law, **times)

    first = list(batches())
    monkeypatch.setattr(compiler, "_step", None)
    for one, other in zip(first, batches(), strict=True):
        assert np.array_equal(one.q, other.q)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_ctrl_c_ends_a_batch_within_its_steps(hub):
    given = {"q0": cases(hub, 16)["q0"], "engine": "generated"} | OPTIONS | {"every": None}
    lb.simulate(hub, 0.01, t_eval=[0.01], **given)  # compiled

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.warns(UserWarning, match="interrupted: 16 of its 16 cases"):
            batch = lb.simulate(hub, 1e6, t_eval=[1e6], **given)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert set(batch.status) == {"not run"}


@pytest.fixture(scope="module")
def arm():
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    link = lb.beam(1.0, 2.0, EI=200.0, modes={"y": 1}, damping=0.01)
    a.attach("upper", link, lb.Revolute("z", armature=0.1))
    a.attach("fore", link, lb.Revolute("z", armature=0.1), "upper", "tip")
    return a.build()


def arm_cases(arm):
    """Starts about an equilibrium, and plants that the controllers do not know."""
    about = lb.equilibrium(arm, [0.0, 0.3, 0.0, -0.5], locked=["upper", "fore"])
    q0 = about + 0.05 * np.random.default_rng(2).normal(size=(5, 4))
    given = {"q0": q0, "parameters": {"upper.EI": np.linspace(150, 250, 5)}, "method": "rk4"}
    given |= {"every": 2.0**-5, "step": 2.0**-11, "progress": False}
    return about, given


@pytest.mark.parametrize("along", [False, True])
def test_lanes_with_state_feedback_are_the_runs_by_themselves(arm, along):
    """About an equilibrium under gravity, and along a motion with gains of its own at every sample."""
    about, given = arm_cases(arm)
    if along:
        motion = {
            "upper": lb.trajectories.Cycloid(0.2, 0.125, start=0.3),
            "fore": lb.trajectories.Cycloid(-0.3, 0.125, start=-0.5),
        }
        about = lb.simulate(arm, 0.125, q0=about, motion=motion, every=2.0**-8, progress=False)
    lqr = lb.control.LQR(1.0, 1e-3, sample_time=2.0**-7, about=about, points=4)
    assert_alike(arm, lqr, 0.15625, given)


@pytest.mark.parametrize("limit", [None, 30.0])
def test_lanes_with_computed_torque_are_the_runs_by_themselves(arm, limit):
    path = lb.trajectories.Cycloid([0.02, -0.03], 0.125, start=[0.3, -0.5])
    law = lb.control.ComputedTorque(25.0, 10.0, sample_time=2.0**-9, reference=path, limit=limit)
    assert_alike(arm, law, 0.15625, arm_cases(arm)[1])


@pytest.mark.parametrize(
    "given, message",
    [
        ({"torque": lb.control.ComputedTorque(1.0, 1.0, sample_time=0.01, bodies="panel")}, "joints without torques"),
        ({"torque": lb.control.ActiveDamping(1.0, 1.0, damping=0.1, sample_time=0.01)}, "ActiveDamping"),
        ({"torque": controlled(), "every": 0.05}, "output times between samples"),
        ({"engine": "cuda", "method": "dop853"}, "supports batches with method=\"rk4\" .* method='dop853'"),
        ({"engine": "cuda", "torque": lambda t, q, v: v}, "torques that are not constant"),
        ({"engine": "cuda", "events": lb.Event(0.1)}, r"events=\.\.\."),
        ({"engine": "generated", "step": None}, "give step="),
        ({"engine": "generated", "step": 1e-300}, "use a larger one"),
        ({"engine": "generated", "torque": np.zeros((2, 3))}, "torque must have 9 numbers, or 7 for the joints alone, got 3"),
        ({"engine": "tpu"}, "engine='tpu' must be"),
        ({"engine": "generated", "method": "dop853", "parameters": {"panel.EI": np.ones((2, 2))}}, "by their own names, such as EIy"),
    ],
)  # fmt: skip
def test_refusals(hub, given, message):
    with pytest.raises(lb.LimberError, match=message):
        lb.simulate(hub, 0.1, q0=cases(hub, 2)["q0"], **(OPTIONS | {"engine": "cuda"} | given))


def test_a_single_run_has_no_gpu(hub):
    with pytest.raises(lb.LimberError, match='"cuda" is for batches'):
        lb.simulate(hub, 0.1, engine="cuda", **OPTIONS)


def test_cases_checked_at_once_have_the_verdicts_that_they_have_alone():
    """Slow, fast, bent and loaded cases: the batch warns of those, and only those, that warn alone."""
    a = lb.Assembly("arm")
    beam = lb.beam(1.0, 2.0, EI=20.0, modes={"z": 1})
    a.attach("link", beam, lb.Revolute("y"))
    a.attach("fore", beam, lb.Revolute("y"), "link", "tip")
    s = a.build()
    rng = np.random.default_rng(5)
    size = np.repeat([1e-3, 0.03, 0.1, 0.3, 1.0], 8)[:, None]
    q0, v0 = size * rng.normal(size=(40, s.nq)), 5.0 * size * rng.normal(size=(40, s.nv))
    options = {"every": 0.01, "method": "rk4", "step": 1e-3, "engine": "generated"}
    with collected_warnings() as found:
        batch = lb.simulate(s, 0.03, q0=q0, v0=v0, progress=False, **options)
    alone, gravest = {}, {}
    for case in range(len(batch)):
        with collected_warnings() as own:
            warn_outside_theory(batch[case])
        alone[case] = bool(own)
        gravest[case] = max((w.degree for w in own), default=0.0)
    count, worst = sum(alone.values()), max(gravest, key=gravest.get)
    assert 5 < count < 35
    assert len(found) == 1
    assert f"{count} of 40 cases of the batch gave a warning. The most serious one is that of case {worst}" in str(found[0])  # fmt: skip
    doubt = np.isin(
        np.arange(40), cases_in_doubt(Family(s, {}, 40), np.arange(40), batch.q, batch.v, batch.tau)
    )
    assert all(doubt[case] for case in alone if alone[case]) and not doubt.all()


@needs_gpu
@pytest.mark.parametrize("varied", [False, True])
def test_a_gpu_gives_what_lanes_give(hub, varied):
    given = cases(hub, 70)
    if not varied:
        del given["parameters"]
    gpu, lanes = (
        lb.simulate(hub, 0.2, engine=e, **given, **OPTIONS) for e in ("cuda", "generated")
    )
    assert gpu.finished.all()
    for name in ("q", "v", "tau"):
        assert_close(getattr(gpu, name), getattr(lanes, name), 1e-10)


def laws(arm):
    """A controller of each kind that runs in lanes, and the arguments of its run."""
    about, given = arm_cases(arm)
    path = lb.trajectories.Cycloid([0.02, -0.03], 0.125, start=[0.3, -0.5])
    gains = {"sample_time": 2.0**-9, "reference": path}
    yield lb.control.PD((25.0, 10.0), (1.0, 0.5), **gains), given
    yield (
        lb.control.PID((25.0, 10.0), 3.0, (1.0, 0.5), filter_time=0.01, limit=30.0, **gains),
        given,
    )
    yield lb.control.PD((25.0, 10.0), (1.0, 0.5), gravity=True, **gains), given
    yield lb.control.ComputedTorque(25.0, 10.0, **gains), given
    yield lb.control.LQR(1.0, 1e-3, sample_time=2.0**-7, about=about, points=4), given


@needs_gpu
@pytest.mark.parametrize("number", range(5))
def test_a_gpu_gives_what_lanes_give_with_a_controller(arm, number):
    law, given = list(laws(arm))[number]
    gpu, lanes = (
        lb.simulate(arm, 0.15625, engine=e, torque=law, **given) for e in ("cuda", "generated")
    )
    assert gpu.finished.all() and np.ptp(gpu.tau, axis=1).max() > 1e-3
    for name in ("q", "v", "tau"):
        assert_close(getattr(gpu, name), getattr(lanes, name), 1e-10)
