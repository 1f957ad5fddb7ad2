"""Programs as the source of CUDA kernels: one thread for each state, straight-line code or loops.

Element i of state t of an array is at i * states + t, so that neighbouring threads read neighbouring numbers.
"""

from __future__ import annotations

from dataclasses import replace

from limber.codegen import statements
from limber.codegen.law_source import ARRAYS, LawPlaces, declared, evaluated, helpers
from limber.codegen.program import Program, needed
from limber.codegen.rolled import Rolled, rolled
from limber.codegen.statements import Dialect, written

#: The threads of a block; the kernels use most of the registers that a thread may have.
BLOCK = 128
#: Blocks of programs with loops have fewer threads on GPUs with less shared memory than this, in bytes.
SHARED = 232_448
#: Visits of the far memory, in one evaluation, that are few.
FEW = 250
#: Variables that go from one repetition of a loop to the next.
CARRIED = 56

_SINCOS = "{real} {{s}}, {{c}};\nsincos{f}({{x}}, &{{s}}, &{{c}});"


def dialect(single: bool) -> Dialect:
    """CUDA C++ on local arrays."""
    base = statements.SINGLE if single else statements.DOUBLE
    return replace(base, sincos=_SINCOS.format(real=base.real, f="f" if single else ""))


def source(program: Program, single: bool) -> str:
    """The kernel of a program, named after it."""
    local = dialect(single)
    parts = [shared_values(local)]
    parts += [_functions(p, local) for p in program.callees]
    parts.append(kernel(program, local))
    return "\n".join(parts)


def loops(program: Program, single: bool) -> Rolled | None:
    """A program with loops as its kernel has them; None for straight-line code."""
    return _rolled(program, dialect(single))


def shared_values(d: Dialect) -> str:
    """What comes before all kernels."""
    return f"#ifndef BLOCK\n#define BLOCK {BLOCK}\n#endif\nextern __shared__ {d.real} shared_values[];\n"


def _rolled(program: Program, d: Dialect) -> Rolled | None:
    """A program with loops, if it is long and has equal stretches.

    Two blocks share a multiprocessor if little of what one of them keeps is then far.
    """
    size = 4 if d.real == "float" else 8
    near = SHARED // (size * BLOCK)
    half = rolled(program, d, CARRIED, near // 2)
    if half is None or half.frames.accesses["far"] <= FEW:
        return half
    return rolled(program, d, CARRIED, near)


def _tables(program: Program, r: Rolled, d: Dialect) -> str:
    """The numbers that differ from one repetition of a loop to the next."""
    text = ""
    for kind, name, values in (
        (d.real, "numbers", [d.number(x) for x in r.numbers]),
        ("int", "places", [str(i) for i in r.places]),
    ):
        if values:
            text += f"static __constant__ const {kind} {program.name}_{name}[] = {{{', '.join(values)}}};\n"
    return text


def _memories(r: Rolled, d: Dialect) -> list[str]:
    """The memories that the lines of a rolled program use."""
    sizes = r.frames.size
    lines = [f"{d.real} carried{i} = 0;" for i in range(sizes["carried"])]
    lines.append(f"{d.real} *const near_values = shared_values + threadIdx.x;")
    lines.append(f"{d.real} far_values[{max(sizes['far'], 1)}];")
    return lines


def _lines(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


def _fetched(program: Program) -> list[str]:
    """Lines that prefetch all inputs of a thread, which come from the slowest memory."""
    lines = ["#ifdef __CUDA_ARCH__", "#pragma unroll 4"]
    for a in program.inputs:
        place = f"{a.name} + i * {a.name}_n + {a.name}_t"
        lines.append(
            f'for (int i = 0; i < {a.size}; ++i) asm volatile("prefetch.global.L2 [%0];" : : "l"({place}));'
        )
    return [*lines, "#endif"]


def _functions(program: Program, d: Dialect) -> str:
    """Device functions on local arrays."""
    real = d.real
    inputs = [f"const {real} *__restrict__ {a.name}" for a in program.inputs]
    outputs = [f"{real} *__restrict__ {a.name}" for a in program.outputs]
    arguments = ", ".join(inputs + outputs)
    names = ", ".join(a.name for a in (*program.inputs, *program.outputs))
    head = f"static __device__ __noinline__ void {program.name}"
    rolls = _rolled(program, d)
    if rolls is not None:
        lines = [*_memories(rolls, d), *rolls.lines]
        return f"{_tables(program, rolls, d)}{head}({arguments})\n{{\n{_lines(lines)}}}\n"
    code = written(program, d)
    if len(code.pieces) == 1:
        return f"{head}({arguments})\n{{\n{_lines(code.pieces[0].lines)}}}\n"
    parts = [
        f"{head}_{i}({arguments}, {real} *__restrict__ w)\n{{\n{_lines(piece.lines)}}}\n"
        for i, piece in enumerate(code.pieces)
    ]
    calls = [f"{program.name}_{i}({names}, w);" for i in range(len(code.pieces))]
    parts.append(
        f"{head}({arguments})\n{{\n{_lines([f'{real} w[{max(code.workspace, 1)}];', *calls])}}}\n"
    )
    return "\n".join(parts)


def kernel(program: Program, local: Dialect) -> str:
    """The kernel alone, in a dialect for local arrays."""
    d = replace(local, element="{name}[{i} * {name}_n + {name}_t]")
    real = d.real
    arrays = [f"const {real} *__restrict__ {a.name}" for a in program.inputs]
    arrays += [f"{real} *__restrict__ {a.name}" for a in program.outputs]
    names = [a.name for a in (*program.inputs, *program.outputs)]
    places = [f"const long long {n}_n, const long long {n}_t" for n in names]
    parts = []
    body = [
        "const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
        "if (t >= states) return;",
    ]
    for i, a in enumerate(program.inputs):
        shared = f"(shared >> {i} & 1)"
        body.append(
            f"const long long {a.name}_n = {shared} ? 1 : states, {a.name}_t = {shared} ? 0 : t;"
        )
    for a in program.outputs:
        body.append(f"const long long {a.name}_n = states, {a.name}_t = t;")
    rolls = _rolled(program, d)
    code = written(program, d)
    if rolls is not None:
        parts.append(_tables(program, rolls, d))
        body += [*_fetched(program), *_memories(rolls, d), *rolls.lines]
    elif len(code.pieces) == 1:
        body += code.pieces[0].lines
    else:
        places_text = ", ".join([*arrays, *places])
        for i, piece in enumerate(code.pieces):
            parts.append(
                f"static __device__ __noinline__ void {program.name}_{i}({places_text}, "
                f"{real} *__restrict__ w)\n{{\n{_lines(piece.lines)}}}\n"
            )
        given = ", ".join([*names, *(f"{n}_n, {n}_t" for n in names)])
        body.append(f"{real} w[{max(code.workspace, 1)}];")
        body += [f"{program.name}_{i}({given}, w);" for i in range(len(code.pieces))]
    parts.append(
        f'extern "C" __global__ void __launch_bounds__(BLOCK, 1) {program.name}({", ".join(arrays)}, '
        f"const long long states, const unsigned long long shared)\n{{\n{_lines(body)}}}\n"
    )
    return "\n".join(parts)


def rollout_source(
    program: Program, single: bool, law: LawPlaces | None = None, model: Program | None = None
) -> str:
    """The kernel of a rollout: `steps` steps of the step program, where each tau is held for `hold` steps.

    Each thread keeps its state and writes it out every `record` steps.  A control law (`law_source`) adds its torques to
    tau every `sample` steps; the torques are then written out with the states.  `model` has the inverse dynamics of
    its model.
    """
    local = dialect(single)
    real = local.real
    parts = [shared_values(local)]
    parts += [_functions(p, local) for p in needed(program, model)]
    nq, nv = program.inputs[0].size, program.inputs[1].size
    extra = program.inputs[4:]
    arguments = [f"const {real} *__restrict__ {n}" for n in ("q", "v", "tau")]
    arguments += [f"const {real} *__restrict__ {a.name}" for a in extra]
    arguments += [f"{real} *__restrict__ q_new", f"{real} *__restrict__ v_new"]
    body = [
        "const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
        "if (t >= states) return;",
        f"{real} x[{max(nq, 1)}], y[{max(nv, 1)}], u[{max(nv, 1)}], x_new[{max(nq, 1)}], y_new[{max(nv, 1)}];",
        f"for (int i = 0; i < {nq}; ++i) x[i] = q[i * states + t];",
        f"for (int i = 0; i < {nv}; ++i) y[i] = v[i * states + t];",
    ]
    for i, a in enumerate(extra):
        shared = f"(shared >> {i} & 1)"
        body.append(f"{real} own{i}[{a.size}];")
        body.append(
            f"for (int i = 0; i < {a.size}; ++i) own{i}[i] = {a.name}[{shared} ? i : i * states + t];"
        )
    more = "".join(f", own{i}" for i in range(len(extra)))
    held = f"for (int i = 0; i < {nv}; ++i) u[i] = tau[((long long)(k / hold) * {nv} + i) * states + t];"
    forces, forces_out, numbers = [f"    if (k % hold == 0) {held}"], [], ""
    if law is not None:
        arguments.append(f"{real} *__restrict__ tau_new")
        arguments += [f"const {real} *__restrict__ {n}" for n in ARRAYS]
        numbers = "const int sample, const int varying, "
        parts.append(helpers(real, "static __device__"))
        body += declared(law, local)
        lines = [held, "const long long row = k / sample;"]
        lines += evaluated(law, local, "start[{i} * states + t]")
        forces = ["    if (k % sample == 0) {", *(f"        {line}" for line in lines), "    }"]
        forces_out = [
            f"        for (int i = 0; i < {nv}; ++i) tau_new[(written * {nv} + i) * states + t] = u[i];"
        ]
    body += [
        "long long written = 0;",
        "for (int k = 0; k < steps; ++k) {",
        *forces,
        f"    {program.name}(x, y, u, &dt{more}, x_new, y_new);",
        f"    for (int i = 0; i < {nq}; ++i) x[i] = x_new[i];",
        f"    for (int i = 0; i < {nv}; ++i) y[i] = y_new[i];",
        "    if ((k + 1) % record == 0) {",
        f"        for (int i = 0; i < {nq}; ++i) q_new[(written * {nq} + i) * states + t] = x[i];",
        f"        for (int i = 0; i < {nv}; ++i) v_new[(written * {nv} + i) * states + t] = y[i];",
        *forces_out,
        "        ++written;",
        "    }",
        "}",
    ]
    parts.append(
        f'extern "C" __global__ void __launch_bounds__(BLOCK, 1) rollout({", ".join(arguments)}, const {real} dt, '
        f"const int steps, const int hold, const int record, {numbers}const long long states, const unsigned long long shared)\n"
        f"{{\n{_lines(body)}}}\n"
    )
    return "\n".join(parts)
