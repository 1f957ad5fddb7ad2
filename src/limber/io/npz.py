"""Arrays in an .npz next to a model file."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence

import numpy as np

from limber.checks import did_you_mean, shown
from limber.errors import LimberError
from limber.io.document import Where
from limber.io.files_read import note_read

#: The largest size to which an .npz may expand, in bytes.
MAX_BYTES = 2**30


def from_npz(where: Where, name: str, group: str | None, known: Sequence[str] | None) -> dict:
    """The arrays of the file, named as in `known` or `group/known`.  Others are rejected; nothing is unpickled.

    With None for `known` there may be any.
    """
    path = where.folder / name
    try:
        if not path.is_file():
            raise where.error(f"there is no file {str(path)!r}.")
        note_read(path)
        with zipfile.ZipFile(path) as archive:
            if sum(item.file_size for item in archive.infolist()) > MAX_BYTES:
                raise where.error(f"{name} contains more than {MAX_BYTES // 2**20} MiB.")
        with np.load(path, allow_pickle=False) as data:
            prefix = "" if group is None else f"{group}/"
            found = {key.removeprefix(prefix): key for key in data.files if key.startswith(prefix)}
            if not found:
                groups = sorted({key.partition("/")[0] for key in data.files})
                raise where.error(f"{name} has no arrays {prefix}...; it has {', '.join(groups)}.")
            for key, full in found.items():
                if known is not None and key not in known:
                    hint = did_you_mean(key, known)
                    raise where.error(f"{name} has the unknown array {full!r}. {hint}")
            return {key: data[full] for key, full in found.items()}
    except LimberError:
        raise
    except Exception as error:  # whatever zipfile, zlib and NumPy raise for a damaged file
        raise where.error(f"{name} cannot be read as an .npz: {shown(error)}.") from None
