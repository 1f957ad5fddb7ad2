"""`python -m limber.cli`."""

from limber.cli import app

app(prog_name="limber")
