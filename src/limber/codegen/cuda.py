"""CUDA kernels of programs (`cuda_source`), compiled and launched by CuPy.

Arrays have the shape (size, states).  Those of CuPy, PyTorch and JAX are used in place; results are arrays of the library that
the inputs came from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from limber.checks import shown, whole
from limber.codegen.cuda_source import BLOCK, loops, rollout_source, source
from limber.codegen.law_source import LawPlaces
from limber.codegen.program import Program, needed
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError

#: The fewest threads of a block.
WARP = 32


def needed_cupy() -> Any:
    """CuPy; an error names the extra where it is missing."""
    try:
        import cupy  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'target="cuda" needs CuPy and a machine with an NVIDIA GPU: pip install "limber-dynamics[gpu]". Without '
            "them, the attribute `source` still has the source of the kernel."
        ) from error
    return cupy


def block_of(size: int) -> int:
    """The threads of a block that has room for `size` bytes of shared memory for each; 0 if even a warp has not."""
    block = BLOCK
    if size:
        room = needed_cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        while block and block * size > room:
            block = block // 2 if block > WARP else 0
    return block


def _library(value: Any) -> str:
    """The library that an array belongs to."""
    return type(value).__module__.partition(".")[0]


class Kernel:
    """A compiled kernel and what every call of it shares."""

    def __init__(
        self, program: Program, single: bool, text: str, entry: str, programs: Sequence[Program]
    ):
        """programs : those that the text has."""
        if len(program.inputs) > 64:  # one bit each says whether all states share it
            raise ArgumentValueError(
                f"{program.name} has {len(program.inputs)} inputs, but a kernel has at most 64. Name fewer parameters."
            )
        self.program = program
        self.source = text
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._entry = entry
        found = (loops(p, single) for p in programs)
        near = max((x.frames.size["near"] for x in found if x is not None), default=0)
        self._near = near * self.dtype.itemsize  # shared memory of a thread

    @cached_property
    def _block(self) -> int:
        """The threads of a block: as many as its shared memory has room for."""
        return block_of(self._near) or WARP

    @property
    def _options(self) -> tuple[str, ...]:
        return ("--std=c++14", f"-DBLOCK={self._block}")

    @cached_property
    def _module(self) -> Any:
        return needed_cupy().RawModule(code=self.source, options=self._options)

    @cached_property
    def _kernel(self) -> Any:
        return self._loaded(self._entry)

    def _loaded(self, entry: str) -> Any:
        kernel = self._module.get_function(entry)
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

    def _launch(self, states: int, arguments: list[Any], kernel: Any = None) -> None:
        """Launch on the current stream."""
        block = self._block
        grid, shared = ((states + block - 1) // block,), block * self._near
        if states:
            run = self._kernel if kernel is None else kernel
            run(grid, (block,), tuple(arguments), shared_mem=shared)

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


class CudaFunction(Kernel):
    """A generated function on the GPU: arrays (*shape, states) in, arrays (*shape, states) out.

    An input without the last dimension is shared by all states.  `source` is the CUDA C++ text.
    """

    def __init__(self, program: Program, single: bool):
        super().__init__(program, single, source(program, single), program.name, needed(program))

    def __call__(self, *args: Any) -> Any:
        """The results for device arrays."""
        cupy = needed_cupy()
        inputs = self.program.inputs
        if len(args) != len(inputs):
            names = ", ".join(a.name for a in inputs)
            raise ArgumentTypeError(
                f"{self.program.name} takes {len(inputs)} arrays ({names}), got {len(args)}."
            )
        arrays, shared, sizes = {}, set(), {}
        for a, x in zip(inputs, args):
            array = self._array(a.name, x, ((*a.shape, None), a.shape))
            if array.ndim == len(a.shape):
                shared.add(a.name)
            else:
                sizes[a.name] = array.shape[-1]
            arrays[a.name] = array
        states = self._states(sizes) if sizes else 1
        like = next((x for x in args if not isinstance(x, int | float)), None)
        with self._on_stream(like, args):
            for a in self.program.outputs:
                arrays[a.name] = cupy.empty((*a.shape, states), self.dtype)
            self._run(states, arrays, shared)
        return self._returned(like, [arrays[a.name] for a in self.program.outputs])

    def _run(self, states: int, arrays: dict[str, Any], shared: set[str]) -> None:
        """Write the outputs; arrays and those that all states share, by name."""
        self._launch(states, self._arguments(self.program, states, arrays, shared))

    @staticmethod
    def _arguments(program: Program, states: int, arrays: dict[str, Any], shared: set[str]) -> list:
        """The arguments of the kernel of a program."""
        bits = sum(1 << i for i, a in enumerate(program.inputs) if a.name in shared)
        given = [arrays[a.name] for a in (*program.inputs, *program.outputs)]
        return [*given, np.int64(states), np.uint64(bits)]


class CudaRollout(Kernel):
    """Whole simulations on the GPU, one for each thread: f(q, v, tau, dt, steps, record=steps).

    The shapes are q (nq, states), v (nv, states), and tau (nv, states), which is constant throughout, or
    (k, nv, states), where each row is constant for steps / k steps.  The function returns q, v at the end or, if
    `record` is less than `steps`, after every `record` steps: (steps / record, nq, states),
    (steps / record, nv, states).
    """

    def __init__(
        self,
        program: Program,
        single: bool,
        law: LawPlaces | None = None,
        model: Program | None = None,
    ):
        text = rollout_source(program, single, law, model)
        super().__init__(program, single, text, "rollout", needed(program, model))
        self._law = law

    def __call__(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dt: float,
        steps: int,
        *more: Any,
        record: int | None = None,
        sample: int = 1,
        law: Mapping[str, Any] | None = None,
    ) -> Any:
        """The states after `steps` steps, or after every `record` of them.

        sample, law : the steps of a sample and the arrays of a control law; see `law_source`.
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
        arrays_of_law: list[Any] = []
        if self._law is not None:
            given = law or {}
            arrays_of_law = [
                self._array(name, given[name], (shape,))
                for name, shape in self._law.shapes().items()
            ]
            numbers += [np.int32(sample), np.int32(len(given["gains"]) > 1)]
        with self._on_stream(q, (q, v, tau, *more, *(law or {}).values())):
            sizes_new = (nq, nv) if self._law is None else (nq, nv, nv)
            found = [cupy.empty((count, n, states), self.dtype) for n in sizes_new]
            self._launch(
                states,
                [
                    x,
                    y,
                    u,
                    *arrays,
                    *found,
                    *arrays_of_law,
                    *numbers,
                    np.int64(states),
                    np.uint64(shared),
                ],
            )
        return self._returned(q, [x[0] for x in found] if count == 1 else found)
