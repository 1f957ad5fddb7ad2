"""The process of a plant that `run` starts: it reads what to do from standard input and writes what came of it."""

from __future__ import annotations

import os
import pickle
import sys
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
    try:
        answer = side.run(link)
    except LimberError as error:
        answer = None, error, []
    finally:
        link.close()
    pickle.dump(answer, answers)
    answers.close()


if __name__ == "__main__":
    main()
