"""Flexible bodies in a file .npz, bit for bit."""

from __future__ import annotations

from os import PathLike

import numpy as np

from limber.bodies import FlexibleBody
from limber.checks import shown
from limber.errors import ArgumentTypeError
from limber.io.bodies import flattened, flexible_data
from limber.io.files import file_path
from limber.whole import replacing


def write_body(body: FlexibleBody, path: str | PathLike) -> str:
    """Write a flexible body to a file .npz; model files read it back bit for bit.

    body : what to write.  A beam is written as its numbers.
    path : of the file, .npz; one that exists is replaced, whole.

    Returns the key under which a model file names it: `modal`, as in `modal: {file: body.npz}`, or `nodes` for a body
    of `FlexibleBody.from_nodes`.
    """
    if not isinstance(body, FlexibleBody):
        raise ArgumentTypeError(f"body must be a FlexibleBody, got {shown(body)}.")
    ((kind, content),) = flexible_data(body, expand=True).items()
    file = file_path(path)
    with replacing(file) as stream:
        np.savez_compressed(stream, **flattened(content))  # type: ignore[arg-type]
    return kind
