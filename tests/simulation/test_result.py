"""Results: what follows from the states, other shapes, refusals."""

import numpy as np
import pytest

import limber as lb


@pytest.fixture(scope="module")
def r():
    s = lb.models.canadarm(damping=0.01).build()
    t = np.linspace(0.0, 2.0, 41)
    push = lb.Table(t, np.sin(np.pi * t / 2)[:, None] ** 2 * [200.0, 50.0, 10.0], smooth=True)
    return lb.simulate(s, 2.0, torque=push, rtol=1e-9, atol=1e-11, every=0.002)


def test_parts_and_derived_quantities(r):
    s = r.system
    assert len(r) == 1001 and r.t[-1] == 2.0
    assert (r.joint("link2")[:, 0] == r.q[:, s.layout["link2"].q_joint.start]).all()
    assert r.modal("link1").shape == (1001, 4) and r.modal_speed("link1").shape == (1001, 4)
    assert np.allclose(r.vdot[500], lb.forward_dynamics(s, r.q[500], r.v[500], r.tau[500]))
    assert np.allclose(r.energy, lb.kinetic_energy(s, r.q, r.v) + lb.potential_energy(s, r.q))
    tip = r.node("link3", "tip")
    R, p = lb.pose(s, r.q[300], "link3", "tip")
    assert np.allclose(tip.position[300], p) and np.allclose(tip.R[300], R)
    rate = np.gradient(tip.position, r.t, axis=0)
    assert np.abs(rate[2:-2] - tip.velocity[2:-2]).max() < 1e-3 * np.abs(tip.velocity).max()
    deflection = r.deflection("link1", "tip")
    assert deflection.shape == (1001, 3) and np.abs(deflection[:, 1]).max() > 1e-3


def test_power_audit_closes(r):
    audit = r.power_audit()
    assert audit.work[-1] > 0 and audit.dissipation[-1] < 0
    assert np.abs(audit.residual).max() < 1e-5 * np.abs(audit.work).max()


def test_a_printed_audit_is_a_short_table_of_totals(r):
    audit = r.power_audit()
    lines = str(audit).splitlines()
    assert len(lines) == 8 and all(line.endswith(" J") for line in lines)
    found = {line[:28].strip(): float(line.split()[-2]) for line in lines}
    assert found["energy at the end"] == pytest.approx(audit.energy[-1], rel=1e-5)
    assert found["work of torques"] == pytest.approx(audit.work[-1], rel=1e-5)
    largest = np.abs(audit.residual).max()
    assert found["largest residual"] == pytest.approx(largest, rel=1e-5)


def test_slices_and_resampling(r):
    part = r[100:200:10]
    assert len(part) == 10 and (part.q == r.q[100:200:10]).all()
    again = r[::2].resample(r.t[1:-1:2])
    assert np.abs(again.q - r.q[1:-1:2]).max() < 1e-6
    with pytest.raises(lb.LimberError, match="within the result"):
        r.resample([3.0])
    with pytest.raises(lb.LimberError, match="slice"):
        r[3]


def test_tables_of_other_libraries(r):
    pd = pytest.importorskip("pandas")
    frame = r.to_pandas()
    assert isinstance(frame, pd.DataFrame) and "q.link1.mode0" in frame and len(frame) == 1001
    xr = pytest.importorskip("xarray")
    data = r.to_xarray()
    assert isinstance(data, xr.Dataset)
    assert (data.q.sel(coordinate="link2.joint0") == r.joint("link2")[:, 0]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t_end": 0.0}, "t_end must be later"),
        ({"t_end": np.nan}, "t_end"),
        ({"q0": [0.0]}, "q0"),
        ({"v0": "fast"}, "v0"),
        ({"method": "euler"}, "method"),
        ({"method": "rk4"}, "step"),
        ({"method": "rk4", "step": 1e-20}, "step"),
        ({"method": ["rk4"]}, "method"),
        ({"rtol": -1.0}, "rtol"),
        ({"rtol": 0.0, "atol": 0.0}, "both zero"),
        ({"t_eval": [0.0, 2.0]}, "t_eval"),
        ({"t_eval": [0.5, 0.2]}, "t_eval"),
        ({"t_eval": [0.5], "every": 0.1}, "not both"),
        ({"every": 0.0}, "every"),
        ({"step": 0.0}, "step"),
        ({"engine": "warp"}, "engine"),
    ],
)
def test_bad_arguments_of_simulate_are_refused_by_name(options, message):
    s = lb.models.canadarm(modes=0).build()
    arguments = {"t_end": 1.0} | options
    with pytest.raises(lb.LimberError, match=message):
        lb.simulate(s, arguments.pop("t_end"), **arguments)


def cubed(t, q, v):
    with np.errstate(over="ignore"):
        return 50 * q**3


def test_diverging_simulation_says_where():
    a = lb.Assembly("runaway")
    a.attach("b", lb.RigidBody(1.0), lb.Prismatic([0, 0, 1]))
    s = a.build()
    with pytest.raises(lb.LimberError, match=r"stuck at t = .*joint .* of body 'b'") as caught:
        lb.simulate(s, 10.0, q0=[1.0], torque=cubed)
    assert caught.value.result.t[-1] < 10.0
    with pytest.raises(lb.LimberError, match="fixed step"):
        lb.simulate(s, 10.0, q0=[1.0], torque=cubed, method="rk4", step=0.05)


def test_a_run_that_reaches_a_singular_inertia_names_the_freedom_without_mass():
    """A load on a rope of zero length: the angle of the rope moves no mass."""
    a = lb.Assembly("crane", gravity=(0, 0, -9.81))
    a.attach("rope", lb.RigidBody(0.0), lb.Revolute("y"))
    a.attach("load", lb.RigidBody(2.0), lb.Prismatic("-z"), to="rope")
    s = a.build()
    with pytest.raises(lb.SimulationError, match=r"singular.* of body 'rope' moves no mass"):
        lb.simulate(s, 1.0, motion={"load": lb.trajectories.Hold(0.0)})


@pytest.mark.parametrize("armature", [0.0, 1e-4])
def test_a_run_that_a_sampled_torque_makes_diverge_says_what_to_try(armature):
    a = lb.Assembly("arm")
    link = lb.beam(0.6, 4.0, EI=9e3, modes={"y": 2})
    a.attach("upper", link, lb.Revolute("z", armature=armature))
    a.attach("fore", link, lb.Revolute("z", armature=armature), "upper", "tip")
    pd = lb.control.PD(5e3, 5e2, sample_time=5e-4, reference=0.01)
    found = "joints of 'upper', 'fore' have none" if armature == 0.0 else r"or the sample time\.$"
    with pytest.warns(lb.TheoryWarning), pytest.raises(lb.SimulationError, match=found):
        lb.simulate(a.build(), 1.0, torque=pd)


def test_a_sampled_run_whose_next_sample_is_millions_of_steps_away_ends_at_once():
    """As the motion of an unstable loop does, for which steps of the explicit method become ever shorter."""
    a = lb.Assembly("whirr")
    a.attach("b", lb.RigidBody(1.0), lb.Prismatic("z", stiffness=1e20))
    nothing = lb.control.PD(0.0, 1e-3, sample_time=1.0)
    with pytest.raises(lb.SimulationError, match=r"step fell to .* sampled loop .* gain") as caught:
        lb.simulate(a.build(), 1e-3, q0=[1.0], torque=nothing, method="dop853")
    assert caught.value.result.t[-1] < 1e-4


def test_interrupted_run_keeps_its_result():
    a = lb.Assembly("b")
    a.attach("b", lb.RigidBody(1.0), lb.Prismatic([0, 0, 1]))
    s = a.build()

    def stop(t, q, v):
        if t > 0.5:
            raise KeyboardInterrupt
        return [0.0]

    with pytest.warns(UserWarning, match="interrupted"):
        r = lb.simulate(s, 1.0, v0=[1.0], torque=stop, max_step=0.01)
    assert 0.3 < r.t[-1] <= 0.5 and "interrupted" in r.message


def test_every_reaches_the_end():
    s = lb.models.canadarm(modes=0).build()
    for end, every, rows in ((0.3, 0.1, 4), (0.7, 0.1, 8), (1.0, 0.3, 5), (2.0, 0.002, 1001)):
        r = lb.simulate(s, end, every=every)
        assert len(r) == rows and r.t[-1] == end
        assert np.allclose(r.t[:-1], every * np.arange(rows - 1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("reach", [0, 1, 3])
def test_power_of_modal_dampers_of_any_bandwidth(reach):
    """The energy balance closes for damping matrices that are diagonal, tridiagonal and full."""
    rng = np.random.default_rng(4)
    modes, points = 4, 6
    full = rng.standard_normal((modes, modes))
    full = full @ full.T + modes * np.eye(modes)
    damping = np.where(np.abs(np.subtract.outer(range(modes), range(modes))) <= reach, full, 0.0)
    shapes = 0.3 * rng.standard_normal((2, points, 3, modes))
    shapes[:, 0] = 0.0
    body = lb.FlexibleBody.from_nodes(
        mass=np.ones(points), position=np.outer(np.linspace(0, 1, points), [1, 0, 0]),
        translation=shapes[0], rotation=shapes[1], stiffness=400.0 * np.eye(modes), damping=damping,
    )  # fmt: skip
    a = lb.Assembly("damped", gravity=(0, 0, -9.81))
    a.attach("body", body, lb.Revolute([0, 1, 0]))
    r = lb.simulate(a.build(), 0.5, method="dop853", rtol=1e-10, atol=1e-12)
    audit = r.power_audit()
    assert audit.dissipation[-1] < -1e-2
    assert np.abs(audit.residual).max() < 1e-8 * np.abs(audit.dissipation[-1])


def test_results_refuse_what_they_cannot_do(rotor):
    r = lb.simulate(rotor, 1.0, v0=[1.0])
    assert len(r.resample([])) == 0
    for bad in (r[:1], r[:0], r[::-1]):
        with pytest.raises(lb.LimberError, match="resample needs at least 2 rows"):
            bad.resample([0.0])
    with pytest.raises(lb.LimberError, match="power_audit needs the rows of a simulation"):
        r[:0].power_audit()
    with pytest.raises(lb.LimberError, match="this result has no such record"):
        lb.Result(r.system, r.t, r.q, r.v, r.tau).power_audit()
