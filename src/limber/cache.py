"""Where compiled code is kept: $LIMBER_CACHE_DIR, else the user's cache folder."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path


@cache
def folder(name: str) -> Path:
    """A writable folder of this name; a private temporary one, for this process, if there is none."""
    choices = []
    if os.environ.get("LIMBER_CACHE_DIR"):
        choices.append(Path(os.environ["LIMBER_CACHE_DIR"]))
    if sys.platform == "win32":
        user = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        user = Path.home() / "Library" / "Caches"
    else:
        user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    choices.append(user / "limber")
    for choice in choices:
        path = choice / name
        try:
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                return path
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="limber-"))
