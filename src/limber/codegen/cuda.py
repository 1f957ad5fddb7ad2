"""Programs as CUDA kernels: one thread for each state, arrays of shape (size, states).

Element i of state t of an array is at i * states + t, so that neighbouring threads read neighbouring
numbers.  Arrays of CuPy, PyTorch and JAX are used in place; results are arrays of the library that the
inputs came from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from limber.checks import shown, whole
from limber.codegen import statements
from limber.codegen.program import Program
from limber.codegen.rolled import Rolled, rolled
from limber.codegen.statements import Dialect, written
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError

#: The threads of a block; the kernels use most of the registers that a thread may have.
BLOCK = 128
#: The fewest threads of a block.
WARP = 32
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
    parts = [_shared_values(local)]
    parts += [_functions(p, local) for p in program.callees]
    parts.append(_kernel(program, replace(local, element="{name}[{i} * {name}_n + {name}_t]")))
    return "\n".join(parts)


def loops(program: Program, single: bool) -> Rolled | None:
    """A program with loops as its kernel has them; None for straight-line code."""
    return _rolled(program, dialect(single))


def _shared_values(d: Dialect) -> str:
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
    """Lines that ask for all inputs of a thread, which come from the slowest memory."""
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


def _kernel(program: Program, d: Dialect) -> str:
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


Joints = tuple[Sequence[int], Sequence[int]]  # places in q and in v


def rollout_source(program: Program, single: bool, joints: Joints | None = None) -> str:
    """The kernel of a rollout: `steps` steps of the step program, where each tau is held for `hold` steps.

    Each thread keeps its state and writes it out every `record` steps.  With `joints`, a law of control adds to tau every
    `sample` steps: springs and dampers, gains (3, joints) with the limits of torques, between the joints and a
    reference (samples, 2, joints); the torques are written out with the states.
    """
    local = dialect(single)
    real = local.real
    parts = [_shared_values(local)]
    parts += [_functions(p, local) for p in (*program.callees, program)]
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
    if joints is not None:
        arguments.append(f"{real} *__restrict__ tau_new")
        arguments += [f"const {real} *__restrict__ {n}" for n in ("reference", "gains")]
        numbers = "const int sample, "
        parts.append(_joint_places(joints))
        forces = _law(held, len(joints[0]), single)
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


def _joint_places(joints: Joints) -> str:
    return "".join(
        f"static __constant__ const int {name}[] = {{{', '.join(map(str, places))}}};\n"
        for name, places in zip(("joint_q", "joint_v"), joints)
    )


def _law(held: str, count: int, single: bool) -> list[str]:
    """The lines of a law of control, in the loop over steps; `held` sets the torques that it adds to."""
    f = "f" if single else ""
    limit = f"gains[{2 * count} + j]"
    return [
        "    if (k % sample == 0) {",
        f"        {held}",
        f"        const long long row = (long long)(k / sample) * {2 * count};",
        f"        for (int j = 0; j < {count}; ++j) {{",
        "            const int i = joint_v[j];",
        f"            u[i] += gains[j] * (reference[row + j] - x[joint_q[j]]) + gains[{count} + j] * (reference[row + {count} + j] - y[i]);",
        f"            u[i] = fmin{f}(fmax{f}(u[i], -{limit}), {limit});",
        "        }",
        "    }",
    ]


# --- launching ------------------------------------------------------------------------------------


def needed_cupy() -> Any:
    """CuPy; an error names the extra where it is missing."""
    try:
        import cupy  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'target="cuda" runs on CuPy: pip install "limber-dynamics[gpu]", on a machine with an NVIDIA GPU. The '
            "source of the kernel is in the attribute `source` without it."
        ) from error
    return cupy


def _library(value: Any) -> str:
    """The library that an array belongs to."""
    return type(value).__module__.partition(".")[0]


class _Kernel:
    """A compiled kernel and what every call of it shares."""

    def __init__(self, program: Program, single: bool, text: str, entry: str):
        if len(program.inputs) > 64:  # one bit each says whether all states share it
            raise ArgumentValueError(
                f"{program.name} has {len(program.inputs)} inputs; a kernel has at most 64. Name fewer parameters."
            )
        self.program = program
        self.source = text
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._entry = entry
        found = (loops(p, single) for p in (*program.callees, program))
        near = max((x.frames.size["near"] for x in found if x is not None), default=0)
        self._near = near * self.dtype.itemsize  # shared memory of a thread

    @cached_property
    def _block(self) -> int:
        """The threads of a block: as many as its shared memory has room for."""
        block = BLOCK
        if self._near:
            room = needed_cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
            while block > WARP and block * self._near > room:
                block //= 2
        return block

    @cached_property
    def _kernel(self) -> Any:
        options = ("--std=c++14", f"-DBLOCK={self._block}")
        kernel = (
            needed_cupy().RawModule(code=self.source, options=options).get_function(self._entry)
        )
        if self._near:
            kernel.max_dynamic_shared_size_bytes = self._block * self._near
        return kernel

    def handles(self) -> tuple[list[int], int, int]:
        """The driver's handle of the kernel on each GPU, and the threads and bytes of shared memory of a block.

        For code that launches it by itself, on GPUs of one kind.
        """
        cupy, found = needed_cupy(), []
        for number in range(cupy.cuda.runtime.getDeviceCount()):
            with cupy.cuda.Device(number):
                kernel = self._kernel
                if self._near:  # an attribute of the kernel on this GPU
                    kernel.max_dynamic_shared_size_bytes = self._block * self._near
                found.append(int(kernel.kernel.ptr))
        return found, self._block, self._block * self._near

    def _array(self, name: str, value: Any, shapes: tuple[tuple, ...]) -> Any:
        """A device array, in place, which must have one of `shapes`; None stands for the number of states."""
        cupy = needed_cupy()
        if isinstance(value, cupy.ndarray):
            array = value
        elif hasattr(value, "__cuda_array_interface__"):
            array = cupy.asarray(value)
        elif hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
            array = cupy.from_dlpack(value)
        elif isinstance(value, int | float) and () in shapes:
            array = cupy.full((), value, dtype=self.dtype)
        else:
            raise ArgumentTypeError(
                f"{name} must be an array on the GPU (CuPy, PyTorch or JAX), got {shown(type(value))}; move it there, "
                "for example with cupy.asarray."
            )
        fits = any(
            len(shape) == array.ndim
            and all(n is None or n == m for n, m in zip(shape, array.shape))
            for shape in shapes
        )
        if not fits or array.dtype != self.dtype or not array.flags.c_contiguous:
            wanted = " or ".join(str(s).replace("None", "states") for s in shapes)
            raise ArgumentValueError(
                f"{name} must be a C-contiguous {self.dtype} array of shape {wanted}, got {array.dtype} {array.shape}."
            )
        return array

    def _states(self, arrays: dict[str, int]) -> int:
        if len(set(arrays.values())) > 1:
            shown_ = ", ".join(f"{name} {n}" for name, n in arrays.items())
            raise ArgumentValueError(f"the arrays have different numbers of states: {shown_}.")
        return next(iter(arrays.values()))

    @contextmanager
    def _on_stream(self, like: Any, given: Sequence[Any]) -> Iterator[None]:
        """The stream of the library that `like` belongs to, for what is allocated and launched inside.

        given : all arguments.  JAX computes them on streams of its own, so that those of JAX are waited for.
        """
        cupy = needed_cupy()
        waited = [x for x in given if _library(x).startswith("jax")]
        if waited:
            sys.modules["jax"].block_until_ready(waited)
        if _library(like) != "torch":
            yield
            if _library(like).startswith("jax"):
                cupy.cuda.get_current_stream().synchronize()
            return
        pointer = sys.modules["torch"].cuda.current_stream(like.device).cuda_stream
        with cupy.cuda.ExternalStream(pointer):  # memory that is freed serves this stream alone
            yield

    def _launch(self, states: int, arguments: list[Any]) -> None:
        """Launch on the current stream."""
        block = self._block
        grid, shared = ((states + block - 1) // block,), block * self._near
        if states:
            self._kernel(grid, (block,), tuple(arguments), shared_mem=shared)

    def _returned(self, like: Any, arrays: list[Any]) -> Any:
        """Results as arrays of the library that `like` belongs to."""
        library = _library(like)
        if library == "torch":
            arrays = [sys.modules["torch"].from_dlpack(x) for x in arrays]
        elif library.startswith("jax"):
            arrays = [sys.modules["jax"].dlpack.from_dlpack(x) for x in arrays]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def __repr__(self) -> str:
        return f"<CUDA kernel: {self.program.about}, {self.dtype}>"


class CudaFunction(_Kernel):
    """A generated function on the GPU: arrays (*shape, states) in, arrays (*shape, states) out.

    An input without the last dimension is shared by all states.  `source` is the CUDA C++ text.
    """

    def __init__(self, program: Program, single: bool):
        super().__init__(program, single, source(program, single), program.name)

    def __call__(self, *args: Any) -> Any:
        """The results for device arrays."""
        cupy = needed_cupy()
        inputs = self.program.inputs
        if len(args) != len(inputs):
            names = ", ".join(a.name for a in inputs)
            raise ArgumentTypeError(
                f"{self.program.name} takes {len(inputs)} arrays ({names}), got {len(args)}."
            )
        arrays, shared, sizes = [], 0, {}
        for i, (a, x) in enumerate(zip(inputs, args)):
            array = self._array(a.name, x, ((*a.shape, None), a.shape))
            if array.ndim == len(a.shape):
                shared |= 1 << i
            else:
                sizes[a.name] = array.shape[-1]
            arrays.append(array)
        states = self._states(sizes) if sizes else 1
        like = next((x for x in args if not isinstance(x, int | float)), None)
        with self._on_stream(like, args):
            results = [cupy.empty((*a.shape, states), self.dtype) for a in self.program.outputs]
            self._launch(states, [*arrays, *results, np.int64(states), np.uint64(shared)])
        return self._returned(like, results)


class CudaRollout(_Kernel):
    """Whole simulations on the GPU, one for each thread: f(q, v, tau, dt, steps, record=steps).

    The shapes are q (nq, states), v (nv, states), and tau (nv, states), which is constant throughout, or
    (k, nv, states), where each row is constant for steps / k steps.  The function returns q, v at the end or, if
    `record` is less than `steps`, after every `record` steps: (steps / record, nq, states),
    (steps / record, nv, states).
    """

    def __init__(self, program: Program, single: bool, joints: Joints | None = None):
        super().__init__(program, single, rollout_source(program, single, joints), "rollout")
        self._joints = joints

    def __call__(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dt: float,
        steps: int,
        *more: Any,
        record: int | None = None,
        reference: Any = None,
        gains: Any = None,
        sample: int = 1,
    ) -> Any:
        """The states after `steps` steps, or after every `record` of them.

        reference, gains, sample : of a law of control, which all states share; see `rollout_source`.
        """
        cupy = needed_cupy()
        nq, nv = self.program.inputs[0].size, self.program.inputs[1].size
        extra = self.program.inputs[4:]
        if len(more) != len(extra):
            names = ", ".join(a.name for a in extra) or "none"
            raise ArgumentTypeError(
                f"rollout takes {len(extra)} parameters ({names}), got {len(more)}."
            )
        steps = whole("steps", steps, 1)
        record = steps if record is None else whole("record", record, 1)
        x = self._array("q", q, ((nq, None),))
        y = self._array("v", v, ((nv, None),))
        u = self._array("tau", tau, ((nv, None), (None, nv, None)))
        rows = 1 if u.ndim == 2 else u.shape[0]
        if rows == 0 or steps % rows or steps % record:
            raise ArgumentValueError(
                f"steps={steps} must be a multiple of the rows of tau, {rows}, and of record={record}."
            )
        sizes = {"q": x.shape[-1], "v": y.shape[-1], "tau": u.shape[-1]}
        arrays, shared = [], 0
        for i, (a, value) in enumerate(zip(extra, more)):
            array = self._array(a.name, value, ((*a.shape, None), a.shape))
            if array.ndim == len(a.shape):
                shared |= 1 << i
            else:
                sizes[a.name] = array.shape[-1]
            arrays.append(array)
        states = self._states(sizes)
        count = steps // record
        numbers = [self.dtype.type(dt), np.int32(steps), np.int32(steps // rows), np.int32(record)]
        law: list[Any] = []
        if self._joints is not None:
            joints = len(self._joints[0])
            law = [
                self._array("reference", reference, ((None, 2, joints),)),
                self._array("gains", gains, ((3, joints),)),
            ]
            numbers.append(np.int32(sample))
        with self._on_stream(q, (q, v, tau, *more, reference, gains)):
            sizes_new = (nq, nv) if self._joints is None else (nq, nv, nv)
            found = [cupy.empty((count, n, states), self.dtype) for n in sizes_new]
            self._launch(
                states,
                [x, y, u, *arrays, *found, *law, *numbers, np.int64(states), np.uint64(shared)],
            )
        return self._returned(q, [x[0] for x in found] if count == 1 else found)
