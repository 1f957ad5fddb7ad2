"""The live view in a real browser: bodies are where and as they should be on the screen, and controls answer."""

import io
import math
import os
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import limber as lb
from helpers import browser
from helpers.shaped import GOLD, NAVY, RED, bent, spacecraft
from limber.drawing.colours import rgb

pytest.importorskip("viser", reason="the live view needs viser (the extra `view`)")
#: software draws slowly
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        browser.found() is None, reason="no Chromium on this machine (make browser)"
    ),
]

#: set it to keep the screenshots
KEEP = os.environ.get("LIMBER_SCREENSHOTS")
WIDTH, HEIGHT = 900, 520
CANVAS = "document.querySelector('canvas').getBoundingClientRect()"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    started = browser.Browser(tmp_path_factory.mktemp("profile"), seconds=550.0)
    started.call(
        "Emulation.setDeviceMetricsOverride",
        width=WIDTH,
        height=HEIGHT,
        deviceScaleFactor=1,
        mobile=False,
    )
    started.theme("light")
    yield started
    started.close()


@pytest.fixture
def opened(page):
    made = []

    def show(subject, **options):
        view = lb.view(subject, port=8290, **options)
        made.append(view)
        page.open("about:blank")
        page.open(view.url)
        page.until(
            f"!!document.querySelector('canvas') && {CANVAS}.width > 100 && {CANVAS}.width < {WIDTH - 100}",
            60,
        )
        return view

    yield show
    page.open("about:blank")
    for view in made:
        view.close()


def picture(page, name):
    raw = page.screenshot()
    if KEEP:
        (Path(KEEP) / f"live-{name}.png").write_bytes(raw)
    pixels = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB")).astype(float)
    left, right = page.run(f"(() => {{ const b = {CANVAS}; return [b.left, b.right]; }})()")
    return pixels[:, round(left) : round(right)]


def coloured(pixels, colour):
    """(n, 2): where the picture (x, y) has the hue of a colour, in whatever light."""
    want = np.array(rgb(colour)) - np.mean(rgb(colour))
    have = pixels / 255.0 - pixels.mean(axis=2, keepdims=True) / 255.0
    size = np.linalg.norm(have, axis=2)
    along = have @ want / np.maximum(size, 1e-9) / np.linalg.norm(want)
    y, x = np.nonzero((along > 0.985) & (size > 0.12))
    return np.column_stack([x, y])


def on_screen(view, point, width):
    """The pixel of a place in the world, seen by the camera at the start, in a picture so wide."""
    camera = view.server.initial_camera
    eye, at = np.array(camera.position), np.array(camera.look_at)
    back = (eye - at) / np.linalg.norm(eye - at)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    x, y, z = np.array([right, up, back]) @ (np.asarray(point) - eye)
    focal = 0.5 * HEIGHT / math.tan(0.5 * camera.fov)
    return np.array([0.5 * width - focal * x / z, 0.5 * HEIGHT + focal * y / z])


def settled(page, view, name, check, seconds=60.0):
    """The first picture that passes a check: software draws slowly, and the page fades in."""
    end = time.monotonic() + seconds
    while True:
        pixels = picture(page, name)
        problem = check(pixels)
        if problem is None:
            return pixels
        assert time.monotonic() < end, problem
        time.sleep(0.3)


def press(page, label):
    page.run(
        "(() => { const b = [...document.querySelectorAll('button')].find(b => b.textContent.trim() === "
        f"{label!r}); b.id = 'pressed'; return 1; }})()"
    )
    page.click("#pressed")
    page.run("(() => { document.getElementById('pressed').id = ''; return 1; })()")


def near(pixels, colour, want, within=7.0, least=25):
    """None if the middle of what has a colour is near a pixel, else what is wrong."""
    found = coloured(pixels, colour)
    if len(found) < least:
        return f"only {len(found)} pixels of {colour}"
    middle = np.median(found, axis=0)
    gap = np.linalg.norm(middle - want)
    return None if gap < within else f"{colour} at {middle}, expected {want}"


def test_bodies_are_where_they_should_be_on_the_screen(page, opened):
    r = bent()
    s, q = r.system, r.q[3]
    view = opened(s)

    def tip(q):
        return lb.pose(s, q, "boom", "tip")[1]

    def box_at(q):
        return lambda pixels: near(pixels, RED, on_screen(view, tip(q), pixels.shape[1]))

    pixels = settled(page, view, "neutral", box_at(s.neutral()))
    assert len(coloured(pixels, GOLD)) > 1000
    panels = coloured(pixels, NAVY)
    assert len(panels) > 2000
    # the panels reach from the tip of one to the tip of the other
    for body in ("east", "west"):
        seen = on_screen(view, lb.pose(s, s.neutral(), body, "tip")[1], pixels.shape[1])
        assert np.linalg.norm(panels - seen, axis=1).min() < 12.0
    # a rigid body is moved by its frame, a flexible one by its points
    view.show(q)
    settled(page, view, "bent", box_at(q))
    turned = s.neutral()
    turned[:4] = [np.cos(0.4), 0, 0, np.sin(0.4)]
    view.show(turned)
    settled(page, view, "turned", box_at(turned))


def test_buttons_and_sliders_of_the_page_answer(page, opened):
    r = bent(41)
    view = opened(r)
    page.until(
        "[...document.querySelectorAll('button')].some(b => b.textContent.trim() === 'Play')", 60
    )
    labels = page.run("document.body.innerText")
    for words in (
        "Reset",
        "Deformation",
        "Time (s)",
        "Speed",
        "Joints and modes",
        "Natural modes",
        "Load",
    ):
        assert words in labels
    assert view.idle
    press(page, "Play")
    end = time.monotonic() + 30
    while view.idle:
        assert time.monotonic() < end, "Play does nothing"
        time.sleep(0.05)
    assert view._playback.playing
    press(page, "Reset")
    while not view.idle:
        assert time.monotonic() < end, "Reset does nothing"
        time.sleep(0.05)
    assert np.array_equal(view.q, r.q[0])
    errors = [p for p in page.problems if p.get("type") != "warning"]
    assert errors == []
    assert {x.split(":")[0] for x in page.requests if "localhost" not in x} <= {
        "data",
        "blob",
        "about",
    }


def test_a_load_shows_its_handle_and_bends_the_boom(page, opened):
    s = spacecraft()
    view = opened(s)
    loads = view._loads
    loads.pull()
    start = lb.pose(s, s.neutral(), "boom", "tip")[1]
    target = start + np.array([0.6, -0.3, 0.9])
    loads.drag(target)
    end = time.monotonic() + 30
    while lb.pose(s, view.q, "boom", "tip")[1][2] < start[2] + 0.02:
        assert time.monotonic() < end, "the boom does not bend"
        time.sleep(0.05)
    q = view.q
    tip = lb.pose(s, q, "boom", "tip")[1]

    def pulled(pixels):
        """A red line leads from the tip to the handle."""
        found = coloured(pixels, RED)
        for part in (0.4, 0.7):
            at = on_screen(view, tip + part * (target - tip), pixels.shape[1])
            if not len(found) or np.linalg.norm(found - at, axis=1).min() > 6.0:
                return f"no line at {at}"
        return None

    settled(page, view, "load", pulled)
