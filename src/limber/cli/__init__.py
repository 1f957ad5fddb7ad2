"""The command line, `limber`: one file per command."""

from limber.cli.app import app

__all__ = ["app"]
