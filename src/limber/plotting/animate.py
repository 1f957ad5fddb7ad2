"""`animate`: a result as an animation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from limber.checks import Array, number
from limber.drawing.geometry import result_geometry
from limber.errors import ArgumentValueError
from limber.plotting.moving import Moving
from limber.plotting.results import pictured
from limber.plotting.style import plain, style, target
from limber.plotting.video import ffmpeg, write_gif, write_mp4
from limber.simulation.result import Result

#: More frames than this must be a mistake.
FRAMES = 3000


def animate(
    result: Result,
    path: Any,
    *,
    scale: float = 1.0,
    fps: float = 20.0,
    speed: float = 1.0,
    view: str = "auto",
    width: float = 4.8,
    dpi: float = 100.0,
    title: str = "",
) -> Path:
    """Write a GIF or an MP4 video of the moving, bending system, and return its path.

    Parameters
    ----------
    result : a Result with at least two rows; states between them are interpolated.
    path : the file, .gif, or .mp4, which needs the program ffmpeg: that of the machine, or of the package
        imageio-ffmpeg.
    scale : of the deformation; 1 is true.
    fps : frames per second, at most 50 in a GIF and 120 in an MP4; for a GIF, the nearest possible value is used (a
        frame lasts whole hundredths of a second).
    speed : relative to real time: 0.5 takes twice as long as the motion.
    view : "auto" (the world plane of the motion, or space), "xy", "xz", "yz" or "3d".
    width : inches; the image has width times `dpi` pixels.
    dpi : pixels per inch.
    title : above the picture; by default the name of the system.
    """
    file = target(path, ("gif", "mp4"))
    result = pictured("animate", result, 2, "nothing moves in fewer than two rows")
    film = file.suffix.lower() == ".mp4"
    if film:
        ffmpeg()  # rejected before the work begins
        times = film_times(result.t[0], result.t[-1], fps, speed)
    else:
        times, hundredths = frame_times(result.t[0], result.t[-1], fps, speed)
    rows = result.resample(times)
    frames = _frames(rows, number("scale", scale), view, width, dpi, title)
    if film:
        write_mp4(frames, file, fps)
    else:
        write_gif(frames, file, hundredths)
    return file


def frame_times(start: float, end: float, fps: float, speed: float) -> tuple[Array, int]:
    """The times of the frames of a GIF, and the duration of each, in hundredths of a second."""
    rate = number("fps", fps, above=0.0)
    if rate > 50.0:
        raise ArgumentValueError(f"fps must be at most 50 in a GIF, got {rate:g}.")
    hundredths = max(2, round(100.0 / rate))
    return _times(start, end, 0.01 * hundredths, rate, speed), hundredths


def film_times(start: float, end: float, fps: float, speed: float) -> Array:
    """The times of the frames of a video."""
    rate = number("fps", fps, above=0.0)
    if rate > 120.0:
        raise ArgumentValueError(f"fps must be at most 120 in an MP4, got {rate:g}.")
    return _times(start, end, 1.0 / rate, rate, speed)


def _times(start: float, end: float, shown_for: float, fps: float, speed: float) -> Array:
    speed = number("speed", speed, above=0.0)
    step = shown_for * speed
    count = int(np.floor((end - start) / step * (1.0 + 1e-12))) + 1
    if count > FRAMES:
        raise ArgumentValueError(
            f"{count} frames are too many (at most {FRAMES}): lower fps={fps:g}, raise speed={speed:g}, or pass a slice "
            "of the result."
        )
    return np.minimum(start + step * np.arange(count), end)


def _frames(
    rows: Result, scale: float, view: str, width: float, dpi: float, title: str
) -> Iterator[Any]:
    """The pictures of the rows, one after another."""
    from PIL import Image  # noqa: PLC0415

    s = rows.system
    drawn = result_geometry(rows, scale)
    with style(font_size=9.0, xtick_labelsize=8.0, ytick_labelsize=8.0, axes_labelsize=9.0):
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415

        made = Moving(s, drawn, view, width)
        figure, axes = made.figure, made.axes
        figure.set_dpi(number("dpi", dpi, above=0.0))
        canvas = FigureCanvasAgg(figure)
        what = plain(title or s.name) + ("" if scale == 1.0 else f", deformation × {scale:g}")
        clock = axes.set_title("", loc="left", fontsize=9)
        clock.set_text(what)
        canvas.draw()
        figure.set_layout_engine("none")  # laid out once, so that nothing jumps
        parts = [*made.parts, clock]
        for part in parts:
            part.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(figure.bbox)
        for k, t in enumerate(rows.t):
            made.show(k)
            clock.set_text(f"{what}   t = {t:.2f} s")
            canvas.restore_region(still)
            for part in parts:
                axes.draw_artist(part)
            yield Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
