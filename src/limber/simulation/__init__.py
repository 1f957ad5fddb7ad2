"""Simulation: integrators, torques, events, results."""

from limber.simulation.drive import Table
from limber.simulation.events import Event, Happened
from limber.simulation.result import Result
from limber.simulation.simulate import simulate

__all__ = ["Event", "Happened", "Result", "Table", "simulate"]
