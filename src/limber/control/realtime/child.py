"""The plant process that `run` starts: it reads its task from standard input and writes the results."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from typing import Any

from limber.control.realtime.links import opened
from limber.errors import LimberError


def main() -> None:
    """Run the plant."""
    address, side = pickle.load(sys.stdin.buffer)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(
        sys.stderr.fileno(), sys.stdout.fileno()
    )  # what is printed must not get among the answer
    link = opened(address, "plant")
    answer: Any
    with warnings.catch_warnings(record=True) as told:
        try:
            answer = side.run(link)
        except LimberError as error:
            answer = None, error, []
        finally:
            link.close()
    try:
        answers.write(pickle.dumps((*answer, [(str(x.message), x.category) for x in told])))
        answers.close()
    except BrokenPipeError:
        said = f" {answer[1]}" if answer[1] else ""
        where = (
            ""
            if side.log is None
            else f" The log of the plant is {side.log}, if the folder still exists."
        )
        os.write(
            sys.stderr.fileno(),
            f"limber: the process that started this plant has ended, so the plant has stopped.{said}{where}\n".encode(),
        )
        os._exit(
            1
        )  # the rest of the answer could not be written at the end of the interpreter either


if __name__ == "__main__":
    main()
