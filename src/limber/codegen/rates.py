"""The rates of the state for simulations, as generated C; see `integrators.rates`."""

from __future__ import annotations

import ctypes
from weakref import WeakKeyDictionary

from limber.assembly.parameters import find
from limber.assembly.system import System
from limber.codegen import statements
from limber.codegen.c import HEAD, functions
from limber.codegen.request import Request
from limber.codegen.statements import written
from limber.codegen.trace import trace
from limber.integrators.context import APPLIED, CONST, CONST_SIZE, FORCES, TAU, WRENCH_PARTS
from limber.native import c_compiler

_RATES = """\
void limber_rates(const long long *context, double t, double *y, double *dy)
{{
    typedef void (*forces)(const long long *, double, double *);
    double *applied = (double *)(size_t)context[{applied}];
    const double *numbers = (const double *)(size_t)context[{const}] + context[{const_size}];
    (void)numbers;
    ((forces)(size_t)context[{forces}])(context, t, y);
    qdot(y, y + {nq}, dy);
{dynamics}
}}
"""
_FREE = "    forward_dynamics(y, y + {nq}, applied, {numbers}dy + {nq});"
#: As `integrators.motions.settle`.
_DRIVEN = """\
    double found[{nv}];
    double *tau = (double *)(size_t)context[{tau}];
    const double *parts = (const double *)(size_t)context[{parts}];
    static const int driven[] = {{{driven}}};
    hybrid_dynamics(y, y + {nq}, applied, {numbers}dy + {nq}, found);
    for (size_t i = 0; i < sizeof driven / sizeof *driven; ++i) {{
        const int j = driven[i];
        applied[j] = found[j];
        tau[j] = found[j] - parts[j];
    }}"""

_loaded: WeakKeyDictionary[System, dict[tuple, ctypes.CDLL]] = WeakKeyDictionary()


def address(system: System, driven: tuple[str, ...] = ()) -> int:
    """The address of rates(context, t, y, dy) of a system, which is compiled if necessary.

    The numbers that `with_parameters` changed are arguments of the code, so systems that differ in them share it.  They lie
    behind the constants of the run, in the order of `numbers`.

    driven : the bodies whose joints have prescribed motion.
    """
    origin = system._origin
    code, names = (system, ()) if origin is None else (origin.system, tuple(origin.values))
    libraries = _loaded.setdefault(code, {})
    if (driven, names) not in libraries:
        libraries[driven, names] = c_compiler.loaded(_source(code, driven, names))
    return ctypes.cast(libraries[driven, names].limber_rates, ctypes.c_void_p).value or 0


def numbers(system: System) -> list[float]:
    """The numbers of a system that its code takes as arguments."""
    return (
        [] if system._origin is None else [x for xs in system._origin.values.values() for x in xs]
    )


def _source(system: System, driven: tuple[str, ...], parameters: tuple[str, ...]) -> str:
    """The C code."""
    if driven:
        dynamics = Request(system, "hybrid_dynamics", driven=driven, parameters=parameters)
        template = _DRIVEN
    else:
        dynamics, template = Request(system, "forward_dynamics", parameters=parameters), _FREE
    sizes = [find(system, name).value.size for name in parameters]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    places = [system.layout[body].v_joint for body in driven]
    speeds = [str(i) for place in places for i in range(place.start, place.stop)]
    known = {
        "nq": system.nq, "nv": system.nv, "forces": FORCES, "applied": APPLIED, "tau": TAU,
        "parts": WRENCH_PARTS, "driven": ", ".join(speeds), "const": CONST, "const_size": CONST_SIZE,
        "numbers": "".join(f"numbers + {start}, " for start in starts),
    }  # fmt: skip
    programs = [trace(Request(system, "qdot")), trace(dynamics)]
    parts = [HEAD, *(functions(written(p), statements.DOUBLE) for p in programs)]
    parts.append(_RATES.format(dynamics=template.format(**known), **known))
    return "\n".join(parts)
