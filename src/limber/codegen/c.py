"""Programs as C99: one function per program, and the entries through which Python calls it.

The functions have no state, allocate nothing and need only libm.  `lanes` makes a second copy
on vectors of several states (GCC and Clang vector types), for batches.
"""

from __future__ import annotations

import re
from dataclasses import replace

from limber.codegen import statements
from limber.codegen.program import Program
from limber.codegen.statements import Code, Dialect, Piece, written

HEAD = """\
#include <math.h>
#include <stddef.h>

#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif
"""


#: Makes GCC use vectors for loops whose length is not a multiple of their width, which it does not at -O2.
LOOPS = """\
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
"""


def library(program: Program, lanes: int, single: bool) -> str:
    """The source of a shared library with the entries `limber_call` and `limber_batch`."""
    dialect = statements.SINGLE if single else statements.DOUBLE
    parts = [HEAD, f"typedef {dialect.real} number;\n"]
    programs = [*program.callees, program]
    parts += [functions(written(p, dialect), dialect) for p in programs]
    parts.append(_call(program))
    if lanes > 1:
        blocks = lanes_dialect(dialect)
        parts += [LANES.format(lanes=lanes), SINGLE_SINCOS if single else DOUBLE_SINCOS]
        parts += [functions(written(p, blocks), blocks) for p in programs]
        parts.append(_lanes_batch(program))
    else:
        parts.append(_batch(program))
    return "\n".join(parts)


def functions(code: Code, dialect: Dialect, qualifier: str = "static ") -> str:
    """The function of a program, and those of its pieces if it was cut."""
    program, real = code.program, dialect.real
    inputs = [f"const {real} *restrict {a.name}" for a in program.inputs]
    outputs = [f"{real} *restrict {a.name}" for a in program.outputs]
    arguments = ", ".join(inputs + outputs)
    name = dialect.callee.format(name=program.name)
    head = f"{LOOPS if code.loops else ''}{qualifier}void {name}({arguments})"
    if not qualifier:  # declared in a header, with the sizes
        inputs = [f"const {real} {a.name}[restrict {max(a.size, 1)}]" for a in program.inputs]
        outputs = [f"{real} {a.name}[restrict {max(a.size, 1)}]" for a in program.outputs]
        head = f"void {name}({', '.join(inputs + outputs)})"
    if len(code.pieces) == 1:
        body = lines_of(code.pieces[0].lines)
        unused = _unused(program, code.pieces[0])
        return f"{head}\n{{\n{unused}{body}}}\n"
    parts, calls = [], []
    names = ", ".join(a.name for a in (*program.inputs, *program.outputs))
    for i, piece in enumerate(code.pieces):
        body, unused = lines_of(piece.lines), _unused(program, piece, ("w",))
        parts.append(
            f"APART static void {name}_{i}({arguments}, {real} *restrict w)\n{{\n{unused}{body}}}\n"
        )
        calls.append(f"{name}_{i}({names}, w);")
    workspace = f"{real} w[{max(code.workspace, 1)}];"
    parts.append(f"{head}\n{{\n{lines_of([workspace, *calls])}}}\n")
    return "\n".join(parts)


def lines_of(lines: list[str]) -> str:
    """The text of the lines of a function."""
    return "".join(f"    {line}\n" for line in lines)


def _unused(program: Program, piece: Piece, more: tuple[str, ...] = ()) -> str:
    """Statements that mark the arguments a piece does not use, so that compilers do not warn of them."""
    text = "\n".join(piece.lines)
    names = [a.name for i, a in enumerate(program.inputs) if i not in piece.inputs]
    for name in (*(a.name for a in program.outputs), *more):
        if not re.search(rf"\b{name}\[", text):
            names.append(name)
    return lines_of([f"(void){name};" for name in names])


def _call(program: Program) -> str:
    inputs = [f"in[{i}]" for i in range(len(program.inputs))]
    outputs = [f"out[{i}]" for i in range(len(program.outputs))]
    return f"""\
void limber_call(const number *const *in, number *const *out)
{{
    {program.name}({", ".join(inputs + outputs)});
}}
"""


_BATCH = (
    "void limber_batch(ptrdiff_t start, ptrdiff_t stop, const number *const *in, const ptrdiff_t *stride, "
    "number *const *out)\n"
)


def _batch(program: Program) -> str:
    inputs = [f"in[{i}] + n * stride[{i}]" for i in range(len(program.inputs))]
    outputs = [f"out[{i}] + n * {a.size}" for i, a in enumerate(program.outputs)]
    return f"""\
{_BATCH}{{
    for (ptrdiff_t n = start; n < stop; ++n) {{
        {program.name}({", ".join(inputs + outputs)});
    }}
}}
"""


# --- SIMD lanes -----------------------------------------------------------------------------------

LANES = """\
#include <stdlib.h>

#define LANES {lanes}
typedef number block __attribute__((vector_size(LANES * sizeof(number))));
"""


#: Arguments with up to this many elements are kept on the stack as blocks, larger ones on the heap.
ON_STACK = 4096


def lanes_dialect(dialect: Dialect) -> Dialect:
    """The dialect of functions on blocks of states."""
    return replace(
        dialect,
        real="block",
        elementary="block_{op}({x})",
        sincos="block {s}, {c};\nblock_sincos({x}, &{s}, &{c});",
        callee="{name}_lanes",
        constant="({x} - (block){{0}})",
    )


def _lanes_batch(program: Program) -> str:
    """The loop over blocks of states, transposed on the way in and out; the last block repeats the last state."""
    arrays = [(f"x{i}", max(a.size, 1)) for i, a in enumerate(program.inputs)]
    arrays += [(f"y{i}", max(a.size, 1)) for i, a in enumerate(program.outputs)]
    total = sum(size for _, size in arrays)
    if total <= ON_STACK:
        lines = [f"block {name}[{size}];" for name, size in arrays]
    else:
        scalar = [f"in[{i}] + n * stride[{i}]" for i in range(len(program.inputs))]
        scalar += [f"out[{i}] + n * {a.size}" for i, a in enumerate(program.outputs)]
        lines = [
            "void *scratch = NULL;",
            f"if (posix_memalign(&scratch, sizeof(block), {total} * sizeof(block)) != 0) {{",
            f"    for (ptrdiff_t n = start; n < stop; ++n) {program.name}({', '.join(scalar)});",
            "    return;",
            "}",
        ]
        at = 0
        for name, size in arrays:
            lines.append(f"block *const {name} = (block *)scratch + {at};")
            at += size
    lines.append("for (ptrdiff_t n = start; n < stop; n += LANES) {")
    lines.append("    const ptrdiff_t here = stop - n < LANES ? stop - n : LANES;")
    lines.append("    for (ptrdiff_t l = 0; l < LANES; ++l) {")
    lines.append("        const ptrdiff_t state = n + (l < here ? l : here - 1);")
    for i, a in enumerate(program.inputs):
        lines.append(f"        const number *const p{i} = in[{i}] + state * stride[{i}];")
        lines.append(
            f"        for (int i = 0; i < {a.size}; ++i) ((number *)&x{i}[i])[l] = p{i}[i];"
        )
    lines.append("    }")
    arguments = [f"x{i}" for i in range(len(program.inputs))]
    arguments += [f"y{i}" for i in range(len(program.outputs))]
    lines.append(f"    {program.name}_lanes({', '.join(arguments)});")
    lines.append("    for (ptrdiff_t l = 0; l < here; ++l) {")
    for i, a in enumerate(program.outputs):
        lines.append(f"        number *const p{i} = out[{i}] + (n + l) * {a.size};")
        lines.append(
            f"        for (int i = 0; i < {a.size}; ++i) p{i}[i] = ((number *)&y{i}[i])[l];"
        )
    lines.append("    }\n    }")
    if total > ON_STACK:
        lines.append("free(scratch);")
    return f"{_BATCH}{{\n{lines_of(lines)}}}\n"


#: sin and cos of a block: Cody-Waite reduction by pi/2 in three or four parts, then the minimax polynomials on
#: [-pi/4, pi/4] (the coefficients of fdlibm); large angles, infinities and NaN go to libm, lane by lane.
_SINCOS = """\
typedef {integer} mask __attribute__((vector_size(LANES * sizeof({integer}))));

static inline __attribute__((always_inline)) void block_sincos(block x, block *s, block *c)
{{
    const block t = x * {two_over_pi} + {magic};
    const block k = t - {magic};
    const block r = {reduced};
    const block z = r * r;
    const block sine = r + r * z * ({sine});
    const block cosine = {one} - {half} * z + z * z * ({cosine});
    const mask quadrant = (mask)t;
    const mask swap = -(quadrant & 1);
    const mask sign_s = (quadrant & 2) << {shift};
    const mask sign_c = ((quadrant + 1) & 2) << {shift};
    int far = 0;
    *s = (block)((((mask)cosine & swap) | ((mask)sine & ~swap)) ^ sign_s);
    *c = (block)((((mask)sine & swap) | ((mask)cosine & ~swap)) ^ sign_c);
    for (int l = 0; l < LANES; ++l) {{
        far |= !(x[l] < {large} && x[l] > -{large});
    }}
    if (far) {{
        for (int l = 0; l < LANES; ++l) {{
            (*s)[l] = {sin}(x[l]);
            (*c)[l] = {cos}(x[l]);
        }}
    }}
}}

static inline __attribute__((always_inline, unused)) block block_sin(block x)
{{
    block s, c;
    block_sincos(x, &s, &c);
    return s;
}}

static inline __attribute__((always_inline, unused)) block block_cos(block x)
{{
    block s, c;
    block_sincos(x, &s, &c);
    return c;
}}

static inline __attribute__((always_inline, unused)) block block_sqrt(block x)
{{
    block y = x;
    for (int l = 0; l < LANES; ++l) {{
        y[l] = {sqrt}(x[l]);
    }}
    return y;
}}

static inline __attribute__((always_inline, unused)) block block_log(block x)
{{
    block y = x;
    for (int l = 0; l < LANES; ++l) {{
        y[l] = {log}(x[l]);
    }}
    return y;
}}
"""


def _reduced(parts: list[str]) -> str:
    """x - k pi/2, with pi/2 in parts of few bits, so that all products except the last are exact."""
    text = "x"
    for part in parts:
        text = f"({text} - k * {part})"
    return text


def _polynomial(coefficients: list[str]) -> str:
    text = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        text = f"{c} + z * ({text})"
    return text


DOUBLE_SINCOS = _SINCOS.format(
    integer="long long",
    two_over_pi="0.63661977236758134308",
    magic="6755399441055744.0",
    reduced=_reduced(["1.57079632673412561417e+00", "6.07710050630396597660e-11", "2.02226624879595063154e-21"]),
    sine=_polynomial(
        [
            "-1.66666666666666324348e-01", "8.33333333332248946124e-03", "-1.98412698298579493134e-04",
            "2.75573137070700676789e-06", "-2.50507602534068634195e-08", "1.58969099521155010221e-10",
        ]
    ),
    cosine=_polynomial(
        [
            "4.16666666666666019037e-02", "-1.38888888888741095749e-03", "2.48015872894767294178e-05",
            "-2.75573143513906633035e-07", "2.08757232129817482790e-09", "-1.13596475577881948265e-11",
        ]
    ),
    one="1.0", half="0.5", shift=62, large="1e5", sin="sin", cos="cos", sqrt="sqrt", log="log",
)  # fmt: skip

SINGLE_SINCOS = _SINCOS.format(
    integer="int",
    two_over_pi="0.636619772f",
    magic="12582912.0f",
    reduced=_reduced(["1.5703125f", "4.83751296997e-4f", "7.549533620476723e-08f", "2.563344152e-12f"]),
    sine=_polynomial(["-1.6666654611e-1f", "8.3321608736e-3f", "-1.9515295891e-4f"]),
    cosine=_polynomial(["4.166664568298827e-2f", "-1.388731625493765e-3f", "2.443315711809948e-5f"]),
    one="1.0f", half="0.5f", shift=30, large="1e3f", sin="sinf", cos="cosf", sqrt="sqrtf", log="logf",
)  # fmt: skip
