"""The sliders of joints and modes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from limber.viewer.live.coordinates import Coordinate, coordinates

if TYPE_CHECKING:
    from limber.viewer.live.view import View

#: Folders of more bodies than this are closed at first.
OPEN = 4


class Configuration:
    """A folder with one folder per body."""

    def __init__(self, view: View, unfolded: bool):
        self.view = view
        self._sliders: list[tuple[Any, Coordinate]] = []
        found = coordinates(view.system, view.scene.size)
        gui, q = view.server.gui, view.q
        with gui.add_folder("Joints and modes", expand_by_default=unfolded):
            for body, listed in found.items():
                with gui.add_folder(body, expand_by_default=len(found) <= OPEN):
                    for coordinate in listed:
                        self._add(body, coordinate, coordinate.get(q))

    def _add(self, body: str, coordinate: Coordinate, value: float) -> None:
        low, high = outward(min(coordinate.low, value), max(coordinate.high, value))
        step = 10.0 ** math.floor(math.log10((high - low) / 500.0))
        slider = self.view.server.gui.add_slider(coordinate.label, low, high, step, value)

        def moved(event: Any) -> None:
            if event.client is None:  # `sync` has moved it
                return
            self.view.stop()
            self.view.change(lambda q: coordinate.put(q, slider.value), body)

        slider.on_update(moved)
        self._sliders.append((slider, coordinate))

    def sync(self) -> None:
        """Set the sliders to the configuration shown."""
        q = self.view.q
        for slider, coordinate in self._sliders:
            value = min(max(coordinate.get(q), slider.min), slider.max)
            if abs(value - slider.value) > 1e-9 * (slider.max - slider.min):
                slider.value = value


def outward(low: float, high: float) -> tuple[float, float]:
    """A range that contains another and has rounded ends."""
    unit = 10.0 ** math.floor(math.log10(max(abs(low), abs(high)) / 20.0))
    digits = max(0, -round(math.log10(unit)))
    return (
        round(math.floor(low / unit + 1e-9) * unit, digits),
        round(math.ceil(high / unit - 1e-9) * unit, digits),
    )
