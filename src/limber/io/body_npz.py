"""Flexible bodies in .npz files, bit for bit."""

from __future__ import annotations

from os import PathLike

import numpy as np

from limber.bodies import FlexibleBody
from limber.checks import shown
from limber.errors import ArgumentTypeError
from limber.io.bodies import ModalSection, NodesSection, body_data, body_of_arrays, npz_data
from limber.io.document import Document
from limber.io.files import file_path
from limber.io.npz import from_npz
from limber.whole import replacing


def read_body(path: str | PathLike) -> FlexibleBody:
    """Read a flexible body from a file written by `write_body`.

    path : the path of the .npz file.
    """
    file = file_path(path)
    where = Document(file, text="{}").root
    arrays = from_npz(where, file.name, None, None)
    kind = ModalSection if "nodes/names" in arrays else NodesSection
    return body_of_arrays(kind, arrays, where)


def write_body(body: FlexibleBody, path: str | PathLike) -> str:
    """Write a flexible body to an .npz file; `read_body` and model files restore it bit for bit.

    body : the body.  A beam is written as its numbers.
    path : the path of the .npz file; an existing file is replaced as a whole.

    Returns the key under which a model file names the body: `modal`, as in `modal: {file: body.npz}`, or `nodes` for a
    body made by `FlexibleBody.from_nodes`.
    """
    if getattr(body, "kind", None) != FlexibleBody.kind:
        raise ArgumentTypeError(f"body must be a FlexibleBody, got {shown(body)}.")
    found = npz_data(body_data(body, expand=True))
    assert found is not None
    kind, arrays = found
    with replacing(file_path(path)) as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return kind
