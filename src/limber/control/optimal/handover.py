"""Models for other optimal-control tools: CasADi Opti, do-mpc and acados."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import number, shown, whole
from limber.codegen import compile as generate
from limber.control.joints import JointPlaces, joint_places
from limber.control.optimal.ipopt import casadi
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError


@dataclass(frozen=True, eq=False)
class Shot:
    """A motion in a `casadi.Opti`, with constraints that join its intervals.

    opti : the problem, to which you add costs, bounds and a solver.
    q, v : (nq, N + 1) and (nv, N + 1), variables.
    u : (joints, N), variables, one column for each interval.
    duration : s, a number or a variable.
    labels : the names of the driven joints.
    """

    opti: Any
    q: Any
    v: Any
    u: Any
    duration: Any
    labels: tuple[str, ...]


def opti(
    system: System,
    duration: float | None,
    intervals: int,
    *,
    joints: Any = None,
    substeps: int = 1,
) -> Shot:
    """Return a `casadi.Opti` with the motion of a system over N intervals, by multiple shooting.

    Parameters
    ----------
    duration : s; None for a variable, which starts at 1 s and stays above 0.
    intervals : N; the forces are constant over each interval.
    joints : the bodies whose joints are driven; by default all joints whose speeds are the rates of their coordinates.
    substeps : steps of the classical Runge-Kutta method in each interval.
    """
    ca = casadi()
    places = _places(system, joints, "opti")
    N, n = whole("intervals", intervals, 1), whole("substeps", substeps, 1)
    if duration is not None:
        duration = number("duration", duration, above=0.0)
    step = generate(system, "step", "casadi")
    problem = ca.Opti()
    q, v = problem.variable(system.nq, N + 1), problem.variable(system.nv, N + 1)
    u = problem.variable(len(places), N)
    T: Any = duration
    if duration is None:
        T = problem.variable()
        problem.subject_to(T > 0.0)
        problem.set_initial(T, 1.0)
    problem.set_initial(q, np.tile(system.neutral()[:, None], (1, N + 1)))
    spread = _spread(system, places)
    h = T / (N * n)
    for k in range(N):
        at = q[:, k], v[:, k]
        for _ in range(n):
            at = step(*at, spread @ u[:, k], h)
        problem.subject_to(q[:, k + 1] == at[0])
        problem.subject_to(v[:, k + 1] == at[1])
    return Shot(problem, q, v, u, T, places.labels)


def do_mpc_model(system: System, *, joints: Any = None) -> Any:
    """Return a `do_mpc.model.Model`, continuous and set up, with the states "q" and "v" and the inputs "u" of the
    driven joints.

    joints : the bodies whose joints are driven; by default all joints whose speeds are the rates of their coordinates.
    """
    places = _places(system, joints, "do_mpc_model")
    try:
        from do_mpc.model import Model  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'do_mpc_model needs do-mpc: pip install "limber-dynamics[do-mpc]".'
        ) from error
    model = Model("continuous", "SX")
    q = model.set_variable("_x", "q", shape=(system.nq, 1))
    v = model.set_variable("_x", "v", shape=(system.nv, 1))
    u = model.set_variable("_u", "u", shape=(len(places), 1))
    model.set_rhs("q", generate(system, "qdot", "casadi")(q, v))
    forces = _spread(system, places) @ u
    model.set_rhs("v", generate(system, "forward_dynamics", "casadi")(q, v, forces))
    model.setup()
    return model


def acados(
    system: System, path: str | PathLike, *, joints: Any = None, name: str | None = None
) -> list[Path]:
    """Write the C functions that an explicit integrator of acados calls, and return their files.

    They have the signatures of CasADi functions, as acados requires, with states x = [q, v], forces u of the driven
    joints and no parameters:

        <name>_expl_ode_fun(x, u, p) -> xdot
        <name>_expl_vde_forw(x, Sx, Su, u, p) -> xdot, A Sx, A Su + B
        <name>_expl_vde_adj(x, lambda, u, p) -> [A^T lambda; B^T lambda]

    A and B are the generated derivatives of forward dynamics.

    Parameters
    ----------
    system : a system without quaternions.
    path : the folder, which is created if necessary.
    joints : the bodies whose joints are driven; by default all joints whose speeds are the rates of their coordinates.
    name : of the model, used as the prefix of files and functions; a C identifier.
    """
    ca = casadi()
    places = _places(system, joints, "acados")
    if system.nq != system.nv:
        raise ArgumentValueError(
            f"acados: {system.name!r} has quaternions, which acados cannot treat as vectors. Use joints without "
            "quaternions."
        )
    prefix = "limber_model" if name is None else name
    if not isinstance(prefix, str) or not ca.Function.check_name(prefix):
        raise ArgumentValueError(f"name must be a C identifier without __, got {shown(name)}.")
    if not isinstance(path, str | PathLike):
        raise ArgumentTypeError(f"path must be a folder, got {shown(path)}.")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    return [_written(f, folder) for f in _explicit(ca, system, places, prefix)]


def _explicit(ca: Any, system: System, places: JointPlaces, prefix: str) -> list[Any]:
    """The functions of an explicit integrator."""
    n, m = system.nv, len(places)
    x, u, p = ca.SX.sym("x", 2 * n), ca.SX.sym("u", m), ca.SX.sym("p", 0)
    spread = _spread(system, places)
    q, v, tau = x[:n], x[n:], spread @ u
    rates = ca.vertcat(v, generate(system, "forward_dynamics", "casadi")(q, v, tau))
    by = ("q", "v", "tau")
    by_q, by_v, by_tau = generate(system, "forward_dynamics", "casadi", wrt=by)(q, v, tau)
    A = ca.vertcat(ca.horzcat(ca.DM.zeros(n, n), ca.DM.eye(n)), ca.horzcat(by_q, by_v))
    B = ca.vertcat(ca.DM.zeros(n, m), by_tau @ spread)
    Sx, Su = ca.SX.sym("Sx", 2 * n, 2 * n), ca.SX.sym("Su", 2 * n, m)
    multipliers = ca.SX.sym("lambda", 2 * n)
    functions = {
        "expl_ode_fun": ([x, u, p], [rates]),
        "expl_vde_forw": ([x, Sx, Su, u, p], [rates, A @ Sx, A @ Su + B]),
        "expl_vde_adj": (
            [x, multipliers, u, p],
            [ca.vertcat(A.T @ multipliers, B.T @ multipliers)],
        ),
    }
    made = []
    for suffix, (inputs, outputs) in functions.items():
        dense = [ca.densify(output) for output in outputs]
        made.append(ca.Function(f"{prefix}_{suffix}", inputs, dense, {"cse": True}))
    return made


def _written(function: Any, folder: Path) -> Path:
    """The file of a function."""
    options = {"casadi_int": "int", "casadi_real": "double", "mex": False}
    file = f"{function.name()}.c"
    generator = casadi().CodeGenerator(file, options)
    generator.add(function)
    generator.generate(f"{folder}/")
    return folder / file


def _places(system: System, joints: Any, owner: str) -> JointPlaces:
    check_system(system)
    if system.closures:
        raise ArgumentValueError(
            f"{owner} is for open systems, but {system.name!r} has closures: {', '.join(system.closures)}."
        )
    return joint_places(system, joints, owner)


def _spread(system: System, places: JointPlaces) -> Any:
    """The matrix (nv, joints) from forces of joints to generalized forces."""
    matrix = np.zeros((system.nv, len(places)))
    matrix[places.v, np.arange(len(places))] = 1.0
    return casadi().DM(matrix)
