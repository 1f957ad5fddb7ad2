"""The version of Limber."""

__version__ = "0.1.0"
