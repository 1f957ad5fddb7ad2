"""Simulation: integrators, torques, events, results."""

from limber.simulation.events import Event, Happened
from limber.simulation.result import Result
from limber.simulation.simulate import simulate
from limber.simulation.table import Table
from limber.simulation.topology import Interval, TopologyChange

__all__ = ["Event", "Happened", "Interval", "Result", "Table", "TopologyChange", "simulate"]
