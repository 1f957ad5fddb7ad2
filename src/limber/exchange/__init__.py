"""Systems for other tools: functional mock-up units (FMI)."""

from limber.exchange.fmi import fmu

__all__ = ["fmu"]
