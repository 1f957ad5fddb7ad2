"""Changes of topology in result files: each one as JSON, with the closures that it made known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.simulation.topology import TopologyChange

#: What is written of a change as it is: numbers, text, and arrays as lists.
PLAIN = ("t", "kind", "name", "event", "energy")
ARRAYS = ("q", "v", "q_after", "v_after")


def changes_text(system: System, changes: Sequence[TopologyChange], first: int = 0) -> list[str]:
    """The changes of a result that started with a system, as JSON: one text for each, from number `first` on.

    closures : the names of those that are active after it.
    new : those of them that were not active before it, in the form of model files.
    """
    from limber.io.closures import closure_data  # noqa: PLC0415

    texts, before = [], changes[first - 1].system if first else system
    for change in changes[first:]:
        active = change.system.closures
        new = [
            closure_data(c, system.attachments)
            for name, c in active.items()
            if before.closures.get(name) is not c
        ]
        data: dict[str, Any] = {name: getattr(change, name) for name in PLAIN}
        data |= {name: getattr(change, name).tolist() for name in ARRAYS}
        data["wrenches"] = {name: np.asarray(x).tolist() for name, x in change.wrenches.items()}
        data |= {"closures": list(active), "new": new}
        texts.append(json.dumps(data, default=lambda x: x.tolist()))
        before = change.system
    return texts


def changes_read(system: System, texts: Iterable[str], path: Path) -> tuple[TopologyChange, ...]:
    """The changes of a result file, which started with a system."""
    from limber.io.closures import ClosureSection  # noqa: PLC0415
    from limber.io.document import Document  # noqa: PLC0415
    from limber.io.section import validated  # noqa: PLC0415

    root = Document(path, "{}").root
    found: list[TopologyChange] = []
    before = system
    for text in texts:
        data = json.loads(text)
        known = dict(before.closures)
        for new in data["new"]:
            closure = validated(ClosureSection, new, root).build(system.attachments, root)
            known[closure.name] = closure
        closed = before
        if data["new"] or data["closures"] != list(before.closures):
            closed = system.closed_by([known[name] for name in data["closures"]])
        given: dict[str, Any] = {name: np.array(data[name]) for name in ARRAYS}
        given |= {name: data[name] for name in PLAIN}
        wrenches = {name: np.array(x) for name, x in data["wrenches"].items()}
        found.append(TopologyChange(system=closed, wrenches=wrenches, **given))
        before = closed
    return tuple(found)
