"""Texts of figures have room: they do not overlap, and none leaves the figure."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import limber as lb
from helpers.pictured import block, craft, satellite, yoke
from limber.plotting.text import fitted, text_width, wrapped

LONG = "solar array drive assembly segment number {}"


def long_names(bodies=3):
    a = lb.Assembly("long")
    for i in range(bodies):
        place = (LONG.format(i), "tip") if i else ()
        link = lb.beam(1.0, 2.0, EI=4e3, modes=2, elements=2)
        a.attach(LONG.format(i + 1), link, lb.Revolute([0, 1, 0]), *place)
    s = a.build()
    t = np.linspace(0.0, 1.0, 5)
    v = 1e-4 * np.sin(np.outer(t, np.arange(1.0, s.nv + 1)))
    v[:, s.layout[LONG.format(2)].v_modes] = 0.0
    return lb.Result(s, t, v, v, v)


def check_room(figure):
    canvas = FigureCanvasAgg(figure)
    with lb.plotting.style():
        canvas.draw()
    renderer = canvas.get_renderer()
    texts = [figure._suptitle] if figure._suptitle is not None else []
    for axes in figure.axes:
        # what the axes show, without the tick labels that they hide
        texts += [axes.title, axes._left_title, *axes.texts]
        if axes.axison:
            texts += [axes.xaxis.label, axes.yaxis.label]
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                shown = [
                    tick.label1
                    for tick in axis.get_major_ticks()
                    if tick.label1.get_visible() and low <= tick.get_loc() <= high
                ]
                texts += shown
        legend = axes.get_legend()
        if legend is not None:
            texts += [*legend.get_texts(), legend.get_title()]
    boxes = [
        (text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text()
    ]
    width, height = canvas.get_width_height()
    for text, box in boxes:
        assert box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1, text
    for (one, a), (two, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        up = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1.0 or up < 1.0, (one, two)
    sizes = [axes.get_window_extent(renderer) for axes in figure.axes]
    assert min(min(box.width, box.height) for box in sizes) > 0.3 * figure.dpi


@pytest.mark.parametrize("columns, width", [(1, 3.5), (3, 7.2)])
def test_plots_with_long_names_and_many_panels(columns, width):
    r = long_names()
    title = "A title that is quite a lot longer than the figure is wide, " * columns
    check_room(
        r.plot(["joints", "modes", "accelerations"], columns=columns, width=width, title=title)
    )


def test_plots_of_everything():
    what = ["joints", "accelerations", "modes", "deflection"]
    check_room(craft().plot(what, columns=2, width=7.2))


def panels():
    return satellite(lb.Fixed(), 0.01)


@pytest.mark.parametrize("make, columns", [(block, 1), (yoke, 3), (panels, 2)])
def test_mode_shapes(make, columns):
    s = make()
    check_room(
        lb.plotting.mode_shapes(s, count=6, columns=columns, width=3.5 * columns**0.5, title=s.name)
    )


def test_titles_of_modes_have_room_above_narrow_pictures():
    """In a spacecraft seen in space, the picture is narrower than its place, and the title is not."""
    system = lb.models.spacecraft(modes=3).build()
    check_room(lb.plotting.mode_shapes(system, count=12, columns=3, width=7.2))


def test_texts_are_shortened_in_their_middle_and_wrapped_at_spaces():
    text = LONG.format(17)
    short = fitted(text, 1.2, 7.0)
    assert text_width(short, 7.0) <= 1.2 < text_width(text, 7.0)
    assert short.startswith("solar ") and short.endswith(" 17") and "…" in short
    assert fitted("short", 1.2, 7.0) == "short"
    lines = wrapped(text, 1.2, 7.0).split("\n")
    assert len(lines) > 2 and " ".join(lines) == text
    assert max(text_width(line, 7.0) for line in lines) <= 1.2
