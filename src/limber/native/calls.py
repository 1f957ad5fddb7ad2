"""Functions of the state of one system, ready to be called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from math import prod
from typing import Any

import numpy as np

from limber import native
from limber.kernels.functions import ENTRIES, INPUTS, ROWS, Sizes
from limber.native import record as R
from limber.native.dispatcher import dispatcher
from limber.native.status import OK, OVERFLOW, SINGULAR

#: Where the compiled functions take each input.
_PLACES = {
    "q": 0,
    "v": 1,
    "tau": 2,
    "vdot": 2,
    "dt": 2,
    "rows": 2,
    "starts": 2,
}  # 3 are the wrenches
_NO_NODES = np.empty(0, dtype=np.int64)
_NO_WRENCHES = np.empty(0)
#: Other threads run during calls with more scratch than this, of some 30 us and more.
UNLOCKED_FROM = 20_000
#: The most numbers that the dispatcher gives in several outputs (dispatch.c).
JOINED = 64


class Call:
    """A function of the table `limber.kernels.functions` on the packed arrays of a system.

    name : that of its row.
    nodes : flat (body, node record) pairs: the node it is about, or those of external forces.
    """

    def __init__(
        self,
        system: Sizes,
        name: str,
        topo: np.ndarray,
        const: np.ndarray,
        nodes: np.ndarray = _NO_NODES,
    ):
        function = ROWS[name]
        shapes = {part: INPUTS[part].shape_in(system) for part in function.inputs}
        #: the names of the inputs, and how many numbers a state has in each
        self.inputs = {part: prod(shape) for part, shape in shapes.items()}
        #: how many numbers a state has in the output
        self.size = function.size_in(system)
        wrenches = len(nodes) // 2 if function.forced else 0
        zeros = np.zeros(system.nv)
        #: for each input of the compiled function its shape, or the array that stands for one that is not given
        self._inputs = [zeros, zeros, zeros, (6 * wrenches,) if wrenches else _NO_WRENCHES]
        sizes = [0, 0, 0]
        for part, shape in shapes.items():
            self._inputs[_PLACES[part]], sizes[_PLACES[part]] = shape, prod(shape)
        self._outputs = [part.shape_in(system) for part in function.outputs]
        self._arrays = (topo, const, nodes)  # the record points to them
        record = {
            R.RUN: native.address("run_states"), R.FUNCTION: native.address(ENTRIES[function.kernel]),
            R.TOPO: topo.ctypes.data, R.CONST: const.ctypes.data, R.WRENCHES: wrenches, R.INDEX: nodes.ctypes.data,
            R.V_SIZE: sizes[1], R.X_SIZE: sizes[2], R.OUT_SIZE: self.size, R.PIVOTS: function.pivots,
            R.BAD_RESULT: (SINGULAR if function.forced else OVERFLOW) if function.finite else OK, R.FOUND: 0,
        }  # fmt: skip
        self.record = np.array([record[i] for i in range(R.RECORD)], dtype=np.int64)
        self._states = native.load("states")

    def run(self, given: Iterable[np.ndarray], work, out, start: int, stop: int) -> int:
        """States start .. stop of vectors, those of the function's inputs and then wrenches, into the vector
        `out`: the status."""
        vectors = iter(given)
        inputs = [next(vectors) if isinstance(x, tuple) else x for x in self._inputs]
        return self._states(self.record, *inputs, work, out, start, stop)

    def run_each(
        self,
        constants: np.ndarray,
        given: Iterable[np.ndarray],
        work,
        out,
        each: int,
        start: int,
        stop: int,
    ) -> np.ndarray:
        """`run` for the systems start .. stop with constants (systems, numbers), each with `each` states.

        Whether all went well for each of them.  The outputs of the others are arbitrary.
        """
        vectors = iter(given)
        inputs = [next(vectors) if isinstance(x, tuple) else x for x in self._inputs]
        record, states = self.record.copy(), self._states
        first, step = constants.ctypes.data, constants.strides[0]
        good = []
        for i in range(start, stop):
            record[R.CONST] = first + i * step
            good.append(states(record, *inputs, work, out, i * each, (i + 1) * each) == OK)
        return np.array(good, dtype=bool)

    @property
    def const(self) -> np.ndarray:
        """The constants of the system."""
        return self._arrays[1]

    def with_constants(self, const: np.ndarray) -> Call:
        """The same with other constants, of which there are as many."""
        other = copy(self)
        topo, _, *others = self._arrays
        other._arrays = (topo, const, *others)
        other.record = self.record.copy()
        other.record[R.CONST] = const.ctypes.data
        return other

    def checking_coordinates(self, most: float) -> Call:
        """The same, UNSURE where coordinates of cut joints have errors of more than `most` m or rad; of a closed sweep."""
        other = copy(self)
        limit = np.array([most])
        other._arrays = (*self._arrays, limit)
        other.record = self.record.copy()
        other.record[R.FOUND] = limit.ctypes.data
        return other

    def parts(self, out: np.ndarray, batch: tuple[int, ...] = ()) -> Any:
        """The outputs for a batch of states from the vector that `run` filled."""
        rows, parts, start = out.reshape((*batch, self.size)), [], 0
        for shape in self._outputs:
            stop = start + prod(shape)
            parts.append(rows[..., start:stop].reshape((*batch, *shape))[()])
            start = stop
        return parts[0] if len(parts) == 1 else tuple(parts)

    def single(self, scratch: list[np.ndarray], scratch_size: int) -> Callable[..., Any]:
        """A function of one state, checked in one compiled pass.

        scratch : arrays of `scratch_size` numbers for reuse; whoever holds the GIL may take one.

        The function takes what `run` does, and a time as a number; it gives the outputs in new arrays.  It answers
        with None if the arguments are not contiguous float64 arrays of one state, or if it rejects them.  It raises no
        AttributeError, KeyError or TypeError.  Its attribute `call` is this Call.
        """
        compiled = dispatcher()
        if compiled is None or (len(self._outputs) > 1 and self.size > JOINED):
            return self._single_by_numba(scratch, scratch_size)
        inputs = [x if isinstance(x, tuple) else x.ctypes.data for x in self._inputs]
        function = compiled(
            int(self.record[R.RUN]), [self.record.ctypes.data, *inputs], self._outputs, 1, scratch,
            scratch_size > UNLOCKED_FROM, 0, (), None,
        )  # fmt: skip
        function.call = self  # which also keeps the arrays
        return function

    def _single_by_numba(self, scratch, scratch_size) -> Callable[..., Any]:
        """The same without the dispatcher, through Numba's way in: slower."""
        states, record, size = self._states, self.record, self.size
        count = sum(isinstance(x, tuple) for x in self._inputs)
        behind = self._inputs[
            count:
        ]  # not given; a call with a gap before them is left to the careful way
        timed = () in (x for x in self._inputs if isinstance(x, tuple))
        shape = self._outputs[0] if len(self._outputs) == 1 else None

        def function(*given):
            if timed:
                if not isinstance(given[-1], float):
                    return None
                given = (*given[:-1], np.array((given[-1],)))
            try:
                work = scratch.pop()  # atomic, as append is: threads do not share scratch
            except IndexError:
                work = np.empty(scratch_size)
            out = np.empty(size)
            try:
                status = states(record, *given, *behind, work, out, 0, 1)
            except TypeError:  # not such vectors
                status = -1
            scratch.append(work)
            if status != OK:
                return None
            if shape is None:
                return self.parts(out)
            return out if len(shape) == 1 else out.reshape(shape)[()]

        function.call = self  # type: ignore[attr-defined]
        return function
