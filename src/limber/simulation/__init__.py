"""Simulation: integrators, torques, events, results."""

from limber.simulation.batch_result import BatchResult
from limber.simulation.events import Event, Happened
from limber.simulation.result import Result
from limber.simulation.simulate import simulate
from limber.simulation.table import Table
from limber.simulation.topology import Interval, TopologyChange

__all__ = [
    "BatchResult",
    "Event",
    "Happened",
    "Interval",
    "Result",
    "Table",
    "TopologyChange",
    "simulate",
]
