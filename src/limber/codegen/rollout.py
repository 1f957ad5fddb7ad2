"""Whole simulations in C: fixed steps of many states, with constant torques or a control law, several states an instruction.

A call of the compiled function runs a range of the states from their start to the last output time, so that threads
neither wait for each other nor for Python.  `codegen.cuda` has the same for the GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from limber.checks import Array
from limber.codegen import c
from limber.codegen.law_source import ARRAYS, LawPlaces, declared, evaluated, helpers
from limber.codegen.program import Program, needed
from limber.codegen.statements import DOUBLE, Dialect, written
from limber.dynamics.cores import cores
from limber.interrupts import completed
from limber.native import c_compiler

#: Parts of a thread: the last one of a thread leaves the others without work for a short time only.
PARTS = 4

#: What comes before the functions where an instruction handles one state.
ALONE = "#include <stdlib.h>\n\n#define LANES 1\ntypedef number block;\n"

#: `law_source.helpers` for blocks.
_HELPERS = """\
static block limited(block x, number limit)
{
    for (int l = 0; l < LANES; ++l) x[l] = x[l] > limit ? limit : x[l] < -limit ? -limit : x[l];
    return x;
}

static inline __attribute__((unused)) block unless_beyond(block change, block over)
{
    for (int l = 0; l < LANES; ++l) change[l] = over[l] * change[l] > 0 ? 0 : change[l];
    return change;
}
"""

_HEAD = """\
int limber_rollout(
    ptrdiff_t begin, ptrdiff_t end, const number *const *in, const ptrdiff_t *stride, number *const *out,
    ptrdiff_t rows, const ptrdiff_t *spans, const ptrdiff_t *counts, const number *lengths,
    const number *const *law, ptrdiff_t varying, const volatile int *cancelled)
"""


def source(program: Program, lanes: int, law: LawPlaces | None, model: Program | None) -> str:
    """The source of a library with the entry `limber_rollout`.

    program : "step".
    model : the inverse dynamics of the model of the law.
    """
    d = DOUBLE if lanes == 1 else c.lanes_dialect(DOUBLE)
    parts = [c.HEAD, f"typedef {DOUBLE.real} number;\n"]
    parts += [ALONE] if lanes == 1 else [c.LANES.format(lanes=lanes), c.DOUBLE_SINCOS]
    parts += [c.functions(written(p, d), d) for p in needed(program, model)]
    if law is not None:
        parts.append(helpers(d.real, "static inline") if lanes == 1 else _HELPERS)
    parts.append(f"{_HEAD}{{\n{c.lines_of(_rollout(program, d, law))}}}\n")
    return "\n".join(parts)


def _rollout(program: Program, d: Dialect, law: LawPlaces | None) -> list[str]:
    """The lines of `limber_rollout`.

    in : q, v, tau and the parameters of the program, then `start` of the law; a stride is 0 for what all states share.
    out : q, v and tau (states, rows, size).
    spans, counts, lengths : for each row, the times that torques are held for, and the steps in each of them.
    """
    nq, nv = program.inputs[0].size, program.inputs[1].size
    given = [("x", nq), ("y", nv), ("held", nv)]
    given += [(f"own{i}", a.size) for i, a in enumerate(program.inputs[4:])]
    given += [] if law is None else [("from", law.sizes[0])]
    arrays = [*given, ("u", nv), ("x_new", nq), ("y_new", nv)]
    lines = [
        "void *scratch = NULL;",
        f"if (posix_memalign(&scratch, sizeof(block) < 16 ? 16 : sizeof(block), {sum(n for _, n in arrays) + 1} * sizeof(block)) != 0) return 1;",
    ]
    at = 0
    for name, size in arrays:
        lines.append(f"block *{name} = (block *)scratch + {at};")
        at += size
    if law is None:
        lines += ["(void)law;", "(void)varying;"]
    else:
        lines += [f"const number *const {name} = law[{i}];" for i, name in enumerate(_SHARED)]
    lines.append("for (ptrdiff_t n = begin; n < end && !*cancelled; n += LANES) {")
    inner = [
        "const ptrdiff_t here = end - n < LANES ? end - n : LANES;",
        "for (ptrdiff_t l = 0; l < LANES; ++l) {",
        "    const ptrdiff_t state = n + (l < here ? l : here - 1);",
    ]
    for i, (name, size) in enumerate(given):
        inner.append(
            f"    for (int i = 0; i < {size}; ++i) ((number *)&{name}[i])[l] = in[{i}][state * stride[{i}] + i];"
        )
    inner += ["}", f"for (int i = 0; i < {nv}; ++i) u[i] = held[i];"]
    more = "".join(f", own{i}" for i in range(len(program.inputs[4:])))
    steps = [
        "for (ptrdiff_t k = 0; k < counts[r] && !*cancelled; ++k) {",
        f"    {d.callee.format(name=program.name)}(x, y, u, &dt{more}, x_new, y_new);",
        "    block *const old_x = x, *const old_y = y;",
        "    x = x_new, y = y_new, x_new = old_x, y_new = old_y;",
        "}",
    ]
    if law is not None:
        inner += [*declared(law, d), "ptrdiff_t row = 0;"]
    inner.append("for (ptrdiff_t r = 0; r < rows && !*cancelled; ++r) {")
    inner.append(f"    const block dt = {d.constant.format(x='lengths[r]')};")
    if law is None:
        inner += [f"    {line}" for line in steps]
    else:
        sample = [f"for (int i = 0; i < {nv}; ++i) u[i] = held[i];"]
        sample += evaluated(law, d, "from[{i}]")
        z = len(law.integrals)
        # a row at the start has the torques of the first sample, which is still to come
        inner += [
            "    for (ptrdiff_t span = 0; span < (spans[r] ? spans[r] : row == 0) && !*cancelled; ++span) {",
            *(f"        {line}" for line in sample),
            "        if (spans[r] == 0) {",
            f"            for (int i = 0; i < {z}; ++i) z[i] = {d.constant.format(x='0.0')};",
            "            break;",
            "        }",
            "        ++row;",
            *(f"        {line}" for line in steps),
            "    }",
        ]
    inner.append("    for (ptrdiff_t l = 0; l < here; ++l) {")
    for i, (name, size) in enumerate((("x", nq), ("y", nv), ("u", nv))):
        inner.append(
            f"        for (int i = 0; i < {size}; ++i) out[{i}][((n + l) * rows + r) * {size} + i] = ((number *)&{name}[i])[l];"
        )
    inner += ["    }", "}"]
    return [*lines, *(f"    {line}" for line in inner), "}", "free(scratch);", "return 0;"]


#: The arrays of a law that all states share.
_SHARED = tuple(name for name in ARRAYS if name != "start")


class Rollout:
    """A loaded library with whole simulations: `lanes` states share each instruction."""

    def __init__(
        self, program: Program, lanes: int, law: LawPlaces | None = None, model: Program | None = None
    ):  # fmt: skip
        self._lanes, self._law = lanes, law
        self._sizes = [program.inputs[i].size for i in (0, 1, 1)]
        self._given = [a.size for a in (*program.inputs[:3], *program.inputs[4:])]
        self._library = c_compiler.loaded(source(program, lanes, law, model))
        self._run = self._library.limber_rollout
        self._run.restype = ctypes.c_int
        count, array = ctypes.c_ssize_t, ctypes.c_void_p
        self._run.argtypes = [count, count, array, array, array, count, *[array] * 4, count, array]

    def __call__(
        self, given: Sequence[Array], spans: Array, counts: Array, lengths: Array,
        law: Mapping[str, Array] | None = None,
    ) -> list[Array]:  # fmt: skip
        """q, v and tau (states, rows, size) at the output times.

        given : q, v, tau and parameters (states, ...), or without the first dimension if all states share one.
        spans, counts : for each row, the samples of the law since the last one (0 at the start; 1 without a law), and
            the steps in each of them; lengths : of these steps, s.
        law : the arrays of the law, see `law_source`; its start is (states, x).
        """
        states, rows = len(given[0]), len(spans)
        sizes = list(self._given)
        if self._law is not None:
            assert law is not None
            given, sizes = [*given, law["start"]], [*sizes, self._law.sizes[0]]
        arrays = [np.ascontiguousarray(x, dtype=float) for x in given]
        strides = [n if x.size == states * n else 0 for n, x in zip(sizes, arrays)]
        out = [np.full((states, rows, n), np.nan) for n in self._sizes]
        shared = [] if law is None else [np.ascontiguousarray(law[x], float) for x in _SHARED]
        whole = [np.ascontiguousarray(x, dtype=np.intp) for x in (spans, counts)]
        steps = np.ascontiguousarray(lengths, dtype=float)
        varying = int(law is not None and len(law["gains"]) > 1)
        cancelled = ctypes.c_int(0)
        arguments: tuple[Any, ...] = (
            _addresses(arrays), (ctypes.c_ssize_t * len(strides))(*strides), _addresses(out), rows,
            *(x.ctypes.data for x in (*whole, steps)), _addresses(shared), varying, ctypes.byref(cancelled),
        )  # fmt: skip
        blocks = -(-states // self._lanes)
        threads = min(cores(), blocks)
        parts = min(blocks, PARTS * threads)
        bounds = [min(blocks * i // parts * self._lanes, states) for i in range(parts)] + [states]
        with ThreadPoolExecutor(threads) as pool:
            try:
                for part in completed(
                    [pool.submit(self._run, *b, *arguments) for b in pairwise(bounds)]
                ):
                    if part.result():
                        raise MemoryError("generated code could not allocate its work space.")
            finally:
                cancelled.value = 1  # after an interruption; otherwise all parts are done
        return out


def _addresses(arrays: Sequence[Array]) -> ctypes.Array:
    return (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
