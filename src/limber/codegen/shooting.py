"""Steps of a system over many intervals at once, with their derivatives, for multiple shooting.

Solves    x_new = the state after dt, from x = [q, v] with constant forces u, in `substeps` steps of the classical
          Runge-Kutta method; slopes = d x_new / d (x, u, dt)
Given     count intervals, each with its own x, u, dt and numbers of the model
Cost      of an interval and a substep: four Jacobians of forward dynamics and the products of `derivatives.of_step`

Derivatives are with respect to the plain coordinates, including quaternions.  `step` is smooth off the unit sphere and
ends on it, so x_new = step(x) can be linearized and solved like any other equation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.codegen import statements
from limber.codegen.c import HEAD, LOOPS, functions
from limber.codegen.derivatives import of_step
from limber.codegen.program import Program
from limber.codegen.request import Request
from limber.codegen.statements import written
from limber.codegen.trace import trace
from limber.native import c_compiler

_SOURCE = """\
#include <string.h>

enum {{ NQ = {nq}, NV = {nv}, NX = NQ + NV, NU = {nu}, ND = {nd} }};
static const int driven[] = {{{driven}}};

void limber_roll(ptrdiff_t count, ptrdiff_t substeps, const double *x, const double *u, const double *dt,
                 const double *numbers, ptrdiff_t stride, double *x_new)
{{
    for (ptrdiff_t n = 0; n < count; ++n) {{
        double from[NX], to[NX], tau[NV] = {{0}};
        const double h = dt[n] / substeps;
        const double *p = numbers + n * stride;
        (void)p;
        memcpy(from, x + n * NX, sizeof from);
        for (int i = 0; i < NU; ++i) tau[driven[i]] = u[n * NU + i];
        for (ptrdiff_t k = 0; k < substeps; ++k) {{
            step(from, from + NQ, tau, &h{parameters}, to, to + NQ);
            memcpy(from, to, sizeof from);
        }}
        memcpy(x_new + n * NX, from, sizeof from);
    }}
}}

{loops}void limber_shoot(ptrdiff_t count, ptrdiff_t substeps, const double *x, const double *u, const double *dt,
                  const double *numbers, ptrdiff_t stride, double *x_new, double *slopes)
{{
    for (ptrdiff_t n = 0; n < count; ++n) {{
        double from[NX], to[NX], tau[NV] = {{0}}, one[NX * ND], old[NX * ND];
        double *const all = slopes + n * NX * ND;
        const double h = dt[n] / substeps;
        const double *p = numbers + n * stride;
        (void)p;
        memcpy(from, x + n * NX, sizeof from);
        for (int i = 0; i < NU; ++i) tau[driven[i]] = u[n * NU + i];
        for (ptrdiff_t k = 0; k < substeps; ++k) {{
            step_slopes(from, from + NQ, tau, &h{parameters}, to, to + NQ, one);
            memcpy(from, to, sizeof from);
            for (int i = 0; ND > NX + NU && i < NX; ++i) one[i * ND + NX + NU] /= substeps;
            if (k == 0) {{
                memcpy(all, one, sizeof one);
                continue;
            }}
            memcpy(old, all, sizeof old);
            for (int i = 0; i < NX; ++i) {{
                for (int j = 0; j < ND; ++j) all[i * ND + j] = j < NX ? 0.0 : one[i * ND + j];
                for (int m = 0; m < NX; ++m) {{
                    for (int j = 0; j < ND; ++j) all[i * ND + j] += one[i * ND + m] * old[m * ND + j];
                }}
            }}
        }}
        memcpy(x_new + n * NX, from, sizeof from);
    }}
}}
"""


class Shooting:
    """The steps of a system and their derivatives, compiled.

    Parameters
    ----------
    system : a system without closures.
    forces : the indices in v of the forces u.
    parameters : names of numbers of the model that become arguments; see `lb.compile`.
    timed : whether to compute derivatives with respect to dt.
    """

    def __init__(
        self,
        system: System,
        forces: Sequence[int],
        parameters: Sequence[str] = (),
        timed: bool = False,
    ):
        self.nx, self.nu = system.nq + system.nv, len(forces)
        self.width = self.nx + self.nu + timed
        request = Request(system, "step", parameters=tuple(parameters))
        step, slopes = trace(request), of_step(request, forces, timed)
        self.source = _source(system, forces, step, slopes)
        self._load()

    def _load(self) -> None:
        library = c_compiler.loaded(self.source)
        self._roll, self._shoot = library.limber_roll, library.limber_shoot
        size, array = ctypes.c_ssize_t, ctypes.c_void_p
        head = [size, size, array, array, array, array, size]
        self._roll.argtypes, self._shoot.argtypes = [*head, array], [*head, array, array]
        self._roll.restype = self._shoot.restype = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_roll", "_shoot")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._load()

    def _arguments(self, x: Array, u: Array, dt: Array, substeps: int, numbers: Array | None):
        x, u, dt = (np.ascontiguousarray(part, dtype=float) for part in (x, u, dt))
        count = len(x)
        assert x.shape == (count, self.nx) and u.shape == (count, self.nu) and dt.shape == (count,)
        given = np.zeros(0) if numbers is None else np.ascontiguousarray(numbers, dtype=float)
        stride = given.shape[1] if given.ndim == 2 else 0
        kept = (x, u, dt, given)
        head = (count, substeps, *(part.ctypes.data for part in kept), stride)
        return kept, head

    def roll(
        self, x: Array, u: Array, dt: Array, substeps: int = 1, numbers: Array | None = None
    ) -> Array:
        """Return the states (count, nx) after steps from x (count, nx) with the forces u (count, nu) over dt (count,).

        numbers : the parameters in one row, for all or (count, ...) for each.
        """
        kept, head = self._arguments(x, u, dt, substeps, numbers)
        x_new = np.empty_like(kept[0])
        self._roll(*head, x_new.ctypes.data)
        return x_new

    def shoot(
        self,
        x: Array,
        u: Array,
        dt: Array,
        substeps: int = 1,
        numbers: Array | None = None,
        slopes: Array | None = None,
    ) -> tuple[Array, Array]:
        """What `roll` gives, and the slopes (count, nx, nx + nu) or (count, nx, nx + nu + 1); into `slopes` if given."""
        kept, head = self._arguments(x, u, dt, substeps, numbers)
        x_new = np.empty_like(kept[0])
        if slopes is None:
            slopes = np.empty((len(x_new), self.nx, self.width))
        self._shoot(*head, x_new.ctypes.data, slopes.ctypes.data)
        return x_new, slopes


def _source(system: System, forces: Sequence[int], step: Program, slopes: Program) -> str:
    programs: list[Program] = []
    for program in (*step.callees, step, *slopes.callees, slopes):
        if program.name not in {p.name for p in programs}:
            programs.append(program)
    offsets, start = [], 0
    for argument in step.inputs[4:]:
        offsets.append(f", p + {start}")
        start += argument.size
    return "\n".join(
        [
            HEAD,
            *(functions(written(p), statements.DOUBLE) for p in programs),
            _SOURCE.format(
                nq=system.nq,
                nv=system.nv,
                nu=len(forces),
                nd=slopes.outputs[-1].shape[1],
                driven=", ".join(str(int(i)) for i in forces) or "0",
                parameters="".join(offsets),
                loops=LOOPS,
            ),
        ]
    )
