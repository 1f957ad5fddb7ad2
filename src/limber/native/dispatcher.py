"""The compiled dispatcher for single calls from Python into compiled code; see dispatch.c.

It is compiled when first needed, if there is a C compiler with the headers of Python and NumPy, and kept in the
cache.  Otherwise callers use a slower path to the same results.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

from limber import forks
from limber.errors import CompileError
from limber.native import c_compiler

_FLAGS = ("-std=gnu99", "-O2", "-shared", "-fPIC")
_NAME = "limber_dispatch"

_lock = forks.lock()
_found: list[Callable | None] = []  # empty until it was looked for


def dispatcher() -> Callable | None:
    """`Function` of dispatch.c, or None where it cannot be compiled."""
    if not _found:
        with _lock:
            if not _found:
                _found.append(_loaded())
    return _found[0]


def _loaded() -> Callable | None:
    folders = [sysconfig.get_path("include"), sysconfig.get_path("platinclude"), np.get_include()]
    headers = [Path(folders[0], "Python.h"), Path(folders[2], "numpy", "arrayobject.h")]
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()  # which guards the scratch of calls
    if not (gil and all(header.is_file() for header in headers)):
        return None
    source = Path(__file__).with_name("dispatch.c").read_text()
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    # what the library depends on: not on the compiler, which need not even be asked for its version
    key = "\n".join([source, sys.version, sys.platform, suffix, np.__version__, *_FLAGS])
    flags = (*_FLAGS, *(f"-I{folder}" for folder in dict.fromkeys(folders)))
    try:
        return c_compiler.kept(key, source, flags, _module, suffix).Function
    except CompileError:
        return None


def _module(path: str) -> ModuleType:
    """The extension module in a file."""
    loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
    spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
