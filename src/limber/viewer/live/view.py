"""`view`: a system, or a result, live in a browser."""

from __future__ import annotations

import io
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import redirect_stdout
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly import Assembly
from limber.assembly.system import System
from limber.checks import Array, flag, number, shown, whole
from limber.constraints import assemble
from limber.dynamics.evaluate import vectors
from limber.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LimberError,
    MissingExtraError,
    collected_warnings,
)
from limber.simulation.result import Result
from limber.viewer.live.configuration import Configuration
from limber.viewer.live.loads import Loads
from limber.viewer.live.natural import NaturalModes
from limber.viewer.live.playback import Playback
from limber.viewer.live.scene import LiveScene

#: Pictures a second, at most.
RATE = 60.0
#: The height of the frame in a notebook, pixels.
HEIGHT = 560
#: Moves the configuration on by so many seconds of wall time; False ends it.
Activity = Callable[[float], bool]


class View:
    """A live view, made by `view`.

    `url` is its address. `show(q)` moves the system. `close()` ends the view, and so does the end of a `with` block;
    `wait()` blocks until Ctrl-C. In a notebook, the object displays the view itself.
    """

    def __init__(
        self, system: System, q: Array, result: Result | None, host: str, port: int, scale: float
    ):
        viser = _viser()
        self.system, self.result = system, result
        self._start = q.copy()
        self._q, self._scale = q.copy(), scale
        self._lock = threading.RLock()
        self._activity: Activity | None = None
        self._ended = threading.Event()
        with _quiet():
            self.server = viser.ViserServer(host=host, port=port, label=system.name, verbose=False)
        try:
            self._scene = LiveScene(self.server, system)
            self._make_controls()
            self._draw()
        except BaseException:
            with _quiet():
                self.server.stop()
            raise
        shown_host = "localhost" if host in ("0.0.0.0", "127.0.0.1") else host
        self.url = f"http://{shown_host}:{self.server.get_port()}"
        self._worker = threading.Thread(target=self._work, name="limber view", daemon=True)
        self._worker.start()

    def _make_controls(self) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        flexible = any(body.modes for body in self.system.bodies.values())
        gui.add_markdown(f"**{self.system.name}**: {len(self.system.bodies)} bodies")
        self._status = gui.add_markdown("")
        reset = gui.add_button("Reset")
        reset.on_click(lambda _: self.reset())
        if flexible:
            most = max(20.0, 2.0 * self._scale)
            scale = gui.add_slider("Deformation ×", 0.0, most, 0.1, float(self._scale))
            scale.on_update(lambda _: self._set_scale(scale.value))
        self._playback = None if self.result is None else Playback(self, self.result)
        self._configuration = Configuration(self, self.result is None)
        self._natural = NaturalModes(self)
        self._loads = Loads(self)

    # --- for users -------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """The configuration shown, (nq,)."""
        with self._lock:
            return self._q.copy()

    @property
    def closed(self) -> bool:
        """Whether the view has ended."""
        return self._ended.is_set()

    def show(self, q: ArrayLike) -> None:
        """Show a configuration (nq,), and stop any motion."""
        batch, (states,) = vectors(self.system, q=(q, self.system.nq))
        if batch:
            raise ArgumentValueError(
                f"q must be one configuration ({self.system.nq},), got a batch of shape {batch}."
            )
        self.stop()
        self.put(states[0])
        self.sync()

    def reset(self) -> None:
        """Return to the initial configuration, and stop any motion."""
        self.stop()
        self._loads.let_go()
        self.say("")
        self.put(self._start)
        self.sync()

    def wait(self) -> None:
        """Block until Ctrl-C, which closes the view, or until another thread closes it."""
        try:
            while not self._ended.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the view; its address no longer responds."""
        if self._ended.is_set():
            return
        self._ended.set()
        if threading.current_thread() is not self._worker:
            self._worker.join(5.0)
        with _quiet():
            self.server.stop()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"at {self.url}"
        return f"View({self.system.name!r}, {state})"

    def _repr_html_(self) -> str:
        """The view in a notebook."""
        return f'<iframe src="{self.url}" width="100%" height="{HEIGHT}" frameborder="0"></iframe>'

    # --- for controls ----------------------------------------------------------------------------

    @property
    def scene(self) -> LiveScene:
        """The bodies on the server."""
        return self._scene

    @property
    def scale(self) -> float:
        """The scale of the deformation."""
        return self._scale

    def put(self, q: Array) -> None:
        """Show a configuration."""
        with self._lock:
            self._q = q.copy()
            self._draw()

    def change(self, change: Callable[[Array], None], body: str) -> None:
        """Change the configuration by a slider of a body; closed systems are assembled again."""
        with self._lock:
            q = self._q.copy()
            change(q)
            if self.system.closures:
                try:
                    with collected_warnings():
                        q = assemble(self.system, q, locked=[body])
                except LimberError as error:
                    self.say(f"The loops do not close there: {error}")
                    return
            self.say("")
            self.put(q)

    def run(self, activity: Activity) -> None:
        """Start an activity that moves the system."""
        with self._lock:
            self._activity = activity

    def stop(self) -> None:
        """Stop any activity that moves the system."""
        with self._lock:
            self._activity = None

    @property
    def idle(self) -> bool:
        """Whether no activity moves the system."""
        return self._activity is None

    def sync(self) -> None:
        """Set the sliders to the configuration shown."""
        self._configuration.sync()

    def say(self, words: str) -> None:
        """Show a message below the name."""
        words = words if len(words) < 400 else f"{words[:400]} ..."
        if self._status.content != words:
            self._status.content = words

    def _set_scale(self, scale: float) -> None:
        with self._lock:
            self._scale = float(scale)
            self._draw()

    def _draw(self) -> None:
        self._scene.show(self._q, self._scale)

    def _work(self) -> None:
        """Move the system, RATE times per second, until the end."""
        last = time.perf_counter()
        while not self._ended.is_set():
            now = time.perf_counter()
            with self._lock:
                activity = self._activity
                if activity is not None:
                    self._step(activity, now - last)
            last = now
            spent = time.perf_counter() - now
            self._ended.wait(max(1.0 / RATE - spent, 0.001))

    def _step(self, activity: Activity, seconds: float) -> None:
        try:
            with collected_warnings():
                going = activity(min(seconds, 0.1))
        except LimberError as error:
            self.say(f"{type(error).__name__}: {error}")
            going = False
        if not going and self._activity is activity:
            self._activity = None
            self.sync()


def view(
    subject: System | Assembly | Result | str | PathLike,
    q: ArrayLike | None = None,
    *,
    port: int = 8080,
    host: str = "127.0.0.1",
    scale: float = 1.0,
    open_browser: bool = False,
) -> View:
    """Show a system or a result live in a browser, and return a handle. Needs the extra `view` (viser).

    The page has sliders for every joint and mode, animated natural modes, a load that you drag at a node, and, for a
    result, its motion with a time slider.

    Parameters
    ----------
    subject : a System, an Assembly, a Result, or the path of a model file (YAML, URDF, SDF, MJCF) or a result (.h5).
    q : the initial configuration (nq,); by default the neutral one, or the first of a result. For a closed system it is
        the initial guess for `lb.assemble`.
    port : of the address; the next free one if it is in use.
    host : "127.0.0.1" for browsers on this machine, "0.0.0.0" for all that can reach it.
    scale : the initial scale of the deformation; the page has a slider for it.
    open_browser : True to open the page in the browser on this machine.
    """
    system, result = _subject(subject)
    if not isinstance(host, str) or not host:
        raise ArgumentTypeError(f"host must be an address such as '127.0.0.1', got {shown(host)}.")
    start = system.neutral() if result is None else result.q[0]
    if q is not None:
        batch, (states,) = vectors(system, q=(q, system.nq))
        if batch:
            raise ArgumentValueError(
                f"q must be one configuration ({system.nq},), got a batch of shape {batch}."
            )
        start = states[0]
    if system.closures and result is None:
        start = assemble(system, start)
    port, scale = whole("port", port, 0), number("scale", scale, minimum=0.0)
    made = View(system, np.array(start), result, host, port, scale)
    if flag("open_browser", open_browser):
        webbrowser.open(made.url)
    return made


def _subject(given: Any) -> tuple[System, Result | None]:
    """The system to show, and the result if there is one."""
    if isinstance(given, (str, PathLike)):
        from limber.io import load  # noqa: PLC0415 (pydantic)

        given = Result.load(given) if Path(given).suffix.lower() == ".h5" else load(given)
    if isinstance(given, Result):
        if not len(given):
            raise ArgumentValueError("the result has no rows: there is nothing to show.")
        return given.system, given
    if isinstance(given, Assembly):
        given = given.build()
    if not isinstance(given, System):
        raise ArgumentTypeError(
            f"view takes a System, an Assembly, a Result or the path of a file, got {shown(given)}."
        )
    return given, None


def _quiet() -> redirect_stdout:
    """Suppress the messages of viser about its start and end within a `with` block."""
    return redirect_stdout(io.StringIO())


def _viser() -> Any:
    try:
        import viser  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError(
            "view needs viser, which is not installed: pip install 'limber-dynamics[view]'."
        ) from None
    return viser
