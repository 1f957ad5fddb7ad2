"""Tables of many quick cases, which one test runs through, and sweeps of which most is slow."""

import inspect
from functools import wraps

import pytest


def for_each(names, table):
    """As `pytest.mark.parametrize`, but within one test: for thousands of cases pytest takes longer than they do.

    names : of the arguments, separated by commas
    table : {label: row}, or a list of rows that end in a message; a row is a tuple, or the value of the only argument

    A failure has a note with the label of its case.  Fixtures are those of all cases.
    """
    names = [name.strip() for name in names.split(",")]
    if not isinstance(table, dict):
        table = {f"{i}: {row[-1]}": row for i, row in enumerate(table)}
    rows = {
        label: dict(zip(names, row if len(names) > 1 else (row,), strict=True))
        for label, row in table.items()
    }

    def decorate(test):
        @wraps(test)
        def loop(**fixtures):
            for label, row in rows.items():
                try:
                    test(**fixtures, **row)
                except BaseException as error:
                    error.add_note(f"in the case {label!r} of {', '.join(names)}")
                    raise

        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name not in names]
        loop.__signature__ = signature.replace(parameters=others)
        return loop

    return decorate


def few_of(count, few):
    """The numbers below `count`, for `parametrize`; those from `few` on have the marker `slow`."""
    return [i if i < few else pytest.param(i, marks=pytest.mark.slow) for i in range(count)]
