"""The memory of a run: arrays side by side in one block, and their addresses."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.charts import sought
from limber.integrators import context as R
from limber.kernels import layout as L

#: The bytes of a number, and the numbers in a cache line.
NUMBER_BYTES, CACHE_LINE = 8, 8


@lru_cache
def _places(sizes: tuple[int, ...]) -> tuple[list[slice], np.ndarray, int]:
    """The places of arrays in a block that starts on a cache line, their offsets in bytes, and the block size."""
    *starts, end = accumulate((-(-size // CACHE_LINE) * CACHE_LINE for size in sizes), initial=0)
    slices = [slice(start, start + size) for start, size in zip(starts, sizes)]
    return slices, NUMBER_BYTES * np.array(starts), end


def side_by_side(*sizes: int) -> tuple[list[Array], np.ndarray]:
    """Arrays of zeros in one block of memory, each on a cache line of its own, and their addresses.

    Compiled loops choose their instructions, and thus the order of sums, by the distance of their arrays.  Here
    it is always the same, so a repeated run gives the same bits.
    """
    slices, offsets, size = _places(sizes)
    block = np.zeros(size + CACHE_LINE)
    address = block.ctypes.data
    first = (-address // NUMBER_BYTES) % CACHE_LINE
    block = block[first:]
    return [block[place] for place in slices], address + NUMBER_BYTES * first + offsets


def closure_sizes(system: System) -> tuple[int, int, int]:
    """The sizes of the memory of `integrators.projection`.

    They are its scratch, that of functions of the deformed bodies, and their constants if a run changes them.
    """
    if not system.closures:
        return 0, 0, 0
    scratch = system.rows + system.nv + max(system.nq, system.nv)
    own = len(system.geometry.const) if sought(system) else 0
    return scratch, int(system.geometry.topo[L.WORK_SIZE]), own


def implicit_sizes(system: System, stateful: bool) -> list[int]:
    """The sizes of the memory of `integrators.implicit`; it has matrices of slopes if forces may depend on the state."""
    nv = system.nv
    n = system.nq + nv + R.FLOWS
    sizes = [nv] * R.MEMORY_SIZE
    sizes[R.SLOPES_STATE] = 2
    sizes[R.STIFFENED] = sizes[R.STIFFENED_FREE] = len(system.dynamics.const)
    sizes[R.BASE] = sizes[R.POINT] = sizes[R.RATE] = n
    for matrix in (R.BY_Q, R.BY_V, R.Z, R.T, R.S):
        sizes[matrix] = nv * nv if stateful else 0
    return sizes
