"""Linear models: poles, trajectories, closed systems, responses, sampling, reduction, python-control."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from helpers.closed import four_bar
from helpers.compare import assert_close
from limber.control.linear_model import LinearModel
from limber.control.reduction import gramian_root
from limber.control.sampled import bilinear, held
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError

EXACT = 1e-9


def hub_and_panel(modes=4, damping=0.003):
    a = lb.Assembly("hub")
    a.attach("hub", lb.RigidBody(2.0, inertia=np.diag([0.1, 0.1, 0.2])), lb.Revolute("z"))
    panel = lb.beam(3.0, 2.0, EI=(1e5, 60.0), modes={"bending": modes}, damping=damping)
    a.attach("panel", panel, lb.Fixed(), to="hub", offset=(0.2, 0.0, 0.0))
    return a.build()


@pytest.fixture(scope="module")
def model():
    outputs = ["hub", ("speed", "hub"), ("position", "panel", "tip", "y")]
    return lb.linearize(hub_and_panel(), inputs=["hub"], outputs=outputs)


def random_model(rng, n=7, m=2, p=3):
    A = rng.normal(size=(n, n)) - 3.0 * np.eye(n)
    return lb.LinearModel.of(
        A, rng.normal(size=(n, m)), rng.normal(size=(p, n)), rng.normal(size=(p, m))
    )


# --- poles, motions, closed systems ---------------------------------------------------------------


def test_poles_are_the_eigenvalues_of_modes():
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    link = lb.beam(1.0, 1.0, EI=20.0, modes=2, damping=0.02)
    a.attach("upper", link, lb.Revolute("z", damping=0.1))
    a.attach("lower", link, lb.Revolute("z"), to="upper", at="tip")
    s = a.build()
    q = lb.equilibrium(s)
    tau = lb.bias(s, q, np.zeros(s.nv))
    found = lb.linearize(s, q, tau=tau).poles
    expected = lb.modes(s, q).eigenvalues
    for x in expected:
        assert np.abs(found - x).min() < 1e-8 * np.abs(expected).max()


def test_poles_about_a_spin_are_those_of_modes():
    a = lb.Assembly("rotor")
    a.attach("hub", lb.RigidBody(2.0, inertia=np.diag([0.2, 0.2, 0.3])), lb.Revolute("z"))
    blade = lb.beam(2.0, 1.0, EI=(40.0, 60.0), modes=1, geometric_stiffening=True)
    for i, x in enumerate((1.0, -1.0)):
        turn = np.diag([x, x, 1.0])
        a.attach(f"blade{i}", blade, lb.Fixed(), to="hub", offset=(0.1 * x, 0, 0), rotation=turn)
    s = a.build()
    v = np.zeros(s.nv)
    v[s.layout["hub"].v_joint] = 5.0
    q = lb.equilibrium(s, v=v)
    found, expected = lb.linearize(s, q, v).poles, lb.modes(s, q, v).eigenvalues
    for x in expected:
        assert np.abs(found - x).min() < 1e-5 * np.abs(expected).max()


def test_small_deviations_follow_the_model_along_a_tumbling_motion():
    a = lb.Assembly("tumbling")
    a.attach("body", lb.RigidBody(1.0, inertia=np.diag([1.0, 2.0, 2.8])), lb.Free())
    s = a.build()
    q, v = s.neutral(), np.array([0.3, 2.0, 0.2, 0.1, -0.2, 0.3])
    times = np.linspace(0.0, 1.0, 201)
    options = {"t_eval": times, "rtol": 1e-12, "atol": 1e-13}
    nominal = lb.simulate(s, 1.0, q0=q, v0=v, **options)
    dq, dv = 1e-6 * np.array([[1, -2, 1.5, 0.5, 1, 2], [0.7, 0.3, -1, 1, 0.2, -0.6]])
    near = lb.simulate(s, 1.0, q0=lb.integrate(s, q, dq, 1.0), v0=v + dv, **options)
    A = lb.linearize(nominal).A
    assert A.shape == (201, 12, 12)
    x = np.append(dq, dv)
    for i in range(0, 200, 2):  # Runge and Kutta's method over two rows
        h = times[i + 2] - times[i]
        k1 = A[i] @ x
        k2 = A[i + 1] @ (x + 0.5 * h * k1)
        k3 = A[i + 1] @ (x + 0.5 * h * k2)
        k4 = A[i + 2] @ (x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    R, p = lb.pose(s, nominal.q[-1], "body")
    R1, p1 = lb.pose(s, near.q[-1], "body")
    S = R.T @ R1
    turned = 0.5 * np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]])
    expected = np.concatenate([turned, R.T @ (p1 - p), near.v[-1] - nominal.v[-1]])
    assert_close(1e6 * x, 1e6 * expected, 1e-4)


def test_models_of_a_result_are_those_of_its_states():
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    a.attach("link", lb.beam(1.0, 1.0, EI=50.0, modes=1), lb.Revolute("y"))
    a.attach("last", lb.RigidBody(1.0, (0.2, 0, 0)), lb.Revolute("y"), to="link", at="tip")
    s = a.build()
    path = lb.trajectories.Cycloid(0.0, 0.5, 0.4)
    wrench = {("last", None): [0, 0, 0, 1.0, 0, 0]}
    result = lb.simulate(s, 0.2, t_eval=[0.0, 0.1, 0.2], motion={"link": path}, external=wrench)
    along = lb.linearize(result, outputs=[("torque", "link"), ("acceleration", "last", None)])
    assert along.batch == (3,) and along.inputs[-2:] == ("motion link", "torque last")
    for i in range(3):
        rate = result.vdot[i, s.layout["link"].v_joint]
        one = lb.linearize(
            s, result.q[i], result.v[i], result.tau[i], external=wrench, motion={"link": rate},
            outputs=[("torque", "link"), ("acceleration", "last", None)],
        )  # fmt: skip
        for key in "ABCD":
            assert_close(getattr(along[i], key), getattr(one, key), EXACT, key)
    at = lb.linearize(result, t=0.1)
    assert not at.batch and at.t == 0.1
    assert_close(at.A, along[1].A, 1e-6)


def test_models_of_a_result_have_the_closures_that_are_active():
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    rod = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), {"tip": (1.0, 0, 0)})
    a.attach("upper", rod, lb.Revolute("z"))
    a.attach("fore", rod, lb.Revolute("z"), to="upper", at="tip")
    s = a.build()
    result = lb.simulate(s, 0.4, events=lb.Event(0.2, lb.lock("fore")), every=0.1)
    assert [lb.linearize(result, t=t).order for t in (0.1, 0.3)] == [4, 2]
    locked = lb.linearize(result.systems[1], result.q[-1], result.v[-1])
    assert_close(lb.linearize(result[-1:])[0].A, locked.A, EXACT)
    with pytest.raises(ArgumentValueError, match=r"\(lock 'fore' at t = 0\.2 s\)"):
        lb.linearize(result)


def test_a_result_with_forces_of_an_environment_is_refused():
    env = lb.orbit.Environment(lb.orbit.circular(400e3, 0.9))
    s = lb.Assembly("craft").attach("hub", lb.RigidBody(9.0, (0, 0, 0), (1, 2, 2)), lb.Free())
    result = lb.simulate(s.build(), 1.0, environment=env)
    with pytest.raises(ArgumentValueError, match="forces of an environment"):
        lb.linearize(result)


def test_hanging_parallelogram_is_a_pendulum():
    """Both rods turn about their pivots and the coupler moves on a circle: J = 2 (I + m / 4) + m."""
    s = four_bar().build()
    q = np.array([-np.pi / 2, np.pi / 2, -np.pi / 2])
    outputs = ["crank", "rocker", ("closure_force", "pin")]
    with pytest.warns(lb.ModelWarning, match="some of their forces are not unique"):
        m = lb.linearize(s, q, inputs=["crank"], outputs=outputs)
    J, stiffness = 2.0 * 0.35 + 1.0, 2.0 * 9.81
    assert m.order == 2 and m.T.shape == (6, 2)
    sign = {"crank.joint0": 1.0, "coupler.joint0": -1.0, "rocker.joint0": 1.0}[m.states[0]]
    assert_close(m.A, [[0.0, 1.0], [-stiffness / J, 0.0]], EXACT)
    assert_close(m.B, [[0.0], [sign / J]], EXACT)
    assert_close(m.T[:3, 0] * sign, [1.0, -1.0, 1.0], EXACT)
    assert_close(m.C[:2, 0], [sign, sign], EXACT)


def test_a_closed_system_off_its_closures_is_refused():
    s = four_bar().build()
    with pytest.raises(ArgumentValueError, match=r"does not satisfy the closures.*lb\.project"):
        lb.linearize(s, np.array([-1.0, 0.3, -1.0]))


# --- frequency response, sampling -----------------------------------------------------------------


def test_response_is_that_of_the_matrices():
    rng = np.random.default_rng(0)
    one = random_model(rng)
    omega = np.array([0.0, 0.3, 2.0, 50.0])
    expected = [one.D + one.C @ np.linalg.solve(1j * w * np.eye(7) - one.A, one.B) for w in omega]
    found = one.response(omega)
    assert np.abs(found - expected).max() < 1e-13
    assert np.abs(one.response(2.0) - expected[2]).max() < 1e-13
    z = np.exp(1j * omega * 0.1)
    held = one.sampled(0.1)
    expected = [
        held.D + held.C @ np.linalg.solve(x * np.eye(held.order) - held.A, held.B) for x in z
    ]
    assert np.abs(held.response(omega) - expected).max() < 1e-12


@pytest.mark.parametrize("dt", [0.0, 0.01])
def test_rounding_in_the_column_of_a_coordinate_on_which_nothing_depends_changes_no_response(dt):
    """A cart with a pendulum: balancing would make the row of its position as small as the rounding in its column."""
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, 1] = 1.65986, -8.25289
    A[3, 3] = -0.1
    noisy = A.copy()
    noisy[2:, 0] = -1.6e-18, 8.1e-18
    B, C = np.array([[0.0], [0.0], [0.13], [-0.05]]), np.eye(2, 4)
    if dt:
        (A, B), noisy = held(A, B, dt), held(noisy, B, dt)[0]
    names = ("cart", "pendulum"), ("torque",)
    omega = np.array([0.1, 3.0, 100.0]) if dt else np.array([0.1, 10.0, 1e3, 1e5])
    found, expected = (
        LinearModel(
            x, B, C, np.zeros((2, 1)), ("x", "a", "x rate", "a rate"), names[1], names[0], dt=dt
        ).response(omega)
        for x in (noisy, A)
    )
    assert (np.abs(found - expected) < 1e-9 * np.abs(expected)).all()


@pytest.mark.parametrize("delay", [0.0, 0.03, 0.1, 0.25])
@pytest.mark.parametrize("direct", [False, True])
def test_sampled_model_is_the_held_motion(delay, direct):
    rng = np.random.default_rng(1)
    one = random_model(rng)
    if not direct:
        one = lb.LinearModel.of(one.A, one.B, one.C)
    T, n = 0.1, 12
    held = one.sampled(T, delay)
    u = rng.normal(size=(n, 2))
    state, x = np.zeros(held.order), np.zeros(7)

    def command(at):
        """What arrives at a time: the last command that is `delay` old."""
        k = int(np.floor((at - delay) / T + 1e-9))
        return u[k] if k >= 0 else np.zeros(2)

    for k in range(n):
        before = command(k * T - 1e-6) if k else np.zeros(2)
        assert_close(held.C @ state, one.C @ x + one.D @ before, 1e-12)
        state = held.A @ state + held.B @ u[k]
        cuts = sorted({k * T, (k + 1) * T, *(delay + j * T for j in range(-n, n + 1))})
        for a, b in pairwise(cuts):
            if k * T - 1e-9 <= a and b <= (k + 1) * T + 1e-9 and b - a > 1e-9:
                block = np.zeros((9, 9))
                block[:7] = np.hstack([one.A, one.B]) * (b - a)
                step = scipy.linalg.expm(block)[:7]
                x = step @ np.append(x, command(0.5 * (a + b)))


def test_trapezoidal_controller_has_the_response_of_the_bilinear_map():
    one = random_model(np.random.default_rng(2))
    T, w = 0.05, 3.0
    mapped = 2.0 / T * np.tan(0.5 * w * T)
    assert np.abs(bilinear(one, T).response(w) - one.response(mapped)).max() < 1e-12


def test_zeros_block_the_response():
    rng = np.random.default_rng(3)
    one = random_model(rng, m=2, p=2)
    zeros = one.zeros()
    assert len(zeros) == 7
    for z in zeros:
        G = one.D + one.C @ np.linalg.solve(z * np.eye(7) - one.A, one.B)
        values = np.linalg.svd(G, compute_uv=False)
        assert values[1] < 1e-9 * values[0]


# --- reduction ------------------------------------------------------------------------------------


def test_modal_reduction_keeps_poles_and_is_exact_at_low_frequencies(model):
    reduced = model.modal(2)
    assert reduced.order == 4 and reduced.T.shape == (len(model.T), 4)
    for pole in reduced.poles[np.abs(reduced.poles) > 1.0]:
        assert np.abs(model.poles - pole).min() < 1e-8 * abs(pole)
    slow, positions = np.array([0.05, 0.1, 0.2]), [0, 2]
    full = model.response(slow)[:, positions]
    off = np.abs(reduced.response(slow)[:, positions] - full).max(axis=(1, 2))
    bare = np.abs(model.modal(2, static=False).response(slow)[:, positions] - full).max(axis=(1, 2))
    assert (off < 1e-3 * bare).all() and (off[1:] > 1.9 * off[:-1]).all()
    everything = model.modal(9)
    omega = np.geomspace(0.1, 1e3, 50)
    assert np.abs(everything.response(omega) - model.response(omega)).max() < 1e-8


def test_chosen_modes_move_the_system_as_their_shapes(model):
    reduced = model.modal([1], static=False)
    assert reduced.order == 2
    assert_close(model.A @ reduced.T, reduced.T @ reduced.A, 1e-8)
    with pytest.raises(ArgumentValueError, match="mode numbers from 0 to"):
        model.modal([99])
    with pytest.raises(ArgumentValueError, match="modes at rest"):
        model.modal([1])


def test_balanced_reduction_keeps_rigid_modes_and_its_bound(model):
    omega = np.geomspace(0.1, 1e4, 400)
    omega = np.sort(np.append(omega, np.abs(model.poles.imag)))
    omega = omega[omega > 0.05]
    full = model.response(omega)
    for order in (4, 6, 8):
        reduced = model.balanced(order)
        assert reduced.order == order
        assert (np.abs(reduced.poles) < 1e-4).sum() == 2
        off = np.linalg.norm(reduced.response(omega) - full, 2, axis=(1, 2)).max()
        assert off <= reduced.error_bound * (1.0 + 1e-6)
        assert reduced.error_bound == pytest.approx(2.0 * reduced.hankel[order - 2 :].sum())
        assert "error of the frequency response: at most" in str(reduced)
    with pytest.raises(ArgumentValueError, match="between 2, the number of poles"):
        model.balanced(1)


def test_balanced_reduction_of_an_undamped_system_says_what_is_missing():
    m = lb.linearize(hub_and_panel(damping=0.0), inputs=["hub"], outputs=["hub"])
    with pytest.raises(ArgumentValueError, match="None decays: give the bodies and joints damping"):
        m.balanced(4)


# --- names, tables, python-control -----------------------------------------------------------------


def test_models_print_their_poles(model):
    text = str(model)
    assert "18 states, 1 input, 3 outputs" in text
    assert text.count("integrates") == 2 and "2.0172" in text
    assert "print it" in repr(model)


def test_select_and_index():
    one = random_model(np.random.default_rng(4))
    part = one.select(inputs=["u1"], outputs=["y2", "y0"])
    assert_close(part.D, one.D[[2, 0]][:, [1]], 0.0)
    with pytest.raises(ArgumentValueError, match="the model has no 'y9'"):
        one.select(outputs=["y9"])
    with pytest.raises(ArgumentTypeError, match="no parts to index"):
        one[0]
    s = hub_and_panel()
    several = lb.linearize(s, np.zeros((3, s.nq)))
    assert several.A.shape == (3, 2 * s.nv, 2 * s.nv) and not several[1].batch
    with pytest.raises(ArgumentValueError, match=r"leading dimensions \(3,\).*model\[0\]"):
        several.response(1.0)


def test_round_trip_through_python_control(model):
    control = pytest.importorskip("control")
    there = model.to_control()
    assert isinstance(there, control.StateSpace)
    assert there.output_labels == list(model.outputs) and there.input_labels == ["torque hub"]
    assert there.state_labels[0] == "hub_joint0"
    back = lb.control.from_control(there)
    for key in "ABCD":
        assert_close(getattr(back, key), getattr(model, key), 0.0)
    omega = np.array([0.7, 12.0, 300.0])
    assert np.abs(np.moveaxis(there(1j * omega), -1, 0) / model.response(omega) - 1.0).max() < 1e-7
    assert model.sampled(0.01).to_control().dt == 0.01


def test_a_controller_of_python_control_closes_a_loop_once_it_is_converted(model):
    control = pytest.importorskip("control")
    plant = model.select(outputs=["coordinate hub", "speed hub"])
    gains = control.ss([], [], [], [[-8.0, -6.0]], 0.02)
    with pytest.raises(ArgumentTypeError, match=r"StateSpace of python-control: .*from_control"):
        lb.control.margins(plant, gains)
    found = lb.control.margins(plant, lb.control.from_control(gains), sample_time=0.02)
    assert found.disk == lb.control.margins(plant, [[8.0, 6.0]], sample_time=0.02).disk
    for other in (control.tf([1.0], [1.0, 1.0]), np.eye(2)):
        with pytest.raises(ArgumentTypeError, match=r"must be a control\.StateSpace"):
            lb.control.from_control(other)


def test_without_python_control_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "control", None)
    with pytest.raises(MissingExtraError, match=r"limber-dynamics\[control\]"):
        model.to_control()


def test_saved_models_are_read_by_numpy(model, tmp_path):
    with np.load(model.save(tmp_path / "hub.npz")) as saved:
        assert_close(saved["A"], model.A, 0.0)
        assert tuple(saved["outputs"]) == model.outputs


REFUSED = [
    ({"inputs": "hub"}, "inputs must be a list"),
    ({"inputs": ["hubb"]}, r"inputs\[0\]: body='hubb' is not in the system"),
    ({"inputs": [("push", "hub")]}, "'push' is not a kind of input"),
    ({"inputs": ["panel"]}, "the joint of body 'panel' is fixed"),
    ({"inputs": ["hub", ("torque", "hub", 0)]}, "'torque hub' more than once"),
    ({"inputs": [("motion", "hub")]}, "needs a joint of prescribed motion"),
    ({"outputs": [("position", "panel")]}, "needs a body and a node"),
    ({"outputs": [("position", "panel", "tip", "w")]}, "'w' is not a component of position"),
    ({"outputs": [("mode", "hub")]}, "'hub' is rigid and has no modes"),
    ({"outputs": [("strain", "panel", "left")]}, "'left' is not a gauge of body 'panel'"),
    ({"outputs": [("section_force", "panel", "root", "torsion")]}, "no mode of body 'panel' has torsion"),
    ({"outputs": [("closure_force", "pin")]}, "'pin' is not a closure"),
    ({"outputs": [("deflection", "panel", None)]}, "does not deform"),
]  # fmt: skip


@pytest.mark.parametrize("given, text", REFUSED)
def test_inputs_and_outputs_are_refused_by_name(given, text):
    with pytest.raises((ArgumentValueError, ArgumentTypeError), match=text):
        lb.linearize(hub_and_panel(modes=1), **given)


def test_balanced_models_of_stiff_and_slow_parts_are_stable_and_within_their_bound():
    """Hankel singular values here span more than eight decades, the square root of rounding."""
    a = lb.Assembly("mixed", gravity=(0, -9.81, 0))
    slow = lb.Revolute("z", armature=0.1, damping=1e-3)
    a.attach("boom", lb.beam(8.0, 60.0, EI=4e5, modes={"bending": 4}, damping=2e-3), slow)
    tool = lb.beam(0.2, 0.2, EI=2e3, modes={"bending": 4}, damping=2e-3)
    grip = lb.Revolute("z", armature=0.1, stiffness=500.0, damping=0.5)
    a.attach("tool", tool, grip, "boom", "tip")
    s = a.build()
    q = s.neutral()
    q[s.layout["boom"].q_joint] = -np.pi / 2
    q = lb.equilibrium(s, q, locked=["boom", "tool"])
    outputs = ["boom", ("speed", "boom"), ("position", "tool", "tip", "y"), ("strain", "tool", 0.0, 0.01, 0.0)]  # fmt: skip
    model = lb.linearize(s, q, inputs=["boom", ("force", "tool", "tip", "y")], outputs=outputs)
    assert (model.poles.real < 1e-9 * np.abs(model.poles)).all()
    omega = np.geomspace(1e-2, 1e6, 2000)
    G = model.response(omega)
    size = np.linalg.norm(G, 2, axis=(1, 2)).max()
    for order in range(2, model.order + 1, 2):
        try:
            small = model.balanced(order)
        except lb.LimberError:
            continue  # fewer than the poles that do not decay
        assert (small.poles.real < 1e-9 * np.abs(small.poles)).all(), order
        off = np.linalg.norm(small.response(omega) - G, 2, axis=(1, 2)).max()
        assert off <= 1.001 * small.error_bound + 1e-8 * size, order


def test_roots_of_gramians_keep_their_small_parts():
    """In closed form: two decoupled poles p with inputs b have the Gramian diag(b^2 / 2 p)."""
    p, b = np.array([1.0, 1e3]), np.array([1e3, 1e-8])
    R = gramian_root(-np.diag(p), np.diag(b))
    assert np.allclose(np.abs(np.diag(R)), b / np.sqrt(2.0 * p), rtol=1e-12, atol=0.0)
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 9):
        A = rng.normal(size=(n, n))
        A -= (np.linalg.eigvals(A).real.max() + 0.3) * np.eye(n)
        B = rng.normal(size=(n, 2))
        R = gramian_root(A, B)
        P = R @ R.T
        assert np.allclose(A @ P + P @ A.T, -B @ B.T, atol=1e-11 * np.abs(P).max())
