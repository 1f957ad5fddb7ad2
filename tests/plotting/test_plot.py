"""Figures show the numbers of the result, under the labels they promise."""

import numpy as np
import pytest

import limber as lb
from helpers.pictured import arm, craft, satellite
from limber.drawing.colours import COLOURS
from limber.plotting.panels import PANELS, Selection, elastic_energy
from limber.viewer.report import fitting


def curves(figure, axes=0):
    """label to y of the lines of one pair of axes; the pale reference lines left out."""
    lines = figure.axes[axes].get_lines()
    named = [x for x in lines if not x.get_label().startswith("_")]
    return {x.get_label().strip(): x.get_ydata() for x in named}


def references(figure, axes=0):
    return [x.get_ydata() for x in figure.axes[axes].get_lines() if x.get_label() == "_reference"]


def labels(figure):
    return [a.get_ylabel() for a in figure.axes]


@pytest.mark.parametrize(
    "what, values, label",
    [
        ("joints", lambda r, b: r.joint(b), "joint angle (rad)"),
        ("speeds", lambda r, b: r.joint_speed(b), "joint rate (rad/s)"),
        ("torques", lambda r, b: r.tau[:, r.system.layout[b].v_joint], "joint torque (N m)"),
        (
            "accelerations",
            lambda r, b: r.vdot[:, r.system.layout[b].v_joint],
            "joint acceleration (rad/s²)",
        ),
    ],
)
def test_joint_panels_show_the_result(what, values, label):
    r = arm()
    figure = r.plot(what)
    assert labels(figure) == [label]
    assert figure.axes[0].get_xlabel() == "time (s)"
    shown = curves(figure)
    assert list(shown) == ["link1", "link2", "link3"]
    for body, y in shown.items():
        assert np.array_equal(y, values(r, body)[:, 0])
    legend = [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert legend == ["link1", "link2", "link3"]


def test_kinds_of_coordinates_get_axes_of_their_own():
    figure = craft().plot("joints")
    assert labels(figure) == ["joint angle (rad)", "joint displacement (m)", "quaternion"]
    assert set(curves(figure, 1)) == {"bus x", "bus y", "bus z", "boom"}
    assert set(curves(figure, 2)) == {f"{b} {i}" for b in ("bus", "ball") for i in "wxyz"}
    rates = craft().plot("speeds")
    assert labels(rates) == ["joint rate (rad/s)", "joint velocity (m/s)"]
    assert np.array_equal(curves(rates)["ball y"], craft().joint_speed("ball")[:, 1])


def test_modes_and_deflection_show_the_result_and_name_what_is_zero():
    r = arm()
    figure = r.plot("modes", bodies=["link2"])
    shown = curves(figure)
    assert list(shown) == ["mode 1"]
    assert np.array_equal(shown["mode 1"], r.modal("link2")[:, 0])
    assert figure.axes[0].get_legend().get_title().get_text() == "link2 (mode 2: zero)"
    figure = r.plot("deflection")
    assert labels(figure) == ["deflection (m)"]
    shown = curves(figure)
    assert list(shown) == ["link1 tip y", "link2 tip y", "link3 tip y"]
    assert np.array_equal(shown["link1 tip y"], r.deflection("link1", "tip")[:, 1])
    assert "(6 others: zero)" in [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    figure = r.plot("deflection", bodies=["link1"], nodes={"link1": "node5"})
    assert np.array_equal(curves(figure)["link1 node5 y"], r.deflection("link1", "node5")[:, 1])


def test_rotation_shows_the_twist_of_a_body():
    s = satellite(lb.Fixed())
    q = np.tile(s.neutral(), (5, 1))
    where = s.layout["east"].q_modes
    q[:, where.stop - 1] = np.linspace(0, 1, 5)  # torsion
    r = lb.Result(s, np.arange(5.0), q, 0 * q, 0 * q)
    shown = curves(r.plot("rotation"))
    assert list(shown) == ["east tip x"]
    R = r.node("east", "tip").R
    assert np.allclose(np.arctan2(R[:, 2, 1], R[:, 1, 1]), shown["east tip x"])
    assert "rotation" in fitting(Selection(r, list(s.layout), {}))
    assert "rotation" not in fitting(Selection(arm(), list(arm().system.layout), {}))


def test_energies_add_up():
    r = craft()
    shown = curves(r.plot("energy"))
    assert set(shown) == {"kinetic", "elastic", "gravity", "total"}
    assert np.allclose(shown["kinetic"] + shown["elastic"] + shown["gravity"], shown["total"])
    assert np.array_equal(shown["total"], r.energy)
    assert np.array_equal(shown["elastic"], elastic_energy(r))
    assert "gravity" not in curves(arm().plot("energy"))


def test_power_is_the_audit():
    r = arm()
    audit = r.power_audit()
    figure = r.plot("power")
    assert labels(figure)[:2] == ["power (W)", "energy (J)"]
    assert np.array_equal(curves(figure, 1)["work"], audit.work)
    assert np.array_equal(curves(figure, 1)["dissipation"], audit.dissipation)
    assert np.array_equal(next(iter(curves(figure, 2).values())), audit.residual)


def test_power_has_that_of_forces_from_outside():
    """Integrated over time, each power is the work of the audit."""
    a = lb.Assembly("pushed")
    link = lb.beam(1.0, 2.0, EI=200.0, modes=1, damping=0.01)
    a.attach("link", link, lb.Revolute([0, 1, 0], damping=0.3))
    r = lb.simulate(
        a.build(), 0.5, external={("link", "tip"): [0, 0, 0, 0, 0, 5.0]}, torque=[0.2], every=1e-3
    )
    audit, powers = r.power_audit(), curves(r.plot("power"))
    works = {"actuators": audit.work, "external": audit.external, "dampers": audit.dissipation}
    for name, work in works.items():
        y = powers[name]
        total = np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(r.t))
        assert total == pytest.approx(work[-1], rel=1e-3) and abs(work[-1]) > 1e-3


def test_errors_against_a_function_a_trajectory_and_a_result():
    r = arm()

    def desired(t):
        return [0.3 + t, -0.6, 0.5 * t]

    shown = curves(r.plot("errors", reference=desired))
    assert np.allclose(shown["link1"], r.joint("link1")[:, 0] - 0.3 - r.t)
    moving = curves(r.plot("errors", reference=lambda t: (desired(t), [1.0, 0.0, 0.5])))
    assert np.array_equal(moving["link3"], shown["link3"])
    one = r.plot("errors", bodies=["link2"], reference=lambda t: -0.6)
    assert np.allclose(one.axes[0].get_lines()[0].get_ydata(), r.joint("link2")[:, 0] + 0.6)
    part = r.resample(np.linspace(0.5, 1.5, 41))
    figure = r.plot("errors", reference=part)
    line = figure.axes[0].get_lines()[0]
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == (0.5, 1.5)
    assert np.abs(line.get_ydata()).max() < 1e-4  # of interpolation


def test_error_of_a_quaternion_is_the_angle_between():
    r = craft()
    q = r.q.copy()
    at = r.system.layout["ball"].q_joint
    turn = np.array([np.cos(0.05), np.sin(0.05), 0, 0])
    w, x, y, z = q[:, at].T
    q[:, at] = -np.column_stack(  # the other sign is the same turn
        [w * turn[0] - x * turn[1], x * turn[0] + w * turn[1], y * turn[0] + z * turn[1], z * turn[0] - y * turn[1]]
    )  # fmt: skip
    other = lb.Result(r.system, r.t, q, r.v, r.tau)
    figure = r.plot("errors", bodies=["ball"], reference=other)
    assert np.allclose(figure.axes[0].get_lines()[0].get_ydata(), 0.1, atol=1e-9)


def test_reference_lies_beneath():
    r = arm()
    figure = r.plot(["joints", "speeds"], reference=lambda t: ([t, 0, 0], [1, 0, 0]))
    assert np.array_equal(references(figure)[0], r.t)
    assert np.array_equal(references(figure, 1)[0], np.ones(len(r)))
    assert "reference" in [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    rigid = lb.models.canadarm(modes=0).build()
    other = lb.simulate(rigid, 2.0, torque=[400.0, -90.0, 20.0], every=0.02, method="dop853")
    figure = r.plot(["torques", "energy", "modes"], bodies=["link1"], reference=other)
    assert np.array_equal(references(figure, 1)[0], other.kinetic_energy)
    assert references(figure, 2) == []  # a rigid arm has no modes


def test_several_panels_share_time_and_several_columns_fill():
    figure = arm().plot(["joints", "energy", "torques"], title="arm", columns=2)
    used = [a for a in figure.axes if a.axison]
    assert len(used) == 3
    assert figure.get_suptitle() == "arm"
    assert len({a.get_xlim() for a in used}) == 1


def test_many_bodies_get_a_short_legend():
    a = lb.Assembly("chain")
    n = len(COLOURS) + 1
    for i in range(n):
        body = lb.RigidBody(1.0, (0.5, 0, 0), np.eye(3), {"tip": (1, 0, 0)})
        a.attach(f"b{i}", body, lb.Revolute([0, 0, 1]), *((f"b{i - 1}", "tip") if i else ()))
    s = a.build()
    q = np.random.default_rng(0).standard_normal((5, s.nq))
    figure = lb.Result(s, np.arange(5.0), q, 0 * q, 0 * q).plot()
    assert len(figure.axes[0].get_lines()) == n
    assert len(figure.axes[0].get_legend().get_texts()) == 3


def lightness_and_hue(colour):
    """CIE L*a*b* of a colour "#rrggbb"."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(c > 0.04045, ((c + 0.055) / 1.055) ** 2.4, c / 12.92)
    to_xyz = [[0.4339, 0.3762, 0.1899], [0.2127, 0.7152, 0.0722], [0.0178, 0.1095, 0.8728]]
    x, y, z = np.cbrt(to_xyz @ linear)  # of white; no colour here is near black
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_colours_can_be_told_apart_and_every_line_has_its_name():
    places = np.array([lightness_and_hue(c) for c in COLOURS])
    apart = np.linalg.norm(places[:, None] - places, axis=2)[~np.eye(len(COLOURS), dtype=bool)]
    assert len(COLOURS) >= 12 and apart.min() > 25  # a difference of 2.3 is just seen
    assert (places[:, 0] > 30).all() and (places[:, 0] < 80).all()  # on white and on black
    a = lb.Assembly("many")
    for i in range(len(COLOURS)):
        a.attach(f"b{i}", lb.RigidBody(1.0, (0.5, 0, 0), np.eye(3)), lb.Revolute([0, 0, 1]))
    s = a.build()
    q = np.random.default_rng(0).standard_normal((5, s.nq))
    axes = lb.Result(s, np.arange(5.0), q, 0 * q, 0 * q).plot().axes[0]
    assert [x.get_color() for x in axes.get_lines()] == list(COLOURS)
    assert [t.get_text() for t in axes.get_legend().get_texts()] == list(s.layout)


def test_one_row_is_shown_as_points():
    figure = arm()[:1].plot(["joints", "energy"])
    assert {x.get_marker() for axes in figure.axes for x in axes.get_lines()} == {"o"}


def test_pictures_of_something_else_say_what_to_do(tmp_path):
    a, r = lb.models.canadarm(modes=1), arm()
    for make, path in (
        (lb.plotting.plot, ()),
        (lb.plotting.animate, (tmp_path / "x.gif",)),
        (lb.viewer.report, (tmp_path / "x.html",)),
    ):
        for given, advice in (
            (
                r.system,
                r"got the System 'canadarm'. Simulate it first: .* lb.simulate\(system, t_end\)",
            ),
            (a, r"got the Assembly 'canadarm'. Simulate it first: .*system.build\(\)"),
            (None, "got None. Make one with lb.simulate"),
        ):
            with pytest.raises(lb.LimberError, match=rf"{make.__name__} takes a Result, {advice}"):
                make(given, *path)
    with pytest.raises(lb.LimberError, match=r"mode_shapes\(result.system, result.q\[-1\]\)"):
        lb.plotting.mode_shapes(r)
    with pytest.raises(lb.LimberError, match="locked must be a list"):
        lb.plotting.mode_shapes(r.system, locked=3)


def test_a_system_without_freedoms_has_pictures_of_what_there_is(tmp_path):
    a = lb.Assembly("still")
    a.attach("base", lb.RigidBody(1.0), lb.Fixed())
    a.attach("top", lb.RigidBody(1.0), lb.Fixed(), to="base", offset=(0, 0, 1))
    s = a.build()
    r = lb.simulate(s, 1.0, every=0.5)
    assert labels(r.plot("energy")) == ["energy (J)"]
    r.animate(tmp_path / "still.gif", fps=2)
    r.report(tmp_path / "still.html")
    with pytest.raises(lb.LimberError, match="has a joint that moves"):
        r.plot()
    with pytest.raises(lb.LimberError, match="'still' has no modes: nothing in it moves or bends"):
        lb.plotting.mode_shapes(s)


def test_small_values_are_written_in_a_power_of_ten():
    r = arm()
    small = lb.Result(r.system, r.t, 1e-5 * r.q, r.v, r.tau)
    assert labels(small.plot()) == ["joint angle ($10^{-6}$ rad)"]


def test_events_are_marked():
    r = arm()
    marked = lb.Result(r.system, r.t, r.q, r.v, r.tau, events=(lb.simulation.Happened(0.7, "x"),))
    xs = [list(x.get_xdata()) for x in marked.plot().axes[0].get_lines()]
    assert [0.7, 0.7] in xs


@pytest.mark.parametrize(
    "ending, magic", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_figures_are_saved_the_same_each_time(tmp_path, ending, magic):
    files = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for file in files:
        arm().plot("joints", path=file)
    assert files[0].read_bytes().startswith(magic)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_names_are_shown_as_they_are(tmp_path):
    name = r"_a $x_1$ <b> \n 腕"
    a = lb.Assembly("names")
    a.attach(name, lb.RigidBody(1.0, (0.5, 0, 0), np.eye(3)), lb.Revolute([0, 0, 1]))
    a.attach("other", lb.RigidBody(1.0, (0.5, 0, 0), np.eye(3)), lb.Revolute([0, 0, 1]))
    s = a.build()
    r = lb.simulate(s, 0.1, v0=[1.0, 2.0], every=0.01, method="dop853")
    r.plot("joints", path=tmp_path / "n.svg")
    text = (tmp_path / "n.svg").read_text(encoding="utf-8")
    assert r"_a $x_1$ &lt;b&gt; \n 腕" in text


def test_settings_of_the_user_stay_as_they_were():
    import matplotlib

    before = dict(matplotlib.rcParams)
    # without a reference there are no errors, without sections no strain, without a controller no signals
    arm().plot([name for name in PANELS if name not in ("errors", "strain", "stress", "signals")])
    assert dict(matplotlib.rcParams) == before
    with lb.plotting.style(font_size=11):
        assert matplotlib.rcParams["font.size"] == 11
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"what": "joint"}, "what='joint' is unknown; choose among joints, speeds, "),
        ({"what": []}, "choose among"),
        ({"what": 3}, "choose among"),
        ({"bodies": ["link9"]}, "link9.*link1"),
        ({"bodies": 3}, "bodies must be a list"),
        ({"bodies": []}, "bodies is empty"),
        ({"nodes": {"link1": "nose"}}, "nose.*tip"),
        ({"nodes": "tip"}, "nodes must map"),
        ({"what": "errors"}, "needs reference"),
        ({"what": "errors", "reference": 3}, "reference must be another Result"),
        ({"what": "errors", "reference": lambda t: [1, 2]}, r"gave 2 joint coordinates; expected 3"),
        ({"path": "x.bmp"}, r"\.png, \.svg, \.pdf"),
        ({"path": 3}, "path must be a file name"),
        ({"path": "/nowhere/x.png"}, "does not exist"),
        ({"columns": 0}, "columns"),
        ({"width": -1}, "width"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(lb.LimberError, match=message):
        arm().plot(**arguments)


def test_what_cannot_be_shown_is_refused():
    s = lb.models.canadarm(modes=0).build()
    r = lb.Result(s, np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(lb.LimberError, match="no rows"):
        r.plot()
    r = lb.simulate(s, 0.1, every=0.01, method="dop853")
    with pytest.raises(lb.LimberError, match="is flexible"):
        r.plot("modes")
    with pytest.raises(lb.LimberError, match="no body 'link1'"):
        r.plot("errors", reference=craft())
    with pytest.raises(lb.LimberError, match="no setting"), lb.plotting.style(nonsense=1):
        pass


def test_importing_limber_does_not_import_matplotlib():
    import subprocess
    import sys

    code = (
        "import sys, limber, limber.plotting, limber.viewer; assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_panel_of_forces_that_are_all_zero_is_left_out():
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(9.0, inertia=(1, 2, 2.5)), lb.Free())
    a.attach("boom", lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)), lb.Revolute("z"), "hub")
    s = a.build()
    driven = lb.simulate(s, 0.1, torque=s.speeds({"boom": 1.0}), every=0.05)
    assert [x.get_ylabel() for x in driven.plot("torques").axes] == ["joint torque (N m)"]
    for torque in (s.speeds({"hub": [0, 0, 1, 0, 0, 1], "boom": 1.0}), None):
        both = lb.simulate(s, 0.1, torque=torque, every=0.05).plot("torques")
        assert [x.get_ylabel() for x in both.axes] == ["joint torque (N m)", "joint force (N)"]
