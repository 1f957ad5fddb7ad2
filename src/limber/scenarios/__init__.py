"""Scenario files: a model with its initial state, torques, forces, duration and outputs."""

from limber.scenarios.json_schema import schema
from limber.scenarios.scenario import Scenario, load_scenario

__all__ = ["Scenario", "load_scenario", "schema"]
