"""Mode shapes bend as the modes do; animations have the frames and the pace that were asked for."""

import numpy as np
import pytest
from PIL import Image

import limber as lb
from helpers.pictured import arm, block, craft, satellite, stiffened, swinging, yoke
from limber.plotting.animate import frame_times
from limber.plotting.mode_shapes import displacement
from limber.viewer import geometry


def test_displacement_is_the_jacobian_times_the_shape():
    r = craft()
    s, q = r.system, r.q[10]
    shape = np.random.default_rng(1).standard_normal(s.nv)
    still = geometry(s, q)
    swing = displacement(s, q, shape, still)
    tip = s.bodies["boom"].nodes.names.index("tip")
    point = still.skeletons["boom"].nodes[tip]
    edge, end = np.argwhere(still.skeletons["boom"].edges == point)[0]
    velocity = lb.jacobian(s, q, "boom", "tip")[3:] @ shape
    got = swing.lines["boom"][edge, end]
    assert np.allclose(got / np.linalg.norm(got), velocity / np.linalg.norm(velocity), atol=1e-7)
    assert swing.reach == max(np.linalg.norm(m, axis=-1).max() for m in swing.lines.values())
    assert 0.12 * swing.size == pytest.approx(swing.factor(0.12) * swing.reach)  # nothing twists


@pytest.mark.parametrize("body, node", [("boom", "tip"), ("panel", "d")])
def test_displacement_of_a_bent_body_follows_its_second_order_shapes(body, node):
    r = stiffened()
    s, q = r.system, r.q[1]
    shape = np.random.default_rng(1).standard_normal(s.nv)
    still = geometry(s, q)
    swing = displacement(s, q, shape, still)
    point = still.skeletons[body].nodes[s.bodies[body].nodes.names.index(node)]
    velocity = lb.jacobian(s, q, body, node)[3:] @ shape
    got = swing.points[body][point]
    assert np.allclose(got / np.linalg.norm(got), velocity / np.linalg.norm(velocity), atol=1e-7)


def test_modes_of_surfaces_and_frames_are_scaled_by_what_moves_most():
    for s in (block(), yoke()):
        q = s.neutral()
        still, found = geometry(s, q), lb.modes(s, q, locked=list(s.layout))
        for i in range(4):
            swing = displacement(s, q, found.shapes[:, i], still)
            factor = swing.factor(0.12)
            every = np.concatenate(list(swing.points.values()))
            moved = factor * np.linalg.norm(every, axis=1).max()
            most = max(moved / (0.12 * swing.size), factor * swing.twist)
            assert most == pytest.approx(1.0, rel=1e-6)


def test_pictures_of_surfaces_and_frames(tmp_path):
    from matplotlib.collections import PolyCollection

    s = block()
    figure = lb.plotting.mode_shapes(s, locked=list(s.layout), count=2)
    for axes in figure.axes:
        (facets,) = [c for c in axes.collections if isinstance(c, PolyCollection)]
        assert len(facets.get_paths()) == len(geometry(s, s.neutral()).skeletons["block"].triangles)
        colours = facets.get_facecolor()[:, :3]
        assert np.ptp(colours, axis=0).max() > 0.3  # by displacement
    for make in (block, yoke):
        path = swinging(make()).animate(tmp_path / "moving.gif", fps=2.0, dpi=60)
        with Image.open(path) as gif:
            assert gif.n_frames == 5


def test_mode_shapes_name_their_frequencies(tmp_path):
    s = lb.models.canadarm(modes=2).build()
    q = s.neutral()
    q[s.layout["link2"].q_joint] = 0.8
    locked = list(s.layout)
    path = tmp_path / "modes.png"
    figure = lb.plotting.mode_shapes(s, q, locked=locked, count=3, path=path)
    expected = lb.modes(s, q, locked=locked).frequencies[:3]
    titles = [a.get_title(loc="left") for a in figure.axes]
    assert titles == [f"mode {i + 1}: {f:.3g} Hz" for i, f in enumerate(expected)]
    assert path.stat().st_size > 1000
    # one of them stays in the plane of the arm and is drawn in it, one leaves it
    labels = {a.get_xlabel() for a in figure.axes}
    assert {"x (m)", ""} == labels


@pytest.mark.parametrize("damping", [0.0, 0.005])
@pytest.mark.parametrize("hub", [lb.Free(), lb.Fixed()], ids=["free", "fixed"])
@pytest.mark.parametrize("locked", [[], ["east", "west"]], ids=["loose", "locked"])
def test_torsion_is_drawn_as_twist_and_rounding_as_nothing(hub, damping, locked):
    s = satellite(hub, damping)
    q = s.neutral()
    still, found = geometry(s, q), lb.modes(s, q, locked=locked)
    places = [s.layout[b].v_modes.stop - 1 for b in ("east", "west")]
    kinds = []
    for i in np.flatnonzero(np.nan_to_num(found.omega) > 0.0)[:8]:
        shape = found.shapes[:, i]
        torsion = np.abs(shape[places]).max() > 1e-3 * np.abs(shape).max()
        swing = displacement(s, q, shape, still)
        factor = swing.factor(0.12)
        kinds.append(torsion)
        if torsion:
            assert factor * swing.twist == pytest.approx(1.0)
            assert factor * swing.reach < 1e-6 * swing.size
        else:
            assert factor * swing.twist < 1e-6
            assert factor * swing.reach == pytest.approx(0.12 * swing.size)
    assert sum(kinds) == 2
    figure = lb.plotting.mode_shapes(s, locked=locked, count=8, columns=2)
    in_space = [axes.get_xlabel() == "" for axes in figure.axes]
    assert in_space == kinds


def test_what_only_turns_is_not_blown_up():
    a = lb.Assembly("disc")
    a.attach("disc", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Revolute([1, 0, 0]))
    a.attach("other", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Fixed(), offset=(1.7, 0.3, 0.9))
    s = a.build()
    swing = displacement(s, s.neutral(), np.ones(1), geometry(s, s.neutral()))
    assert swing.factor(0.12) == 0.0
    # a panel that turns about its length shows it by its ribs
    s = satellite(lb.Fixed())
    shape = np.zeros(s.nv)
    shape[s.layout["east"].v_joint] = 3.0
    swing = displacement(s, s.neutral(), shape, geometry(s, s.neutral()))
    assert swing.factor(0.12) == pytest.approx(1.0)
    assert np.abs(swing.ribs["east"]).max() == pytest.approx(0.5)  # a tenth of its length
    assert not np.any(swing.ribs["west"])


def test_an_unstable_configuration_shows_its_modes_with_a_frequency():
    s = satellite(lb.Revolute([0, 1, 0]), gravity=(0, 0, -9.81))
    q = s.neutral()
    figure = lb.plotting.mode_shapes(s, q, count=5)
    frequencies = lb.modes(s, q).frequencies
    first = np.flatnonzero(frequencies > 0.0)[:5]
    titles = [a.get_title(loc="left") for a in figure.axes]
    assert titles == [f"mode {i + 1}: {frequencies[i]:.3g} Hz" for i in first]


def test_rigid_motions_are_passed_over_and_counted_as_in_the_table():
    s = lb.models.canadarm(modes=1).build()
    figure = lb.plotting.mode_shapes(s, count=2)  # joints free: three modes of no frequency
    found = lb.modes(s, s.neutral())
    assert figure.axes[0].get_title(loc="left") == f"mode 4: {found.frequencies[3]:.3g} Hz"
    assert str(found).splitlines()[4].split()[:2] == ["4", f"{found.frequencies[3]:.5g}"]
    assert len(figure.axes) == 2


def test_mode_shapes_refuse_what_cannot_be():
    s = lb.models.canadarm(modes=1).build()
    rigid = lb.models.canadarm(modes=0).build()
    for arguments, message in (
        ({"count": 0}, "count"),
        ({"amplitude": 0}, "amplitude"),
        ({"view": "zx"}, "view='zx' must be one of auto"),
        ({"locked": "link1"}, "locked must be a list"),
        ({"q": np.zeros(3)}, "q must have shape"),
    ):
        with pytest.raises(lb.LimberError, match=message):
            lb.plotting.mode_shapes(s, **arguments)
    with pytest.raises(lb.LimberError, match="no mode with a frequency"):
        lb.plotting.mode_shapes(rigid)


def test_animation_has_its_frames_and_moves(tmp_path):
    path = tmp_path / "arm.gif"
    assert arm().animate(path, scale=5.0, fps=10, speed=2.0, width=3.0) == path
    with Image.open(path) as gif:
        assert gif.n_frames == 11  # 2 s at twice the pace: 1 s of picture
        assert gif.info["duration"] == 100
        first = np.asarray(gif.convert("RGB")).astype(int)
        gif.seek(10)
        last = np.asarray(gif.convert("RGB")).astype(int)
    assert first[0, 0].min() == 255  # white paper
    assert (np.abs(first - last).max(axis=2) > 60).sum() > 200


def test_animation_in_space_has_a_ground(tmp_path):
    craft()[:6].animate(tmp_path / "craft.gif", fps=25)
    with Image.open(tmp_path / "craft.gif") as gif:
        assert gif.n_frames == 3
        assert len(gif.convert("RGB").getcolors(1 << 16)) > 5


def test_frames_keep_the_pace_a_gif_can_have():
    times, hundredths = frame_times(1.0, 2.0, fps=30.0, speed=1.0)
    assert hundredths == 3
    assert np.allclose(np.diff(times), 0.03)
    assert times[-1] <= 2.0


def test_animations_refuse_what_cannot_be(tmp_path):
    r = arm()
    for arguments, message in (
        ({"path": tmp_path / "x.avi"}, r"\.gif, \.mp4"),
        ({"fps": 100}, "at most 50"),
        ({"fps": 0}, "fps"),
        ({"speed": 1e-4}, "too many"),
        ({"scale": np.inf}, "scale"),
        ({"view": "front"}, "view"),
    ):
        with pytest.raises(lb.LimberError, match=message):
            r.animate(**{"path": tmp_path / "x.gif"} | arguments)
    with pytest.raises(lb.LimberError, match="fewer than two rows"):
        r[:1].animate(tmp_path / "x.gif")
    assert not list(tmp_path.iterdir())


def test_a_point_mass_makes_pictures(tmp_path):
    a = lb.Assembly("point")
    a.attach("p", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free())
    s = a.build()
    r = lb.simulate(s, 0.2, v0=[0, 0, 0, 1, 0, 0], every=0.05, method="dop853")
    r.animate(tmp_path / "p.gif", fps=10)
    r.report(tmp_path / "p.html")


def test_a_time_given_twice_is_shown_once(tmp_path):
    r = arm()
    rows = np.sort(np.append(np.arange(len(r)), [3, 3, 50]))
    twice = r._with(lambda x: x[rows])
    figure = twice.plot(["joints", "power"], reference=twice)
    assert np.array_equal(figure.axes[0].get_lines()[-1].get_ydata(), r.joint("link3")[:, 0])
    twice.animate(tmp_path / "t.gif", fps=5)
    twice.report(tmp_path / "t.html", what="power")


def test_the_modes_of_a_body_report_stand_side_by_side(tmp_path):
    tube = lb.Section.tube(0.02, 0.002, lb.Material(70e9, 2700.0, nu=0.3))
    corners = {"a": (0.3, 0.0), "b": (-0.15, 0.26), "c": (-0.15, -0.26)}
    nodes = {f"{i}{k}": (0.6 * i, *yz) for i in range(7) for k, yz in corners.items()}
    turn = dict(zip("abc", "bca"))
    members = [(f"{i}{k}", f"{i}{turn[k]}") for i in range(7) for k in "abc"]
    members += [(f"{i}{k}", f"{i + 1}{j}") for i in range(6) for k in "abc" for j in (k, turn[k])]
    body = lb.structures.frame(nodes, members, tube).reduce(clamped=["0a", "0b", "0c"], modes=6)
    figure = body.report().plot(path=tmp_path / "body.png")
    tops = [axes.get_position().y1 for axes in figure.axes[:6]]  # titles stand on them
    assert np.ptp(tops[:3]) < 1e-6 and np.ptp(tops[3:]) < 1e-6
