"""Writing a model to a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly import Assembly, System
from limber.errors import FileError
from limber.io.bodies import body_data, npz_data
from limber.io.closures import closure_data
from limber.io.joints import joint_data
from limber.io.model import FORMAT
from limber.io.shape_section import shape_data
from limber.io.written import same
from limber.io.yaml_writer import emit
from limber.version import __version__
from limber.whole import replacing

HEAD = """\
# A model for Limber, {bodies}; written by limber {version}.
# Read it with limber.load("{file}"). SI units: m, kg, s, N, rad.
# Bodies in the order of attachment: each with its joint, and where the joint sits on its parent.
"""


def write_model(model: Assembly | System, path: Path, expand_beams: bool, arrays: str) -> None:
    """Write the model file, and the .npz next to it if arrays go there; each appears complete or not at all."""
    data = model_data(model, expand_beams, path.parent)
    store: dict[str, np.ndarray] = {}
    if arrays == "npz":
        _move_arrays(data["bodies"], path.with_suffix(".npz").name, store)
    text = model_text(data, path.name).encode()
    beside = path.with_suffix(".npz")
    if store and beside.exists() and not path.exists():
        raise FileError(
            f"{beside}: already exists, without {path.name}: it contains other arrays, which would be lost. Give the "
            "model another name.",
            str(beside),
        )
    try:
        with replacing(path) as stream:
            stream.write(text)
            if store:
                stream.flush()  # Nothing is left to fail for this file once the .npz is in its place.
                with replacing(beside) as arrays_file:
                    np.savez(arrays_file, **store)  # type: ignore[arg-type]
    except OSError as error:
        raise FileError(
            f"{path}: cannot be written: {error.strerror or error}.", str(path)
        ) from None


def model_text(data: dict[str, Any], name: str) -> str:
    """The text of a model file with this content and name."""
    count = len(data["bodies"])
    file = name if re.fullmatch(r"[\w. -]+", name) else "..."
    bodies = f"{count} {'body' if count == 1 else 'bodies'}"
    return HEAD.format(bodies=bodies, version=__version__, file=file) + "\n".join(emit(data)) + "\n"


def model_data(
    model: Assembly | System, expand_beams: bool = False, folder: Path = Path()
) -> dict[str, Any]:
    """The content of a model file in a folder.  The content for a system builds it again, at the same fidelity."""
    data: dict[str, Any] = {"limber": FORMAT, "name": model.name}
    if not same(model.gravity, np.zeros(3)):
        data["gravity"] = model.gravity
    if model.fidelity != "full":
        data["fidelity"] = model.fidelity
    data["bodies"] = {}
    for name, item in model.attachments.items():
        entry = body_data(item.body, expand_beams)
        entry["joint"] = joint_data(item.joint)
        if item.joint_names:
            names = list(item.joint_names)
            entry["joint_name"] = names[0] if len(names) == 1 else names
        if item.to != "world":
            entry["to"] = item.to
        if item.at is not None:
            entry["at"] = _node(model.attachments[item.to].body, item.at)
        if not same(item.offset, np.zeros(3)):
            entry["offset"] = item.offset
        if not same(item.rotation, np.eye(3)):
            entry["rotation"] = item.rotation
        if item.inboard is not None:
            entry["inboard"] = _node(item.body, item.inboard)
        if item.shapes:
            entry["shapes"] = [shape_data(shape, folder) for shape in item.shapes]
        data["bodies"][name] = entry
    if model.closures:
        data["closures"] = [closure_data(c, model.attachments) for c in model.closures.values()]
    return data


def _node(body: Any, number: int) -> str:
    return body.node_set.names[number]


def _move_arrays(bodies: dict[str, Any], file: str, store: dict[str, np.ndarray]) -> None:
    """Move the arrays of bodies with mode shapes from the content of the file to `store`."""
    for i, (name, entry) in enumerate(bodies.items()):
        found = npz_data(entry)
        if found is None:
            continue
        kind, arrays = found
        group = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f"body {i}"
        while f"{group}/stiffness" in store:
            group += "'"
        store |= {f"{group}/{key}": values for key, values in arrays.items()}
        entry[kind] = {"file": file, "group": group}
        entry.pop("recovery", None)
