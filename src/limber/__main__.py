"""`python -m limber`: the command line."""

from limber.cli import app

app(prog_name="limber")
