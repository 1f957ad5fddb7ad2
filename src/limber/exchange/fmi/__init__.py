"""Functional mock-up units (FMI 2.0 and 3.0): a system as a file that other simulation tools import.

variables     names, units and start values
equations     the functions of the state, traced, with their derivatives, as C
c/            what is the same for all systems: the interface of FMI, the solver of co-simulation
description   modelDescription.xml
build         the binary, and the zip file
"""

from limber.exchange.fmi.export import fmu

__all__ = ["fmu"]
