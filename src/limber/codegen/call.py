"""Calls of generated C functions on NumPy arrays: checks, batches, threads, and fast calls of single states."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from limber.checks import UNIT_TOLERANCE, numbers, shown, text, unit_quaternion
from limber.codegen.program import Argument, Program
from limber.dynamics.cores import cores
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.native.dispatcher import dispatcher
from limber.native.status import UNIT_ROUNDING

#: A batch gets one thread for this many states.
STATES_PER_THREAD = 2048
#: `UNIT_ROUNDING` in single precision.
UNIT_ROUNDING_SINGLE = 2.0**-21


class Caller:
    """A loaded function, called with any arrays that fit.

    Inputs are arrays of the shapes of `program.inputs`, with the same leading batch dimensions or
    none; contiguous arrays of the right type are used in place.  `quaternions` holds the indices at which
    quaternions begin in the first input.
    """

    def __init__(
        self,
        program: Program,
        library: ctypes.CDLL,
        single: bool,
        threads: int | None,
        quaternions: Sequence[int] = (),
    ):
        self.program = program
        self.quaternions = list(quaternions)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.threads = threads
        self._library = library  # stays loaded
        #: the arguments of `compile` that made it, for pickle
        self.recipe: tuple[Any, str, dict[str, Any]] | None = None
        self._call = library.limber_call
        self._call.restype = None
        self._call.argtypes = [ctypes.c_void_p] * 2
        self._batch = library.limber_batch
        self._batch.restype = None
        self._batch.argtypes = [ctypes.c_ssize_t, ctypes.c_ssize_t] + [ctypes.c_void_p] * 3

    def __reduce__(self):
        if self.recipe is None:
            raise ArgumentTypeError(
                "this generated function was not made by lb.compile, so it cannot be pickled."
            )
        return _compiled_again, self.recipe

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """The results for `args`, given in order or by name, in new arrays or in `out`."""
        inputs = self.program.inputs
        if named:
            args = self._in_order(args, named)
        if len(args) != len(inputs):
            names = ", ".join(a.name for a in inputs)
            raise ArgumentTypeError(
                f"{self.program.name} takes {len(inputs)} arguments ({names}), got {len(args)}."
            )
        arrays = [self._array(a, x) for a, x in zip(inputs, args)]
        if self.quaternions:
            arrays[0] = self._with_unit_quaternions(arrays[0])
        batches = [x.shape[: x.ndim - len(a.shape)] for a, x in zip(inputs, arrays)]
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            shapes = ", ".join(f"{a.name} {x.shape}" for a, x in zip(inputs, arrays))
            raise ArgumentValueError(f"the batch dimensions do not match: {shapes}.") from None
        count = int(np.prod(batch, dtype=np.int64))
        strides = []
        for i, (a, own) in enumerate(zip(inputs, batches)):
            strides.append(0 if own == () else a.size)
            if own not in ((), batch):
                arrays[i] = np.ascontiguousarray(np.broadcast_to(arrays[i], (*batch, *a.shape)))
        results = self._results(out, batch, arrays)
        self._run(None if batch == () else count, arrays, strides, results)
        if out is not None:
            return out
        done = [r[()] for r in results]
        return tuple(done) if len(done) > 1 or self.program.listed else done[0]

    def _in_order(self, args: tuple, named: dict[str, Any]) -> tuple:
        """All arguments in order, where some were given by name."""
        rest = [a.name for a in self.program.inputs[len(args) :]]
        for name in named:
            if name not in rest:
                known = ", ".join(a.name for a in self.program.inputs)
                raise ArgumentTypeError(
                    f"{self.program.name} has no keyword argument {name!r}; it takes {known}, in this order."
                )
        return (*args, *(named[name] for name in rest if name in named))

    def _array(self, argument: Argument, value: Any) -> np.ndarray:
        """An input in the form that the code needs; it is copied only if necessary."""
        array = value
        if type(value) is not np.ndarray or value.dtype != self.dtype:
            array = numbers(argument.name, value, text(argument.shape))
        array = (
            np.ascontiguousarray(array, dtype=self.dtype)
            if array.ndim
            else array.astype(self.dtype)
        )
        own = len(argument.shape)
        if array.ndim < own or array.shape[array.ndim - own :] != argument.shape:
            what = f" ({argument.meaning})" if argument.meaning else ""
            raise ArgumentValueError(
                f"{argument.name}{what} must have shape {argument.shape}, or this shape after batch dimensions, got "
                f"{array.shape}."
            )
        return array

    def _with_unit_quaternions(self, q: np.ndarray) -> np.ndarray:
        """q as the engine takes it: quaternions are normalized, and rejected if they are too far from unit."""
        columns = np.add.outer(self.quaternions, np.arange(4))
        parts = q[..., columns].astype(np.float64)
        norms = np.linalg.norm(parts, axis=-1)
        error = np.abs(norms - 1.0)
        if np.any(error > UNIT_TOLERANCE):
            *state, i = np.unravel_index(np.nanargmax(error), error.shape)
            at = self.quaternions[i]
            which = f" of state {shown(tuple(map(int, state)))}" if state else ""
            unit_quaternion(f"q[{at}:{at + 4}]{which}", parts[(*state, i)])
        if not np.any(error > (UNIT_ROUNDING if q.dtype == np.float64 else UNIT_ROUNDING_SINGLE)):
            return q
        result = q.copy()
        result[..., columns] = parts / norms[..., None]
        return result

    def _results(
        self, out: Any, batch: tuple[int, ...], arrays: list[np.ndarray]
    ) -> list[np.ndarray]:
        outputs = self.program.outputs
        if out is None:
            return [np.empty((*batch, *a.shape), dtype=self.dtype) for a in outputs]
        given = (out,) if len(outputs) == 1 else out
        if not isinstance(given, tuple | list) or len(given) != len(outputs):
            names = ", ".join(a.name for a in outputs)
            raise ArgumentTypeError(f"out must be a tuple of {len(outputs)} arrays ({names}).")
        for i, (a, x) in enumerate(zip(outputs, given)):
            shape = (*batch, *a.shape)
            fits = isinstance(x, np.ndarray) and x.dtype == self.dtype and x.shape == shape
            if not fits or not x.flags.c_contiguous or not x.flags.writeable:
                what = (
                    f"{x.dtype} array of shape {x.shape}" if isinstance(x, np.ndarray) else shown(x)
                )
                raise ArgumentValueError(
                    f"out for {a.name} must be a writable, C-contiguous {self.dtype} array of shape {shape}, got "
                    f"{what}."
                )
            if any(np.may_share_memory(x, y) for y in arrays):
                raise ArgumentValueError(
                    f"out for {a.name} overlaps an input: give it its own memory."
                )
            if any(np.may_share_memory(x, y) for y in given[:i]):
                raise ArgumentValueError(
                    f"out for {a.name} overlaps another output: give it its own memory."
                )
        return list(given)

    def bound(
        self, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray]
    ) -> Callable[[], None]:
        """Return a function without arguments that runs over a batch in these arrays.

        It uses the values of the arrays at the time of the call.

        arrays, results : one for each input and output, C-contiguous, of the type of the code, with one batch
            dimension, except for inputs that all states share.  Their quaternions must be unit.
        """
        inputs = self.program.inputs
        strides = [a.size if x.ndim > len(a.shape) else 0 for a, x in zip(inputs, arrays)]
        run = self._over(len(results[0]), arrays, strides, results)
        run.arrays = (*arrays, *results)  # type: ignore[attr-defined]  # they stay where they are
        return run

    def _run(self, count: int | None, arrays, strides, results) -> None:
        """Run over a batch, or on one state (None) in the same way as the dispatcher, with the same numbers."""
        if count is None:
            self._call(_addresses(arrays), _addresses(results))
        else:
            self._over(count, arrays, strides, results)()

    def _over(self, count: int, arrays, strides, results) -> Callable[[], None]:
        """A function that runs over a batch, in threads if it is large."""
        inputs, outputs = _addresses(arrays), _addresses(results)
        steps = (ctypes.c_ssize_t * len(strides))(*strides)
        most = cores() if self.threads is None else self.threads
        threads = max(1, min(most, count // STATES_PER_THREAD))
        if threads == 1:
            return partial(self._batch, 0, count, inputs, steps, outputs)
        # parts start at multiples of 64 states, so that blocks of lanes stay whole
        bounds = [count * i // threads // 64 * 64 for i in range(threads)] + [count]

        def run() -> None:
            with ThreadPoolExecutor(threads) as pool:
                list(
                    pool.map(
                        lambda span: self._batch(*span, inputs, steps, outputs),
                        pairwise(bounds),
                    )
                )

        return run

    def __repr__(self) -> str:
        def described(arguments):
            return ", ".join(f"{a.name} {a.shape}" for a in arguments)

        p = self.program
        return (
            f"<{p.about or p.name}: {described(p.inputs)} -> {described(p.outputs)}, {self.dtype}>"
        )


def _addresses(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])


def _compiled_again(system: Any, function: str, options: dict[str, Any]) -> Any:
    """Make the same function in this process, for pickle; its code is in the cache."""
    from limber.codegen.compiler import compile  # noqa: PLC0415

    return compile(system, function, **options)


def dispatched(caller: Caller) -> Any:
    """`caller` wrapped by the compiled dispatcher, which handles single states itself; see native/dispatch.c."""
    function = dispatcher()
    program = caller.program
    arguments = (*program.inputs, *program.outputs)
    alone = program.listed and len(program.outputs) == 1  # the dispatcher would not wrap it
    if function is None or alone or len(arguments) > 24 or any(len(a.shape) > 3 for a in arguments):
        return caller
    address = ctypes.cast(caller._library.limber_call, ctypes.c_void_p).value
    inputs, outputs = [a.shape for a in program.inputs], [a.shape for a in program.outputs]
    single = caller.dtype == np.float32
    return function(address, inputs, outputs, 0, None, 0, single, caller.quaternions, caller)
