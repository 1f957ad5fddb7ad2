"""The command line in this process, and as a program of its own."""

import json
import subprocess
import sys
from contextlib import contextmanager

from typer.testing import CliRunner

from limber.cli import app


def limber(*arguments, code=0):
    """Run a command in this process; its exit code must be `code`, if given, and no traceback may show."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert code in (None, done.exit_code), (done.exit_code, done.output, done.exception)
    assert "Traceback" not in done.output
    return done


def limber_json(*arguments, code=0):
    """What a command with --json says."""
    return json.loads(limber(*arguments, "--json", code=code).stdout)


#: Python started by a shell in the background ignores Ctrl-C; here it shall not.
LISTENING = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = "limber"
runpy.run_module("limber", run_name="__main__")
"""


@contextmanager
def running(*arguments):
    """The command line as a program that runs beside the test, and does not outlive it."""
    command = [sys.executable, "-u", "-c", LISTENING, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def program(*arguments):
    """Run the command line as a program."""
    command = [sys.executable, "-m", "limber", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
