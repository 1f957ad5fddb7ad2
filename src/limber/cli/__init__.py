"""The command line, `limber`: one file a command."""

from limber.cli.app import app

__all__ = ["app"]
