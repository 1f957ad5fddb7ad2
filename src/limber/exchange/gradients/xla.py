"""Generated functions as custom calls of XLA, the compiler behind JAX, on the CPU."""

from __future__ import annotations

import ctypes
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jaxlib

from limber.codegen import c
from limber.codegen.program import Program
from limber.exchange.gradients.smooth import Smooth
from limber.native import c_compiler

#: The libraries of the targets that are registered, which must stay loaded.
_REGISTERED: dict[str, ctypes.CDLL] = {}


def target(smooth: Smooth, count: int) -> str:
    """The name of a function for this number of states in XLA; it depends only on the code."""
    source = _source(smooth.program, smooth.lanes(count))
    name = f"limber_{hashlib.sha256(source.encode()).hexdigest()[:24]}"
    if name not in _REGISTERED:
        library = c_compiler.loaded(source)
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(library.limber_xla), platform="cpu")
        _REGISTERED[name] = library
    return name


def _source(program: Program, lanes: int) -> str:
    return "\n".join([c.library(program, lanes, False), interface(program), part("xla.c")])


def part(name: str) -> str:
    """The content of a C file in this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def interface(program: Program) -> str:
    """XLA's header, the common part of all entries, and the number, ranks and sizes of the arguments of a program, in
    C.
    """

    def numbers(values: list[int]) -> str:
        return f"{{{', '.join(map(str, values))}}}"

    inputs, outputs = program.inputs, program.outputs
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    return f"""\
/* jaxlib {jaxlib.__version__} */
#include "{header.as_posix()}"

enum {{ INPUTS = {len(inputs)}, OUTPUTS = {len(outputs)}, FIRST_RANK = {len(outputs[0].shape)} }};
static const int64_t input_ranks[] = {numbers([len(a.shape) for a in inputs])};
static const int64_t input_sizes[] = {numbers([a.size for a in inputs])};

{part("xla.h")}"""


def called(smooth: Smooth, batch: tuple[int, ...], *inputs: Any) -> Any:
    """The outputs of a function, as a custom call."""
    count = 1
    for n in batch:
        count *= n
    results = [jax.ShapeDtypeStruct((*batch, *a.shape), "float64") for a in smooth.program.outputs]
    return jax.ffi.ffi_call(target(smooth, count), results)(*inputs)
