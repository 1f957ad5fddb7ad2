"""Real time: loops that run at the pace of the clock, with plant and controller in two processes or programs.

    run = lb.control.realtime.run(loop, 10.0)
    print(run)

`plant` and `controller_side` describe what happens when samples or commands do not arrive; `wire` defines the format of
the packets, for plants and controllers that are other programs.
"""

from pathlib import Path

from limber.control.realtime.controller_side import ControllerSide
from limber.control.realtime.layout import Layout
from limber.control.realtime.links import opened
from limber.control.realtime.log import RunLog, read_log
from limber.control.realtime.pacing import Pacing
from limber.control.realtime.plant import PlantSide, Watch
from limber.control.realtime.report import RealTimeRun, Spread
from limber.control.realtime.run import paced_loop, plant_side, run
from limber.control.realtime.wire import WireError
from limber.control.realtime.worst_case import WorstCase, worst_case_time

#: The folder of wire.h, for C compilers.
INCLUDE = Path(__file__).parent

__all__ = [
    "INCLUDE",
    "ControllerSide",
    "Layout",
    "Pacing",
    "PlantSide",
    "RealTimeRun",
    "RunLog",
    "Spread",
    "Watch",
    "WireError",
    "WorstCase",
    "opened",
    "paced_loop",
    "plant_side",
    "read_log",
    "run",
    "worst_case_time",
]
