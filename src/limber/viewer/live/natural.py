"""Animated natural modes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.checks import Array
from limber.drawing.geometry import geometry
from limber.dynamics.kinematics import integrate
from limber.dynamics.modes import Modes, modes
from limber.errors import LimberError, collected_warnings
from limber.plotting.mode_shapes import displacement

if TYPE_CHECKING:
    from limber.viewer.live.view import View

#: At most this many modes are listed.
LISTED = 60
FIND = "press Find"


class NaturalModes:
    """A folder that computes the natural modes about the configuration shown, and plays one of them."""

    def __init__(self, view: View):
        self.view = view
        self._found: Modes | None = None
        self._about = view.q
        gui = view.server.gui
        with gui.add_folder("Natural modes", expand_by_default=False):
            self._held = gui.add_checkbox("Joints held", True)
            find = gui.add_button("Find")
            self._which = gui.add_dropdown("Mode", [FIND])
            self._amplitude = gui.add_slider("Amplitude", 0.0, 0.3, 0.005, 0.1)
            self._true = gui.add_checkbox("True frequency", False)
            self._period = gui.add_slider("Seconds per period", 0.2, 10.0, 0.1, 2.0)
            play = gui.add_button("Play mode")
            stop = gui.add_button("Stop")
        find.on_click(lambda _: self.find())
        play.on_click(lambda _: self.play())
        stop.on_click(lambda _: self.stop())
        self._which.on_update(self._chosen)

    def find(self) -> bool:
        """Compute the modes about the configuration shown; False if there are none."""
        view = self.view
        self.stop()
        held = list(view.system.layout) if self._held.value else []
        self._about = view.q
        try:
            with collected_warnings():
                self._found = modes(view.system, self._about, locked=held)
        except LimberError as error:
            self._found = None
            view.say(f"No modes: {error}")
            return False
        labels = [
            f"{i + 1}: {x:.4g} Hz, {what}"
            for i, (x, (what, _)) in enumerate(
                zip(self._found.frequencies[:LISTED], self._found.moves[:LISTED])
            )
        ]
        self._which.options = labels
        first = int(np.argmax(self._found.frequencies[: len(labels)] > 1e-6))
        self._which.value = labels[first]
        view.say(self._found.note)
        return True

    def _chosen(self, event: Any) -> None:
        if event.client is not None and self._found is not None and not self.view.idle:
            self.play()

    def play(self) -> None:
        """Animate the selected mode."""
        if self._found is None and not self.find():
            return
        found = self._found
        assert found is not None
        i = list(self._which.options).index(self._which.value)
        view, about = self.view, self._about
        still = geometry(view.system, about)
        swing = displacement(view.system, about, found.shapes[:, i], still)
        shape = swing.shape
        omega, phase = float(found.omega[i]), 0.0

        def step(seconds: float) -> bool:
            nonlocal phase
            rate = omega if self._true.value else 2.0 * math.pi / self._period.value
            phase += rate * seconds
            factor = swing.factor(self._amplitude.value) * math.sin(phase)
            view.put(_at(view, about, factor * shape))
            return True

        view.run(step)

    def stop(self) -> None:
        """Return to the configuration about which the mode oscillates."""
        if not self.view.idle:
            self.view.stop()
            self.view.put(self._about)
            self.view.sync()


def _at(view: View, q: Array, move: Array) -> Array:
    return integrate(view.system, q, move, 1.0)
