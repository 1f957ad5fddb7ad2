"""Functions composed of several kernels: steps, closed systems, and operational space."""

from __future__ import annotations

from limber.codegen.graph import Scalar
from limber.codegen.tracing import Tracing
from limber.kernels import layout as L
from limber.kernels.functions import FUNCTIONS, INTERNAL, SWEEPS


def _step(at: Tracing) -> list[Scalar]:
    """The outputs of the step kernel, whose forward dynamics is a call of the program of `forward_dynamics`.

    The step of a closed system ends with `project`.
    """
    s, values = at.request.system, at.values
    inner = at.called("forward_dynamics")

    def accelerations(q, v, tau, vdot):
        vdot[:] = inner(q, v, tau)

    scratch = [[0.0] * n for n in (s.nq, s.nv, s.nq, s.nv)]
    q_new, v_new = [0.0] * s.nq, [0.0] * s.nv
    at.request.kernels.step.runge_kutta(
        *at.model.dynamics, accelerations, values["q"], values["v"], values["tau"], values["dt"][0],
        *scratch, q_new, v_new,
    )  # fmt: skip
    if s.closures:
        return list(at.called("project")(q_new, v_new))
    return [*q_new, *v_new]


# --- closed systems -------------------------------------------------------------------------------


def _constraint_forces(at: Tracing) -> list[Scalar]:
    """The wrenches of the multipliers that forward dynamics leaves in its work; of the undeformed geometry if ruthless."""
    s = at.request.system
    at.run(SWEEPS["closed"])
    topo, _, work = at.model.dynamics
    multipliers = work[topo[L.W_LAMBDA] : topo[L.W_LAMBDA] + s.rows]
    q = list(at.values["q"])
    if s.fidelity == "ruthless":
        for where in s.layout.values():
            q[where.q_modes] = [0.0] * (where.q_modes.stop - where.q_modes.start)
    found = at.run(INTERNAL["wrenches"], q=q, rows=multipliers)
    by_name = {name: found[6 * i : 6 * i + 6] for i, name in enumerate(s.closure_rows)}
    return [x for name in at.request.closures for x in by_name.get(name, [0.0] * 6)]


def _constraint_residual(at: Tracing) -> list[Scalar]:
    """Positions and velocities of the closure rows."""
    return [*at.run(INTERNAL["violations"]), *at.run(INTERNAL["row_rates"])]


def _project(at: Tracing) -> list[Scalar]:
    """One step of `constraints.project`, at positions and then at speeds."""
    correction = at.called("correction")
    off = at.run(INTERNAL["violations"])
    change: list[Scalar] = [*correction(at.values["q"], [-x for x in off])]
    q_new = at.run(FUNCTIONS["integrate"], v=change, dt=[1.0])
    rates = at.run(INTERNAL["row_rates"], q=q_new)
    return [*q_new, *(v - dv for v, dv in zip(at.values["v"], correction(q_new, rates)))]


# --- operational space ----------------------------------------------------------------------------


def _operational_inertia(at: Tracing) -> list[Scalar]:
    """J M^{-1} J^T and its inverse, by L D L^T."""
    n, rest = at.request.system.probes, [0.0] * at.request.system.nv
    inverse = at.run(INTERNAL["operational_motion"], v=[*rest], tau=[*rest])[: n * n]
    factors = list(inverse)
    ldlt = at.request.kernels.ldlt
    ldlt.factorize(factors, 0, n)
    columns = []
    for i in range(n):
        column: list[Scalar] = [0.0] * n
        column[i] = 1.0
        ldlt.solve(factors, 0, n, column, 0)
        columns.append(column)
    return [*(columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)), *inverse]


def _operational_acceleration(at: Tracing) -> list[Scalar]:
    """The accelerations of the ends."""
    return at.run(INTERNAL["operational_motion"])[-at.request.system.probes :]


def _operational_response(at: Tracing) -> list[Scalar]:
    """M^{-1} J^T, a column for each row of the ends."""
    n, nv = at.request.system.probes, at.request.system.nv
    found = at.run(INTERNAL["operational_responses"])
    return [found[i * nv + j] for j in range(nv) for i in range(n)]


#: What makes their outputs, one after the other, by name.
COMPOSED = {
    "operational_inertia": _operational_inertia,
    "operational_acceleration": _operational_acceleration,
    "operational_response": _operational_response,
    "step": _step,
    "constraint_forces": _constraint_forces,
    "constraint_residual": _constraint_residual,
    "project": _project,
}
