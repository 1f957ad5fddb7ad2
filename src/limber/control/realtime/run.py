"""`run`: plant and controller in two processes on this machine."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import array, number, shown
from limber.control.guard import STOP
from limber.control.loop import Loop
from limber.control.realtime import links
from limber.control.realtime.controller_side import ControllerSide
from limber.control.realtime.log import RunLog, read_log
from limber.control.realtime.pacing import Pacing
from limber.control.realtime.plant import PlantSide, Watch
from limber.control.realtime.replay import replayed
from limber.control.realtime.report import RealTimeRun
from limber.control.realtime.wire import WireError
from limber.dynamics.charts import sought
from limber.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    FileError,
    LimberError,
    warn,
)
from limber.native import c_compiler

#: Arguments of `lb.simulate` that are not allowed here.
_NOT_HERE = ("torque", "progress", "save", "t0")


def plant_side(
    loop: Loop,
    duration: float,
    *,
    safe: ArrayLike | None = None,
    watch: Watch | None = None,
    pacing: Pacing | None = None,
    paced: bool = True,
    log: str | PathLike | None = None,
    settings: Mapping[str, Any] | None = None,
) -> PlantSide:
    """The plant of a loop, for a separate process; arguments as in `run`."""
    if not isinstance(loop, Loop):
        raise ArgumentTypeError(f"loop must be an lb.control.Loop, got {shown(loop)}.")
    given = dict(settings or {})
    for name in _NOT_HERE:
        if name in given:
            raise ArgumentValueError(f"settings: {name} is not allowed in a real-time run.")
    if "engine" not in given:
        generated = _has_compiler() and not sought(loop.system)
        given["engine"] = "generated" if generated else "general"
    stop = None
    if safe is not None:
        width = len(loop.channels) if loop.actuators else loop.system.nv
        stop = array("safe", safe, (width,), "One number for each number of a command.")
    return PlantSide(
        loop.system, loop.sample_time, loop.sensors, loop.actuators, loop.delay, loop.seed,
        number("duration", duration, above=0.0), given, watch or Watch(), pacing or Pacing(), stop, paced,
        None if log is None else str(log), loop.initial,
    )  # fmt: skip


def run(
    loop: Loop,
    duration: float,
    *,
    link: str = "udp",
    log: str | PathLike | None = None,
    safe: ArrayLike | None = None,
    watch: Watch | None = None,
    pacing: Pacing | None = None,
    paced: bool = True,
    **settings: Any,
) -> RealTimeRun:
    """Run a loop in real time: the plant is simulated in a separate process, and the controller runs in this one.

    Parameters
    ----------
    loop : as for `lb.simulate`. A command takes effect at the sample after the one that it answers, so a shorter delay
        of the loop becomes one sample. The controller is prepared for it.
    duration : s.
    link : "udp" or "shm": sockets or shared memory.
    log : a folder for plant.log and controller.log (`read_log`), which replace those of an earlier run; without it they
        are kept only during the run.
    safe : the command of the plant's own safe stop; zero by default.
    watch, pacing : see `Watch` and `Pacing`.
    paced : False to advance as soon as each command arrives, regardless of the clock; the plant then moves as in
        `lb.simulate`, to the last bit.
    settings : of `lb.simulate`, such as q0, v0, external, every, method, step. With engine="generated", the default if
        there is a C compiler, generated code steps the plant.
    """
    side = plant_side(
        loop, duration, safe=safe, watch=watch, pacing=pacing, paced=paced, settings=settings
    )
    with tempfile.TemporaryDirectory(prefix="limber-") as scratch:
        folder = Path(scratch if log is None else log)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("plant", "controller"):  # those of an earlier run
            (folder / f"{name}.log").unlink(missing_ok=True)
        side.log = str(folder / "plant.log")
        controller = ControllerSide(
            paced_loop(loop) if paced else loop,
            side.watch,
            side.pacing,
            str(folder / "controller.log"),
            duration,
        )
        return _both(side, controller, links.free_address(link), folder)


def paced_loop(loop: Loop) -> Loop:
    """The loop with the delay that it has in real time, of one sample at least, for controllers that count with it."""
    if loop.delay >= loop.sample_time:
        return loop
    return Loop(
        loop.system, loop.controller, sensors=loop.sensors, actuators=loop.actuators,
        delay=loop.sample_time, seed=loop.seed, initial=loop.initial,
    )  # fmt: skip


def _both(side: PlantSide, controller: ControllerSide, address: str, folder: Path) -> RealTimeRun:
    """Run the plant in a new process and the controller in this one."""
    load, stolen = _load(), _stolen()
    try:
        text = pickle.dumps((address, side))
    except Exception as error:
        raise ArgumentTypeError(
            f"the plant cannot be sent to another process: {error}. pickle must be able to store its sensors, actuators "
            "and settings: they must not contain functions that are defined in a script or notebook."
        ) from error
    command = [sys.executable, "-m", "limber.control.realtime.child"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as child:  # fmt: skip
        assert child.stdin is not None
        end = links.opened(address, "controller")
        try:
            child.stdin.write(text)
            child.stdin.close()
            child.stdin = None
            message, notes = controller.run(end, lambda: child.poll() is None)
        except WireError:  # the plant may know more
            _end(child)
            answer = child.communicate()[0]
            if answer and isinstance(_answer(answer, 0)[1], LimberError):
                raise _answer(answer, 0)[1] from None
            raise
        except BaseException:
            _end(child)
            raise
        finally:
            end.close()
        answer = child.communicate()[0]
    result, failure, more, told = _answer(answer, child.returncode)
    for warning, category in told:
        warn(warning, category)
    if isinstance(failure, LimberError):
        raise failure
    logs = {name: _log(folder / f"{name}.log") for name in ("plant", "controller")}
    if not answer:  # it was killed, and could not answer
        result = replayed(side, logs["plant"], failure)
    stops = [_stop(name, log) for name, log in logs.items()]
    return RealTimeRun(
        logs["plant"], logs["controller"], result, " ".join(x for x in (message, failure, *stops) if x),
        (*notes, *more, *_delay_note(side)), side.sample_time, controller.lost, controller.skipped,
        controller.damaged, (load, _load()), _stolen() - stolen,
    )  # fmt: skip


def _stop(side: str, log: RunLog | None) -> str:
    """When a side stopped safely, in a sentence; empty if it did not."""
    stopped = np.empty(0) if log is None else log.t[log["state"] == STOP]
    return f"Safe stop of the {side} at t = {stopped[0]:.6g} s." if len(stopped) else ""


def _end(child: subprocess.Popen) -> None:
    """Give a plant that was told to stop the time to do so."""
    try:
        child.wait(timeout=5.0)
    except subprocess.TimeoutExpired:
        child.kill()


def _answer(answer: bytes, code: int | None) -> tuple[Any, Any, list[str], list[tuple[str, type]]]:
    """The answer of the plant process: result, failure, notes, warnings with their categories."""
    if not answer:
        return None, f"the process of the plant has ended with code {code}.", [], []
    return pickle.loads(answer)


def _delay_note(side: PlantSide) -> list[str]:
    if not side.paced or side.delay >= side.sample_time:
        return []
    return [
        f"delay: in a real-time run a command takes effect one sample period after its sample, {1e3 * side.sample_time:g} "
        f"ms, whereas the loop has a delay of {1e3 * side.delay:g} ms. lb.control.margins(..., delay={side.sample_time:g}) "
        "tells whether a loop with constant gains is stable with it."
    ]


def _log(path: Path) -> RunLog | None:
    try:
        return read_log(path)
    except FileError:
        return None


def _has_compiler() -> bool:
    try:
        c_compiler.compiler()
    except CompileError:
        return False
    return True


def _load() -> float:
    """The number of processes that ran or were ready to run, averaged over the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else np.nan


def _stolen() -> float:
    """The time that a hypervisor has taken from the cores of this machine, s; nan if unknown."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return np.nan
