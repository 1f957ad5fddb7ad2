"""The command line in this process, and as a program of its own."""

import json
import subprocess
import sys

from typer.testing import CliRunner

from limber.cli import app


def limber(*arguments, code=0):
    """Run a command in this process; its exit code must be `code`, and no traceback may show."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    assert "Traceback" not in done.output
    return done


def limber_json(*arguments, code=0):
    """What a command with --json says."""
    return json.loads(limber(*arguments, "--json", code=code).stdout)


def program(*arguments):
    """Run the command line as a program."""
    command = [sys.executable, "-m", "limber", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
