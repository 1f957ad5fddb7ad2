"""Values that are not finite, and where they came from.  Compiled only."""

from limber.kernels.layout import NQ, NV
from limber.kernels.scalar import kernel
from limber.native.pointers import numbers_at, shifted, words_at
from limber.native.state_checks import finite

from .context import FAULT, FAULT_PART, FAULT_TIME, RUNAWAY, SHARED, TOPO


@kernel
def bounded(y, n):
    """Whether a state is finite and belongs to a motion that does not diverge."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(y[i]))
    return finite(y, n) and largest < RUNAWAY


@kernel
def note_fault(context, number, t, values, count, y):
    """Note when and where values of function `number` are not finite although the state is."""
    shared, topo = numbers_at(context[SHARED]), words_at(context[TOPO])
    if shared[FAULT] == 0.0 and not finite(values, count) and bounded(y, topo[NQ] + topo[NV]):
        shared[FAULT], shared[FAULT_TIME] = number, t
        for i in range(count - 1, -1, -1):
            if not finite(shifted(values, i), 1):
                shared[FAULT_PART] = i
