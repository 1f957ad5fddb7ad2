"""The report in a real browser: it loads without errors, moves, and shows what the dynamics says."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import limber as lb
from helpers import browser
from helpers.closed import moved_four_bar
from helpers.pictured import arm, block, craft, satellite, stiffened, swinging, yoke
from helpers.shaped import GOLD, NAVY, RED, bent
from limber.drawing.colours import rgb
from limber.viewer import geometry
from simulation.grasping import GRASP, flyer

pytestmark = pytest.mark.skipif(
    browser.found() is None, reason="no Chromium on this machine (make browser)"
)

#: set it to keep the screenshots
KEEP = os.environ.get("LIMBER_SCREENSHOTS")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    started = browser.Browser(tmp_path_factory.mktemp("profile"), seconds=120.0)
    yield started
    started.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return {
        make.__name__: make()
        .report(folder / f"{make.__name__}.html", scale=8.0, what=["joints", "energy"])
        .as_uri()
        for make in (arm, craft, stiffened)
    }


def picture(page, name):
    raw = page.screenshot()
    if KEEP:
        (Path(KEEP) / f"{name}.png").write_bytes(raw)
    return np.asarray(Image.open(io.BytesIO(raw)).convert("RGB")).astype(int)


@pytest.mark.parametrize("renderer", ["webgl2", "canvas2d"])
def test_page_loads_quietly_plays_and_answers(page, address, renderer):
    page.theme("light")
    page.open("about:blank")
    page.open(address["arm"] + ("" if renderer == "webgl2" else "#canvas2d"))
    shown = page.run("limberReport.renderer")
    if shown != renderer:
        pytest.skip("this browser has no WebGL 2; the page fell back to the canvas")
    page.until("limberReport.time > 0.05")  # it plays by itself
    page.click("#play")
    assert page.run("limberReport.playing") is False
    assert page.run("document.getElementById('play').textContent") == "Play"

    stage = page.run(
        "(() => { const b = stage.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })()"
    )
    left, top, right, bottom = (round(x) for x in stage)
    pictures = []
    for t in (0.0, 1.8):
        page.run(f"limberReport.draw({t})")
        assert page.run("document.getElementById('clock').textContent") == f"{t:.2f} s"
        pictures.append(picture(page, f"{renderer}-{t}")[top:bottom, left:right])
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 40).sum() > 500
    # the first link is drawn in its blue
    blue = np.abs(pictures[0] - [0, 114, 178]).max(axis=2) < 60
    assert blue.sum() > 200

    before = page.run("[limberReport.player.camera.azimuth, limberReport.player.camera.distance]")
    x, y = page.middle("#stage")
    page.call(
        "Input.dispatchMouseEvent",
        type="mousePressed",
        x=x,
        y=y,
        button="left",
        buttons=1,
        clickCount=1,
    )
    page.call(
        "Input.dispatchMouseEvent", type="mouseMoved", x=x + 60, y=y + 10, button="left", buttons=1
    )
    page.call(
        "Input.dispatchMouseEvent",
        type="mouseReleased",
        x=x + 60,
        y=y + 10,
        button="left",
        clickCount=1,
    )
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-200)
    after = page.run("[limberReport.player.camera.azimuth, limberReport.player.camera.distance]")
    assert after[0] < before[0]
    assert after[1] < before[1]
    for view in ("front", "side", "top", "corner"):
        page.click(f"#{view}")
    assert page.run("limberReport.player.camera.azimuth") == pytest.approx(before[0])

    page.run("(() => { time.value = 1.0; time.dispatchEvent(new Event('input')); })()")
    assert page.run("limberReport.time") == pytest.approx(1.0, abs=0.01)
    page.run("(() => { scale.value = 2; scale.dispatchEvent(new Event('input')); })()")
    assert page.run("[limberReport.player.scale, scaled.textContent]") == [2, "× 2"]
    page.run("(() => { speed.value = '4'; speed.dispatchEvent(new Event('change')); })()")
    assert page.run("limberReport.player.speed") == 4
    page.click("#trail")
    assert page.run("trail.checked") is False
    page.click(".plot")  # the middle of a plot is about the middle of the run
    assert page.run("limberReport.time") == pytest.approx(1.0, abs=0.25)
    page.click("#play")
    page.until("limberReport.time > 1.3 || limberReport.time < 0.5")

    drawn = "[...document.querySelectorAll('.plot svg')].map(s => s.getBoundingClientRect().height)"
    assert min(page.run(drawn)) > 100
    assert page.problems == []
    assert {r.split(":")[0] for r in page.requests} <= {"file", "data"}


@pytest.mark.parametrize("make", [arm, craft, stiffened])
@pytest.mark.parametrize("scale", [1.0, 15.0])
def test_page_places_the_bodies_as_the_dynamics_does(page, address, make, scale):
    page.open(address[make.__name__])
    page.run("limberReport.pause()")
    r = make()
    rows = [0, len(r) // 3, len(r) - 1]
    g = geometry(r.system, r.q[rows], scale)
    low, high = g.bounds()
    for i, row in enumerate(rows):
        for k, points in enumerate(g.points.values()):
            got = page.run(f"limberReport.points({k}, {float(r.t[row])!r}, {scale})")
            assert np.abs(np.array(got) - points[i]).max() < 2e-6 * (high - low).max() * max(
                1, scale
            )
    assert page.problems == []


@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_page_turns_the_ribs_as_the_panels_twist(page, tmp_path, scale):
    s = satellite()
    v = np.random.default_rng(2).standard_normal((3, s.nv))
    q = np.array([lb.integrate(s, s.neutral(), x, 0.3) for x in v])
    r = lb.Result(s, np.arange(3.0), q, 0 * v, 0 * v)
    page.open(r.report(tmp_path / "satellite.html", what="joints").as_uri())
    page.run("limberReport.pause()")
    g = geometry(s, q, scale)
    for i in range(3):
        for k, ribs in enumerate(g.ribs.values()):
            got = np.array(page.run(f"limberReport.ribs({k}, {float(i)!r}, {scale})"))
            assert np.abs(got.reshape(ribs[i].shape) - ribs[i]).max(initial=0.0) < 1e-4
    assert page.problems == []


@pytest.mark.parametrize("make", [block, yoke])
@pytest.mark.parametrize("renderer", ["webgl2", "canvas2d"])
def test_page_draws_surfaces_and_members_where_they_are(page, tmp_path, make, renderer):
    r = swinging(make())
    address = r.report(tmp_path / "page.html", what="joints").as_uri()
    page.theme("light")
    page.open("about:blank")
    page.open(address + ("" if renderer == "webgl2" else "#canvas2d"))
    page.run("limberReport.pause()")
    g = geometry(r.system, r.q, 2.0, triangles=20_000)
    low, high = g.bounds()
    for i in range(len(r)):
        for k, points in enumerate(g.points.values()):
            got = page.run(f"limberReport.points({k}, {float(i)!r}, 2.0)")
            assert np.abs(np.array(got) - points[i]).max() < 4e-6 * (high - low).max()
    first = next(iter(g.skeletons.values()))
    shown = page.run("limberReport.player.scene.bodies[0].triangles.length")
    assert shown == 3 * len(first.triangles)
    page.run("limberReport.draw(1.0)")
    blue = np.abs(picture(page, f"{make.__name__}-{renderer}") - [0, 90, 150]).max(axis=2) < 60
    assert blue.sum() > (10_000 if make is block else 1000)
    assert page.problems == []


@pytest.mark.parametrize("renderer", ["webgl2", "canvas2d"])
def test_page_draws_shapes_in_their_places_and_colours(page, tmp_path, renderer):
    r = bent()
    address = r.report(tmp_path / "page.html", what="joints").as_uri()
    page.theme("light")
    page.open("about:blank")
    page.open(address + ("" if renderer == "webgl2" else "#canvas2d"))
    page.run("limberReport.pause()")
    g = geometry(r.system, r.q, 2.0, triangles=20_000)
    low, high = g.bounds()
    for k, (name, points) in enumerate(g.points.items()):
        got = page.run(f"limberReport.points({k}, {float(r.t[3])!r}, 2.0)")
        assert np.abs(np.array(got) - points[3]).max() < 4e-6 * (high - low).max()
        paints = page.run(f"limberReport.player.scene.bodies[{k}].paints")
        assert sum(count for count, _ in paints) == len(g.skeletons[name].triangles)
    page.run(f"limberReport.draw({float(r.t[3])!r})")
    pixels = picture(page, f"shapes-{renderer}").astype(float)
    for colour, least in ((GOLD, 2000), (NAVY, 4000), (RED, 100)):
        want = 255.0 * np.array(rgb(colour))
        shade = (pixels @ want / (want @ want))[..., None]
        near = np.abs(pixels - shade * want).max(axis=2) < 25
        assert (near & (shade[..., 0] > 0.45) & (shade[..., 0] < 1.25)).sum() > least
    assert page.problems == []


def test_page_draws_closures_where_they_are(page, tmp_path):
    r = moved_four_bar()
    page.open(r.report(tmp_path / "page.html", what="joints").as_uri())
    page.run("limberReport.pause()")
    g = geometry(r.system, r.q, 3.0)
    for i in (0, 7, len(r) - 1):
        got = np.array(page.run(f"limberReport.closures({float(r.t[i])!r}, 3.0)"))
        assert np.abs(got - [path[i] for path in g.closures.values()]).max() < 1e-5
    page.run("limberReport.draw(0.5)")
    assert page.problems == []


def test_page_draws_closures_while_they_are_active(page, tmp_path):
    s, q, v = flyer()
    events = [lb.Event(0.2, lb.attach(GRASP, in_place=True)), lb.Event(0.4, lb.lock("arm1/boom"))]
    events.append(lb.Event(0.6, lb.release("grasp")))
    r = lb.simulate(s, 1.0, t0=0.0, q0=q, v0=v, events=events, t_eval=np.linspace(0.0, 1.0, 41))
    page.open(r.report(tmp_path / "page.html", what="joints").as_uri())
    page.run("limberReport.pause()")
    for t, count in ((0.1, 0), (0.3, 1), (0.5, 2), (0.7, 1), (1.0, 1)):
        assert len(page.run(f"limberReport.closures({t})")) == count
    page.run("limberReport.draw(0.5)")
    assert page.problems == []


def test_fingers_turn_and_zoom(page, address):
    page.open(address["arm"])
    page.run("limberReport.pause()")
    x, y = page.middle("#stage")
    look = "[limberReport.player.camera.azimuth, limberReport.player.camera.distance]"

    def touch(kind, *points):
        page.call(
            "Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": a, "y": b} for a, b in points]
        )

    before = page.run(look)
    touch("touchStart", (x, y))
    touch("touchMove", (x - 80, y))
    touch("touchEnd")
    turned = page.run(look)
    assert turned[0] > before[0]
    assert turned[1] == before[1]
    touch("touchStart", (x - 20, y), (x + 20, y))
    touch("touchMove", (x - 120, y), (x + 120, y))
    touch("touchEnd")
    assert page.run(look)[1] < 0.5 * turned[1]
    assert page.problems == []


def test_dark_theme_is_dark(page, address):
    looks = {}
    for theme in ("light", "dark"):
        page.theme(theme)
        page.open(address["craft"])
        page.run("limberReport.draw(0.9)")
        looks[theme] = picture(page, f"craft-{theme}")
    assert looks["light"].mean() > 200
    assert looks["dark"].mean() < 80
    # the text of the plots follows
    colour = page.run("getComputedStyle(document.querySelector('.plot svg text')).fill")
    assert min(int(x) for x in colour.removeprefix("rgb(").removesuffix(")").split(",")) > 200
    page.theme("light")
