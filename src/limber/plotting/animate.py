"""`animate`: a result as a moving picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from limber.checks import Array, number
from limber.drawing.colours import colour
from limber.drawing.geometry import result_geometry
from limber.errors import ArgumentValueError
from limber.plotting.results import pictured
from limber.plotting.stage import joint_points, line_width, mass_centre, mass_markers, stage
from limber.plotting.style import new_figure, plain, style, target
from limber.simulation.result import Result
from limber.whole import replacing

#: More frames than this are a mistake.
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
    """Write a GIF of the moving, bending system, and return its path.

    Parameters
    ----------
    result : a Result with at least two rows; states between them are interpolated.
    path : the file, .gif.
    scale : of the deformation; 1 is true.
    fps : frames per second, at most 50; the nearest that a GIF can have is taken (whole hundredths of a
        second a frame).
    speed : of the picture against real time: 0.5 takes twice as long as the motion.
    view : "auto" (the world plane in which it moves, or space), "xy", "xz", "yz" or "3d".
    width : inches, times `dpi` pixels.
    dpi : pixels per inch.
    title : above the picture; the name of the system unless given.
    """
    file = target(path, ("gif",))
    result = pictured("animate", result, 2, "nothing moves in fewer than two rows")
    times, hundredths = frame_times(result.t[0], result.t[-1], fps, speed)
    rows = result.resample(times)
    frames = _frames(rows, number("scale", scale), view, width, dpi, title)
    first, *others = frames
    with replacing(file) as stream:
        first.save(
            stream, "GIF", save_all=True, append_images=others, duration=10 * hundredths, loop=0,
            disposal=1,
        )  # fmt: skip
    return file


def frame_times(start: float, end: float, fps: float, speed: float) -> tuple[Array, int]:
    """The times of the frames, and how long each is shown, in hundredths of a second."""
    fps, speed = number("fps", fps, above=0.0), number("speed", speed, above=0.0)
    if fps > 50.0:
        raise ArgumentValueError(f"fps must be at most 50 in a GIF, got {fps:g}.")
    hundredths = max(2, round(100.0 / fps))
    step = 0.01 * hundredths * speed
    count = int(np.floor((end - start) / step * (1.0 + 1e-12))) + 1
    if count > FRAMES:
        raise ArgumentValueError(
            f"{count} frames are too many (at most {FRAMES}): lower fps={fps:g}, raise speed={speed:g}, or take a "
            "slice of the result."
        )
    return np.minimum(start + step * np.arange(count), end), hundredths


def _frames(
    rows: Result, scale: float, view: str, width: float, dpi: float, title: str
) -> list[Any]:
    from PIL import Image  # noqa: PLC0415

    s = rows.system
    drawn = result_geometry(rows, scale)
    segments = {b: drawn.segments(b) for b in s.layout}
    ties, pins = drawn.closure_lines(), drawn.closure_points()
    parts = (*segments.values(), *drawn.points.values(), *drawn.ribs.values(), pins)
    everything = np.concatenate([x.reshape(-1, 3) for x in parts])
    scene = stage(everything[np.isfinite(everything[:, 0])], view)
    across, up = np.diff(scene.limits, axis=1).ravel()
    around = 0.7 if scene.flat else 0.3  # labels and title
    height = float(np.clip((width - around) * up / across, 0.35 * width, 1.1 * width)) + around
    moving = [b for b in s.layout if s.joints[b].dofs]
    joints = joint_points(drawn, moving) if moving else np.zeros((len(rows), 0, 3))
    sizes = mass_markers(s, drawn)
    centres = {b: mass_centre(drawn, b)[:, None] for b in sizes}
    with style(font_size=9.0, xtick_labelsize=8.0, ytick_labelsize=8.0, axes_labelsize=9.0):
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.colors import to_rgb  # noqa: PLC0415

        figure = new_figure(width, height)
        figure.set_dpi(number("dpi", dpi, above=0.0))
        canvas = FigureCanvasAgg(figure)
        axes = scene.open(figure)
        names = list(s.layout)
        colours = {b: to_rgb(colour(i)) for i, b in enumerate(names)}
        thin = {b: line_width(segments[b].shape[-3], drawn.skeletons[b]) for b in names}
        lines, bars = (
            {
                b: scene.lines(axes, of[b][0], colors=[colours[b]], linewidths=wide * thin[b])
                for b in names
            }
            for of, wide in ((segments, 3.0), (drawn.ribs, 1.2))
        )
        surfaces = {b: drawn.facets(b) for b in names if len(drawn.skeletons[b].triangles)}
        facets = {
            b: scene.facets(axes, x[0], np.array(colours[b]), linewidths=0.15, zorder=1.5)
            for b, x in surfaces.items()
        }
        dots = scene.dots(
            axes, joints[0], marker="o", color="0.25", markersize=5.0 if len(moving) <= 20 else 1.5
        )
        marked = {
            b: drawn.points[b][:, x.marks] for b, x in drawn.skeletons.items() if len(x.marks)
        }
        marks = {
            b: scene.dots(axes, x[0], marker="o", color=colours[b], markersize=4.0)
            for b, x in marked.items()
        }
        masses = {
            b: scene.dots(
                axes, centres[b][0], marker="s", color=colours[b], markersize=size, zorder=2.5,
                markeredgecolor="0.25", markeredgewidth=0.6,
            )
            for b, size in sizes.items()
        }  # fmt: skip
        tied = scene.lines(axes, ties[0], colors="0.25", linewidths=1.0, zorder=2.6)
        pinned = scene.dots(
            axes, pins[0], marker="D", color="0.25", markerfacecolor="w", markersize=4.5, zorder=2.7
        )
        what = plain(title or s.name) + ("" if scale == 1.0 else f", deformation × {scale:g}")
        clock = axes.set_title("", loc="left", fontsize=9)
        clock.set_text(what)
        canvas.draw()
        figure.set_layout_engine("none")  # laid out once, so that nothing jumps
        moving_parts = [
            *facets.values(),
            *bars.values(),
            *lines.values(),
            *marks.values(),
            *masses.values(),
        ]
        moving_parts += [dots, tied, pinned, clock]
        for part in moving_parts:
            part.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(figure.bbox)
        images: list[Any] = []
        for k, t in enumerate(rows.t):
            for b in names:
                scene.move(lines[b], segments[b][k])
                scene.move(bars[b], drawn.ribs[b][k])
            for b, x in surfaces.items():
                scene.move_facets(facets[b], x[k], np.array(colours[b]))
            scene.move_dots(dots, joints[k])
            for b, drawn_marks in marks.items():
                scene.move_dots(drawn_marks, marked[b][k])
            for b, drawn_mass in masses.items():
                scene.move_dots(drawn_mass, centres[b][k])
            scene.move(tied, ties[k])
            scene.move_dots(pinned, pins[k])
            clock.set_text(f"{what}   t = {t:.2f} s")
            canvas.restore_region(still)
            for part in moving_parts:
                axes.draw_artist(part)
            picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            images.append(_few_colours(picture, images[0] if images else None))
    return images


def _few_colours(picture: Any, first: Any) -> Any:
    """A picture in the palette of the first one, or in one of its own whose background is white."""
    from PIL import Image  # noqa: PLC0415

    method, none = Image.Quantize.FASTOCTREE, Image.Dither.NONE
    if first is not None:
        return picture.quantize(64, method, palette=first, dither=none)
    made = picture.quantize(64, method, dither=none)
    colours = made.getpalette()
    background = made.getpixel((0, 0))
    colours[3 * background : 3 * background + 3] = [255, 255, 255]
    made.putpalette(colours)
    return made
