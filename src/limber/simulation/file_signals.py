"""The signals of controllers in result files of either format.

In HDF5 files each signal has two datasets, `signal0.t` and `signal0.y`, and the attribute `signals` has names, labels
and units.  The file of a run in progress has blocks, each with some samples of one signal: a line of JSON, then rows
[t, y].
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import numpy as np

from limber.checks import Array
from limber.simulation.samples import Samples


def signal_arrays(signals: Mapping[str, Samples]) -> dict[str, Array]:
    """The arrays of signals by the names of their datasets."""
    arrays = {}
    for i, samples in enumerate(signals.values()):
        arrays[f"signal{i}.t"], arrays[f"signal{i}.y"] = samples.t, samples.y
    return arrays


def signals_text(signals: Mapping[str, Samples]) -> str:
    """What signals are, in order, as JSON."""
    return json.dumps([_about(name, samples) for name, samples in signals.items()])


def signals_read(text: str, arrays: Mapping[str, Array]) -> dict[str, Samples]:
    """The signals of an HDF5 file."""
    found = {}
    for i, about in enumerate(json.loads(text)):
        t, y = (np.array(arrays[f"signal{i}.{part}"][...], dtype=float) for part in "ty")
        found[about["name"]] = Samples(t, y, tuple(about["labels"]), about["unit"])
    return found


def new_blocks(
    signals: Mapping[str, Samples], written: dict[str, int]
) -> Iterator[tuple[str, int, bytes]]:
    """The samples that are not yet written, as (name, samples after them, content of the block)."""
    for name, samples in signals.items():
        first = written.get(name, 0)
        if first == len(samples) and name in written:
            continue
        rows = np.column_stack([samples.t[first:], samples.y[first:]])
        head = json.dumps(_about(name, samples)).encode() + b"\n"
        yield name, len(samples), head + np.ascontiguousarray(rows, dtype="<f8").tobytes()


def add_block(content: bytes, signals: dict[str, Samples]) -> None:
    """Add the samples of a block to the signals read so far."""
    head, _, data = content.partition(b"\n")
    about = json.loads(head)
    labels = tuple(about["labels"])
    rows = np.frombuffer(data, dtype="<f8").reshape(-1, 1 + len(labels))
    t, y = rows[:, 0].astype(float), rows[:, 1:].astype(float)
    before = signals.get(about["name"])
    if before is not None:
        t, y = np.concatenate([before.t, t]), np.concatenate([before.y, y])
    signals[about["name"]] = Samples(t, y, labels, about["unit"])


def _about(name: str, samples: Samples) -> dict:
    return {"name": name, "labels": list(samples.labels), "unit": samples.unit}
