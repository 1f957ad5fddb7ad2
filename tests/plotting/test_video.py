"""Videos by ffmpeg, and pictures of systems with shapes."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import limber as lb
from helpers.pictured import arm
from helpers.shaped import GOLD, NAVY, RED, bent, spacecraft
from limber.drawing.colours import rgb
from limber.errors import MissingProgramError
from limber.plotting import video

#: Stands in for ffmpeg: keeps what it is told, and writes how many bytes came.
STAND_IN = """#!{python}
import sys
data = sys.stdin.buffer.read()
open({log!r}, "w").write(" ".join(sys.argv[1:]))
open(sys.argv[-1], "w").write(str(len(data)))
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    program, log = tmp_path / "bin" / "ffmpeg", tmp_path / "log"
    program.write_text(STAND_IN.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return log


def test_all_frames_go_to_ffmpeg(stand_in, tmp_path):
    r = arm()[:11]
    assert r.animate(tmp_path / "x.mp4", fps=60, width=3.0, dpi=50) == tmp_path / "x.mp4"
    words = stand_in.read_text().split()
    width, height = map(int, words[words.index("-s") + 1].split("x"))
    frames = round(60 * (r.t[-1] - r.t[0])) + 1
    assert width == 150
    assert int((tmp_path / "x.mp4").read_text()) == 3 * width * height * frames
    assert words[words.index("-r") + 1] == "60"


def test_a_missing_ffmpeg_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(video.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingProgramError, match=r"ffmpeg, which is not installed.*\.gif"):
        arm().animate(tmp_path / "x.mp4")
    assert not list(tmp_path.iterdir())


def test_what_ffmpeg_says_is_said(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho no such encoder >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(video.shutil, "which", lambda name: str(program))
    with pytest.raises(MissingProgramError, match=r"x.mp4 \(exit code 3\): no such encoder"):
        arm()[:3].animate(tmp_path / "x.mp4")
    assert not (tmp_path / "x.mp4").exists()
    with pytest.raises(lb.LimberError, match="at most 120"):
        arm().animate(tmp_path / "x.mp4", fps=200)


def test_a_real_ffmpeg_makes_a_film(tmp_path):
    try:
        program = video.ffmpeg()
    except MissingProgramError:
        pytest.skip("no ffmpeg on this machine")
    for name in ("a.mp4", "b.mp4"):
        bent().animate(tmp_path / name, fps=10, width=3.01)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    command = [
        program,
        "-loglevel",
        "error",
        "-i",
        str(tmp_path / "a.mp4"),
        str(tmp_path / "%d.png"),
    ]
    subprocess.run(command, check=True)
    assert len(list(tmp_path.glob("*.png"))) == 11
    assert navy(Image.open(tmp_path / "5.png")) > 300


def count(picture, colour, within=30):
    """How many pixels have a colour in whatever light."""
    pixels = np.asarray(picture.convert("RGB")).astype(float).reshape(-1, 3)
    want = 255.0 * np.array(rgb(colour))
    shade = (pixels @ want) / (want @ want)
    near = np.abs(pixels - shade[:, None] * want).max(axis=1) < within
    return int((near & (shade > 0.45) & (shade < 1.2)).sum())


def navy(picture):
    return count(picture, NAVY, 12)


def test_pictures_show_the_shapes_in_their_colours(tmp_path):
    s = spacecraft()
    figure = lb.plotting.picture(s, bent().q[3], title="craft", path=tmp_path / "s.png")
    assert figure.axes[0].get_title(loc="left") == "craft"
    with Image.open(tmp_path / "s.png") as picture:
        assert navy(picture) > 5000
        assert count(picture, GOLD) > 5000
        assert count(picture, RED) > 300
    lb.plotting.picture(s, path=tmp_path / "s.svg")
    with pytest.raises(lb.LimberError, match="one configuration"):
        lb.plotting.picture(s, np.tile(s.neutral(), (2, 1)))
    with pytest.raises(lb.LimberError, match="view"):
        lb.plotting.picture(s, view="front")


def test_near_bodies_hide_far_ones():
    """A box in front of another, attached after it or before it."""
    for order in ((0.0, -2.0), (-2.0, 0.0)):
        a = lb.Assembly("a")
        for i, y in enumerate(order):
            look = lb.shapes.Box((1, 0.1, 1), colour="red" if y else "green")
            a.attach(f"b{i}", lb.RigidBody(1.0), lb.Prismatic("x"), offset=(0, y, 0), shapes=look)
        made = lb.plotting.picture(a.build(), view="xz")
        made.canvas.draw() if made.canvas else None
        (facets,) = [c for c in made.axes[0].collections if len(c.get_facecolor()) >= 24]
        assert (
            facets.get_facecolor()[-1][0] > facets.get_facecolor()[-1][1]
        )  # the last one drawn is red
