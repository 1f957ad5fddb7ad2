"""The rates of the state for simulations, as generated C; see `integrators.rates`."""

from __future__ import annotations

import ctypes
from weakref import WeakKeyDictionary

from limber.assembly.system import System
from limber.codegen import statements
from limber.codegen.c import HEAD, functions
from limber.codegen.statements import written
from limber.codegen.trace import Request, trace
from limber.integrators.context import APPLIED, FORCES
from limber.native import c_compiler

_RATES = """\
void limber_rates(const long long *context, double t, const double *y, double *dy)
{{
    typedef void (*forces)(const long long *, double, const double *);
    ((forces)(size_t)context[{forces}])(context, t, y);
    qdot(y, y + {nq}, dy);
    forward_dynamics(y, y + {nq}, (const double *)(size_t)context[{applied}], dy + {nq});
}}
"""

_loaded: WeakKeyDictionary[System, ctypes.CDLL] = WeakKeyDictionary()


def address(system: System) -> int:
    """The address of rates(context, t, y, dy) of a system, which is compiled if necessary."""
    if system not in _loaded:
        programs = [trace(Request(system, name)) for name in ("qdot", "forward_dynamics")]
        parts = [HEAD, *(functions(written(p), statements.DOUBLE) for p in programs)]
        parts.append(_RATES.format(forces=FORCES, applied=APPLIED, nq=system.nq))
        _loaded[system] = c_compiler.loaded("\n".join(parts))
    return ctypes.cast(_loaded[system].limber_rates, ctypes.c_void_p).value or 0
