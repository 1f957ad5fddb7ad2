"""Reduced structures under loads that their model leaves out, and spins that stretch nothing."""

import pickle
import warnings

import numpy as np
import pytest

import limber as lb
from helpers.meshes import sheet
from limber.bodies.load_stiffness import relative_changes
from limber.bodies.placed import placed
from limber.dynamics.loads import loaded_structures
from limber.errors import TheoryWarning
from limber.structures import frame, plate

METAL = lb.Material(E=70e9, rho=2700.0, nu=0.3)
BAR = lb.Section.rectangle(0.02, 0.03, METAL)
LENGTH, GRAVITY = 2.0, 9.81
UPRIGHT = {"root": (0, 0, 0), "tip": (0, 0, LENGTH)}


def column(parts=8):
    return frame(UPRIGHT, [("root", "tip")], BAR, divide=parts)


CRITICAL = column().buckling(1, clamped="root", forces={"tip": (0, 0, -1.0)}).factors[0]


def carrying(body, load, inboard=None):
    """A column with a weight on its tip that is this part of its buckling load; a negative one hangs."""
    a = lb.Assembly("column", gravity=(0, 0, -GRAVITY * np.sign(load)))
    a.attach("column", body, lb.Fixed(), inboard=inboard)
    mass = abs(load) * CRITICAL / GRAVITY
    a.attach("load", lb.RigidBody(mass, inertia=(0.1, 0.1, 0.1)), lb.Fixed(), "column", "tip")
    return a.build()


def parts(system, q=None, v=None, vdot=None, external=None):
    """The change of stiffness of every body that is told about."""
    rows = [np.zeros((1, n)) if x is None else x[None] for x, n in ((q, system.nq), (v, system.nv), (vdot, system.nv))]  # fmt: skip
    return {x.name: x.part for x in loaded_structures(system, *rows, external)}


def silent(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


# --- the part of the buckling load ------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.5, 1.2, -0.5])
def test_a_column_knows_its_part_of_the_buckling_load(load):
    body = column().reduce(clamped="root", modes=6)
    push = {("column", "tip"): [0, 0, 0, 0, 0, -load * CRITICAL]}
    alone = lb.Assembly("column").attach("column", body, lb.Fixed()).build()
    assert parts(alone, external=push)["column"] == pytest.approx(-load, rel=0.01)
    weight = column().buckling(1, clamped="root", gravity=(0, 0, -GRAVITY)).factors[0]
    expected = load + np.sign(load) / weight  # with its own weight
    assert parts(carrying(body, load))["column"] == pytest.approx(-expected, rel=0.02)


def test_a_free_body_knows_the_same_as_a_clamped_one():
    st = column()
    clamped = parts(carrying(st.reduce(clamped="root", modes=6), 0.6))["column"]
    shapes = st.modes(6, clamped="root").shapes
    free = st.reduce(modes=0, shapes=shapes, interface=["root", "tip"])
    found = parts(carrying(free, 0.6, "root"))["column"]
    assert found == pytest.approx(clamped, rel=1e-6)  # the same shapes, seen from the root
    pinned = st.reduce(modes=8, pinned="root", interface="tip")
    hinged = parts(carrying(pinned, 0.6, "root"))["column"]
    assert (
        clamped < hinged < 0.85 * clamped
    )  # shapes that turn at the root are poor ones for a clamped root
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    moved = placed(free, (0.4, -0.3, 0.8), turn)
    a = lb.Assembly("moved")
    a.attach("column", moved, lb.Fixed(), inboard="root", rotation=turn.T)
    push = {("column", "tip"): [0, 0, 0, 0, 0, -0.6 * CRITICAL]}
    assert parts(a.build(), external=push)["column"] == pytest.approx(-0.6, rel=0.01)
    ruthless = lb.Assembly("column", gravity=(0, 0, -GRAVITY))
    ruthless.attach("column", free, lb.Fixed(), inboard="root")
    tip = {("column", "tip"): [0, 0, 0, 0, 0, -0.6 * CRITICAL]}
    full = parts(ruthless.build(), external=tip)
    assert parts(ruthless.build(fidelity="ruthless"), external=tip) == pytest.approx(full)


def test_loads_in_body_axes_do_not_depend_on_the_attitude():
    body = column().reduce(clamped="root", modes=6)
    c, s = np.cos(0.7), np.sin(0.7)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    a = lb.Assembly("tilted").attach("column", body, lb.Fixed(), rotation=turn)
    force = turn @ [0, 0, -0.5 * CRITICAL]
    push = {("column", "tip"): [0, 0, 0, *force]}
    assert parts(a.build(), external=push)["column"] == pytest.approx(-0.5, rel=0.01)


@pytest.mark.parametrize("kind", ["frame", "plate"])
def test_the_change_of_stiffness_is_that_of_the_stiffened_body(kind):
    """The slopes of the generalized forces of both models differ by kappa, in any motion and under any force."""
    if kind == "frame":
        nodes = {"root": (0, 0, 0), "knee": (1, 0, 0), "tip": (1.2, 0.8, 0.3)}
        st = frame(nodes, [("root", "knee"), ("knee", "tip")], BAR, divide=3)
        options = {"clamped": "root", "modes": 4, "nodes": ["knee", "tip"]}
    else:
        st = plate(sheet((4, 3), (1.0, 0.6)), METAL, 0.004, names={"tip": (1.0, 0.6, 0.0)})
        options = {"clamped": st.where(x=0.0), "modes": 4, "interface": "tip", "nodes": ()}
    plain, stiff = (st.reduce(geometric_stiffening=x, **options) for x in (False, True))
    assert stiff.load_stiffness is None and plain.load_stiffness is not None
    R = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    R *= np.linalg.det(R)
    plain, stiff = (placed(body, (0.2, -0.3, 0.4), R) for body in (plain, stiff))
    rng = np.random.default_rng(1)
    m = plain.modes
    v, vdot = np.zeros(m + 6), np.zeros(m + 6)
    v[m : m + 3], vdot[m:] = rng.standard_normal(3), rng.standard_normal(6)
    push = {("body", "tip"): np.array([0, 0, 0, 3.0, -2.0, 4.0])}
    slopes = []
    for body in (plain, stiff):
        s = lb.Assembly("free").attach("body", body, lb.Free()).build()
        step, K = 1e-7, np.zeros((m, m))
        for r in range(m):
            q = s.neutral()
            q[s.layout["body"].q_modes.start + r] = step
            ahead = lb.inverse_dynamics(s, q, v, vdot, external=push)[:m]
            q[s.layout["body"].q_modes.start + r] = -step
            K[:, r] = (ahead - lb.inverse_dynamics(s, q, v, vdot, external=push)[:m]) / (2 * step)
        slopes.append(K)
    forces = np.zeros((len(plain.nodes.names), 3))
    forces[plain.nodes.names.index("tip")] = [3.0, -2.0, 4.0]
    kappa = plain.load_stiffness.under(v[m : m + 3], vdot[m:], forces)
    difference = slopes[1] - slopes[0]
    assert np.abs(kappa - difference).max() < 1e-5 * np.abs(kappa).max()


def test_relative_changes_are_those_of_the_eigenvalues():
    kappa, K = np.diag([-3.0, 0.5]), np.diag([6.0, 1.0])
    least, most = relative_changes(kappa, K)
    assert (least, most) == pytest.approx((-0.5, 0.5))


# --- warnings ---------------------------------------------------------------------------------------


def test_a_pressed_structure_says_what_its_model_leaves_out_once():
    s = carrying(column().reduce(clamped="root", modes=4), 1.3)
    for call in (lambda: lb.modes(s), lambda: lb.equilibrium(s), lambda: lb.simulate(s, 0.01)):
        with pytest.warns(TheoryWarning, match="a real structure would buckle") as told:
            call()
        text = str(told[0].message)
        assert len(told) == 1 and "body 'column' is under compression" in text
        assert "geometric_stiffening=True" in text and "Structure.buckling" in text
    s = carrying(column().reduce(clamped="root", modes=4), -0.3)
    with pytest.warns(TheoryWarning, match="is under tension.* about 15 % too low"):
        lb.modes(s)


def test_small_loads_and_stiffened_structures_are_left_alone():
    plain = carrying(column().reduce(clamped="root", modes=4), 0.05)
    stiff = carrying(column().reduce(clamped="root", modes=4, geometric_stiffening=True), 0.8)
    for s in (plain, stiff):
        silent(lambda s=s: lb.modes(s))
        silent(lambda s=s: lb.simulate(s, 0.01))


def test_a_plate_that_is_pressed_in_its_plane_says_so():
    p = plate(sheet((6, 4), (1.0, 0.6)), METAL, 0.002, names={"end": (1.0, 0.3, 0.0)})
    root = p.where(x=0.0)
    body = p.reduce(clamped=root, modes=6, interface="end")
    load = p.buckling(1, clamped=root, forces={"end": (-1.0, 0, 0)}).factors[0]
    s = lb.Assembly("panel").attach("panel", body, lb.Fixed()).build()
    push = {("panel", "end"): [0, 0, 0, -0.5 * load, 0, 0]}
    assert parts(s, external=push)["panel"] == pytest.approx(-0.5, rel=0.1)
    with pytest.warns(TheoryWarning, match="'panel' is under compression"):
        lb.modes(s, external=push)


def test_structures_of_users_know_nothing_of_their_loads():
    st = column()
    own = lb.Structure(st.position, st.M, st.K, names=st.names, geometric=st.geometric)
    body = own.reduce(clamped="root", modes=4)
    assert body.load_stiffness is None
    silent(lambda: lb.modes(carrying(body, 1.3)))


# --- files and copies -------------------------------------------------------------------------------


def test_files_and_copies_keep_what_loads_do(tmp_path):
    body = column().reduce(clamped="root", modes=4)
    s = carrying(body, 0.7)
    expected = parts(s)["column"]
    lb.save(s, tmp_path / "model.yaml")
    lb.save(s, tmp_path / "arrays.yaml", arrays="npz")
    for file in ("model.yaml", "arrays.yaml"):
        read = lb.load(tmp_path / file).build()
        assert parts(read) == {"column": expected}
    lb.io.write_body(body, tmp_path / "body.npz")
    copies = [
        lb.io.read_body(tmp_path / "body.npz"),
        pickle.loads(pickle.dumps(body)),
        body.with_damping(np.eye(4)),
        body.with_recovery(None),
    ]
    for copy in copies:
        assert parts(carrying(copy, 0.7)) == {"column": expected}
    moved = placed(body, (0.0, 0.0, 0.0), np.eye(3))
    assert parts(carrying(moved, 0.7)) == pytest.approx({"column": expected})
    assert body.without_modes().load_stiffness is None


def test_a_file_of_the_wrong_sizes_is_refused(tmp_path):
    file = tmp_path / "body.npz"
    lb.io.write_body(column().reduce(clamped="root", modes=2), file)
    good = dict(np.load(file))
    spoilt = {"acceleration": np.zeros((3, 3, 3)), "angular": np.zeros((3, 1, 1))}
    for name, values in spoilt.items():
        np.savez(file, **(good | {f"load_stiffness/{name}": values}))
        with pytest.raises(lb.LimberError, match=rf"\.npz.* {name} "):
            lb.io.read_body(file)


# --- spins ------------------------------------------------------------------------------------------


def spun(axis, stiffened=False, modes=2):
    options = {"polar_inertia": 0.05, "geometric_stiffening": stiffened}
    body = lb.beam(10.0, 12.0, EI=1.4e4, modes=modes, **options)
    return lb.Assembly("spun").attach("beam", body, lb.Revolute(axis)).build()


def test_a_shaft_that_spins_about_its_own_axis_is_not_stiffened_and_not_warned_of():
    """Whirling and critical speeds are in both models; a spin along the beam pulls at nothing."""
    speed = 5.7  # 1.5 times the first frequency
    plain, stiff = spun("x"), spun("x", stiffened=True)
    v = np.zeros(plain.nv)
    v[-1] = speed
    silent(lambda: lb.simulate(plain, 0.05, v0=v))
    found = []
    for s in (plain, stiff):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found.append(lb.modes(s, v=v, locked=["beam"]))
    np.testing.assert_allclose(found[0].omega, found[1].omega, rtol=1e-9)
    np.testing.assert_allclose(found[0].growth, found[1].growth, atol=1e-9)
    still = lb.modes(plain, locked=["beam"]).omega
    both = np.sort(np.abs([still[0] - speed, still[0] + speed, still[2] - speed, still[2] + speed]))
    np.testing.assert_allclose(np.sort(found[0].omega), both, rtol=1e-3)  # seen from the shaft


def test_a_spin_at_an_angle_counts_by_what_it_stretches():
    """The square of the spin across the beam is what stiffens it."""
    v, angle = np.zeros(5), 0.3
    v[-1] = 4.0
    axis = (np.cos(angle), 0.0, np.sin(angle))
    with pytest.warns(
        TheoryWarning,
        match=r"turns at 4 rad/s at t = .* s, of which 1.18 rad/s stretches it, 0.31 of",
    ):
        lb.simulate(spun(axis), 1e-3, v0=v)
    with pytest.warns(
        TheoryWarning, match=r"turns at 4 rad/s at t = .* s, 1.1 of its lowest frequency"
    ):
        lb.simulate(spun("z"), 1e-3, v0=v)


@pytest.mark.parametrize("n", [3, 12])
def test_many_bodies_outside_of_the_theory_are_told_of_at_once(n):
    a = lb.Assembly("chain", gravity=(9.81, 0, 0))
    beam = lb.beam(1.0, 1.0, EI=(8.0, 12.0), modes=1)
    for k in range(n):
        a.attach(
            f"b{k}",
            beam,
            lb.Revolute([0, 1, 0]),
            f"b{k - 1}" if k else "world",
            "tip" if k else None,
        )
    s = a.build()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lb.simulate(s, 0.01)
        lb.equilibrium(s, s.neutral())
    texts = [str(w.message) for w in told if issubclass(w.category, TheoryWarning)]
    half = len(texts) // 2
    if n == 3:
        assert half == 3 and not any("other bodies" in text for text in texts)
    else:
        assert half == 1
        for text in texts:
            assert text.startswith("body 'b0' is under tension of 117.7 N")
            assert text.endswith("to 11 other bodies: 'b1', 'b2', 'b3' and 8 more.")
