"""`limber demo`."""

from __future__ import annotations


def demo() -> None:
    """Build the flexible Canadarm of Mohan & Saha, evaluate its dynamics and print what comes out."""
    from limber import demo as canadarm  # noqa: PLC0415 (keeps `limber --help` quick)

    canadarm.run()
