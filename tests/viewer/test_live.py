"""The live view: what the server shows is what the dynamics says, and every control does what it says."""

import signal
import sys
import time
import urllib.request

import numpy as np
import pytest

import limber as lb
from helpers.closed import four_bar
from helpers.command import limber, running
from helpers.files import EXAMPLES
from helpers.pictured import arm, block, craft, satellite, stiffened
from helpers.shaped import bent, spacecraft
from limber.drawing.placer import Placer, quaternion_of, rotation_of
from limber.drawing.solids import looks
from limber.viewer import View, geometry
from limber.viewer.live.configuration import outward
from limber.viewer.live.coordinates import coordinates, quaternion, rotation_vector

pytest.importorskip("viser", reason="the live view needs viser (the extra `view`)")

#: Within this part of the size of the system.
NEAR = 1e-5


@pytest.fixture
def shown():
    made = []

    def show(subject, *arguments, **options):
        made.append(lb.view(subject, *arguments, port=8090, **options))
        return made[-1]

    yield show
    for view in made:
        view.close()


def until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


def placed(view, body):
    """The vertices of all meshes of a body in the world, as the server has them."""
    handles = view.server.scene._handle_from_node_name
    frame = handles[f"/bodies/{body}"]
    w, x, y, z = frame.wxyz
    R = rotation_of(rotation_vector(np.array([w, x, y, z])))
    meshes = [h for name, h in handles.items() if name.startswith(f"/bodies/{body}/")]
    return np.concatenate([m.vertices for m in meshes]).astype(float) @ R.T + frame.position


class Event:
    """What a browser sends with a change."""

    client = object()


def moved(handle, value):
    """Move a slider as a browser does."""
    handle._impl.value = value
    for call in handle._impl.update_cb:
        call(Event())


# --- frames and surfaces ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [arm, craft, stiffened])
@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_frames_are_those_of_the_pictures(make, scale):
    r = make()
    s, q = r.system, r.q[-1]
    g = geometry(s, q, scale)
    low, high = g.bounds()
    frames = Placer(s).frames(q, scale)
    for name, (R, p) in frames.items():
        local = g.skeletons[name].shapes.places(scale * q[s.layout[name].q_modes])
        gap = np.abs(local @ R.T + p - g.points[name]).max()
        assert gap < 1e-9 * (high - low).max()


@pytest.mark.parametrize("make", [spacecraft, block, satellite])
def test_surfaces_are_closed_and_near_their_bodies(make):
    s = make()
    look = looks(s, 3000)
    assert list(look.surfaces) == list(s.bodies)
    for name, surfaces in look.surfaces.items():
        assert surfaces, name
        for surface in surfaces:
            assert surface.triangles.max() < len(surface.shapes)
            assert surface.shapes.modes == s.bodies[name].modes
            assert surface.colour.startswith("#")


def test_rotations_and_quaternions_are_inverse():
    rng = np.random.default_rng(1)
    vectors = [*rng.standard_normal((20, 3)), np.zeros(3), [1e-9, 0, 0], [np.pi, 0, 0], [0, 3, 0]]
    for vector in map(np.array, vectors):
        R = rotation_of(vector)
        assert np.allclose(R @ R.T, np.eye(3), atol=1e-14)
        for made in (quaternion_of(R), quaternion(vector)):
            assert np.linalg.norm(made) == pytest.approx(1.0)
            assert np.allclose(rotation_of(rotation_vector(made)), R, atol=1e-9)


def test_ranges_of_sliders_have_few_digits():
    assert outward(-np.pi, np.pi) == (-3.2, 3.2)
    assert outward(0.0, 0.01234) == (0.0, 0.0124)
    assert outward(-5.324472, 5.324472) == (-5.4, 5.4)


# --- the view --------------------------------------------------------------------------------------


def test_what_the_server_has_is_the_geometry(shown):
    r = bent()
    s = r.system
    view = shown(s)
    view.show(r.q[3])
    g = geometry(s, r.q[3], triangles=6000)
    for body in s.bodies:
        ours = g.points[body][np.unique(g.skeletons[body].triangles)]
        gaps = [np.linalg.norm(placed(view, body) - x, axis=1).min() for x in ours]
        assert max(gaps) < NEAR * view.scene.size
    assert np.array_equal(view.q, r.q[3])
    view._set_scale(0.0)
    flat = placed(view, "east")[:, 2]
    assert np.ptp(flat) == pytest.approx(0.03, abs=1e-6)


def test_every_joint_and_mode_has_a_slider_that_moves_it(shown):
    r = craft()
    s = r.system
    view = shown(s)
    sliders = view._configuration._sliders
    assert len(sliders) == s.nv  # as many as there are speeds: three for a quaternion
    rng = np.random.default_rng(0)
    for slider, coordinate in sliders:
        value = float(rng.uniform(0.5 * slider.min, 0.5 * slider.max))
        moved(slider, value)
        assert coordinate.get(view.q) == pytest.approx(value, abs=1e-9)
    v = np.zeros(s.nv)
    lb.forward_dynamics(s, view.q, v, v)  # quaternions are unit ones
    view.reset()
    assert np.allclose(view.q, s.neutral())
    assert all(abs(c.get(view.q) - x.value) < 1e-9 for x, c in sliders)


def test_sliders_keep_to_the_limits_of_joints():
    a = lb.Assembly("a")
    joint = lb.Revolute("z", limits=(-0.5, 2.0), stop_stiffness=0.0)
    a.attach("b", lb.RigidBody(1.0, (1, 0, 0)), joint)
    s = a.build()
    ((only,),) = coordinates(s, 1.0).values()
    assert (only.low, only.high) == (-0.5, 2.0)


def test_loops_stay_closed_under_sliders(shown):
    s = four_bar().build()
    view = shown(s)
    assert np.abs(lb.constraint_residual(s, view.q)).max() < 1e-9
    slider, coordinate = view._configuration._sliders[0]
    moved(slider, coordinate.get(view.q) + 0.2)
    assert np.abs(lb.constraint_residual(s, view.q)).max() < 1e-9
    before = view.q
    rocker = [
        x for x in view._configuration._sliders if x[0]._impl.props.label.startswith("angle")
    ][-1]
    for value in (3.0, -3.0, 2.0):
        moved(rocker[0], value)
    assert np.abs(lb.constraint_residual(s, view.q)).max() < 1e-9
    assert before.shape == view.q.shape


def test_natural_modes_swing_about_the_configuration(shown):
    s = satellite()
    view = shown(s)
    natural = view._natural
    natural._held.value = True
    assert natural.find()
    want = lb.modes(s, s.neutral(), locked=list(s.layout)).frequencies
    assert natural._which.options[0].startswith(f"1: {want[0]:.4g} Hz")
    natural._period.value = 0.5
    natural.play()
    seen = []
    until(lambda: seen.append(view.q) or np.ptp([x[s.layout["east"].q_modes] for x in seen]) > 0.05)
    joints = [s.layout[b].q_joint for b in s.layout]
    assert all(np.array_equal(x[j], s.neutral()[j]) for x in seen for j in joints)
    natural.stop()
    assert np.array_equal(view.q, s.neutral())
    assert view.idle


def test_systems_that_cannot_vibrate_say_so(shown):
    a = lb.Assembly("rigid").attach("b", lb.RigidBody(1.0, (1, 0, 0)), lb.Revolute("z"))
    view = shown(a)
    assert not view._natural.find()
    assert "Lock fewer joints" in view._status.content


def test_results_are_played(shown):
    r = arm()
    view = shown(r)
    playback = view._playback
    moved(playback._time, 1.0)
    assert np.allclose(view.q, r.q[np.searchsorted(r.t, 1.0)], atol=0.02)
    playback._speed.value = "10 ×"
    playback.toggle()
    assert playback.playing
    times = set()
    until(lambda: times.add(round(playback._now, 3)) or len(times) > 5)
    playback.toggle()
    assert view.idle
    until(lambda: playback._time.value == pytest.approx(playback._now))
    # the sliders show where it stopped
    sliders = view._configuration._sliders
    assert all(x.value == pytest.approx(c.get(view.q), abs=1e-6) for x, c in sliders)


def test_a_load_bends_as_statics_says(shown):
    a = lb.Assembly("arm")
    a.attach("boom", lb.beam(2.0, 1.0, EI=10.0, modes=2), lb.Revolute("z"))
    s = a.build()
    view = shown(s)
    loads = view._loads
    assert loads.node == ("boom", len(s.bodies["boom"].node_set.names) - 1)
    loads.pull()
    k = loads._stiffness.value
    assert 0.01 < 0.2 * 2.0 * k / (3 * 10.0 / 8.0) / 2.0 < 0.3  # a pull by 0.4 m shows
    loads.drag(np.array([2.0, 0.0, 0.3]))
    until(lambda: loads._solved is not None and loads._solved[2] == 0.3)
    until(lambda: abs(view.q[:-1]).max() > 0)
    want = lb.equilibrium(s, external={("boom", "tip"): [0, 0, 0, 0, 0, 0.3 * k]}, locked=["boom"])
    until(lambda: np.allclose(view.q, want, atol=1e-6))
    assert loads._force.content == f"{0.3 * k:.4g} N"
    loads.let_go()
    assert np.array_equal(view.q, s.neutral())
    assert "/load" not in view.server.scene._handle_from_node_name


def test_a_load_moves_free_joints_in_motion(shown):
    a = lb.Assembly("arm")
    a.attach("bar", lb.RigidBody(1.0, (1, 0, 0), nodes={"tip": (2, 0, 0)}), lb.Revolute("z"))
    s = a.build()
    view = shown(s)
    view._loads._answer.value = "motion, joints free"
    view._loads.pull()
    view._loads.drag(np.array([0.0, 2.0, 0.0]))
    until(lambda: view.q[0] > 1.0)
    view.reset()
    assert view.q[0] == 0.0
    assert view.idle


def test_failures_are_shown_and_stop_the_motion(shown):
    view = shown(arm())

    def failing(seconds):
        raise lb.LimberError("this went wrong")

    view.run(failing)
    until(lambda: view.idle)
    assert "this went wrong" in view._status.content


def test_the_handle_is_for_notebooks_and_closes(shown):
    with shown(spacecraft()) as view:
        assert "8090" in view.url or "809" in view.url
        assert f'<iframe src="{view.url}"' in view._repr_html_()
        assert repr(view) == f"View('spacecraft', at {view.url})"
        assert b"viser" in urllib.request.urlopen(view.url, timeout=20).read().lower()
    assert view.closed
    assert repr(view) == "View('spacecraft', closed)"
    view.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(view.url, timeout=5)
    with shown(spacecraft()) as first, shown(spacecraft()) as second:
        assert first.url != second.url


def test_nothing_is_printed(shown, capsys):
    shown(arm().system).close()
    assert capsys.readouterr().out == ""


def test_files_are_shown(shown, tmp_path):
    lb.save(spacecraft(), tmp_path / "s.yaml")
    assert list(shown(tmp_path / "s.yaml").system.bodies) == list(spacecraft().bodies)
    arm().save(tmp_path / "r.h5")
    assert shown(str(tmp_path / "r.h5")).result is not None


def test_what_cannot_be_shown_is_refused():
    s = arm().system
    for arguments, options, words in (
        ((3,), {}, "view takes a System"),
        ((s, np.zeros((2, s.nq))), {}, "one configuration"),
        ((s, np.zeros(2)), {}, "q"),
        ((s,), {"port": -1}, "port"),
        ((s,), {"host": 3}, "host"),
        ((s,), {"scale": np.nan}, "scale"),
        ((arm()[:0],), {}, "no rows"),
        (("none.yaml",), {}, "no such file"),
    ):
        with pytest.raises(lb.LimberError, match=words):
            lb.view(*arguments, **options)


def test_a_missing_viser_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(lb.LimberError, match=r"pip install 'limber-dynamics\[view\]'"):
        lb.view(arm().system)


@pytest.mark.parametrize("still", [False, True])
def test_the_command_plays_scenarios(still, monkeypatch):
    seen = []
    monkeypatch.setattr(View, "wait", lambda self: (seen.append(self), self.close()))
    options = ["--still"] if still else []
    said = limber("view", EXAMPLES / "four_bar_run_up.yaml", "--no-browser", *options)
    (view,) = seen
    assert view.url in said.stdout
    assert (view.result is None) == still
    assert limber("view", "none.h5", code=3).stderr.startswith("error: none.h5")


@pytest.mark.slow
def test_the_command_shows_a_model_until_it_is_interrupted(tmp_path):
    lb.save(spacecraft(), tmp_path / "s.yaml")
    with running("view", tmp_path / "s.yaml", "--no-browser", "--port", 8190) as process:
        line = process.stdout.readline()
        assert line.startswith("spacecraft: http://localhost:819"), process.stderr.read()
        assert urllib.request.urlopen(line.split()[1], timeout=20).status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
