"""`compile` and `operation_count`: the public interface of code generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any
from weakref import WeakKeyDictionary

from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import integer, numbers, shown, whole
from limber.codegen import c, call
from limber.codegen.derivatives import derivative
from limber.codegen.generated import OF_CLOSURES, OPERATIONAL
from limber.codegen.law_source import LawPlaces
from limber.codegen.program import OperationCount, Program
from limber.codegen.request import Request
from limber.codegen.rollout import Rollout
from limber.codegen.stages import stages
from limber.codegen.trace import trace
from limber.constraints.independent import Independent, independent_rows
from limber.constraints.operational import probed
from limber.dynamics.closing import nearly_met
from limber.dynamics.ends import Ends, checked_ends
from limber.dynamics.evaluate import evaluated
from limber.dynamics.hybrid import driven_bodies
from limber.dynamics.refusals import quaternions
from limber.dynamics.rows import worst
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError, ModelWarning, warn
from limber.native import c_compiler

TARGETS = ("c", "c-package", "casadi", "cuda")
#: The functions of batches, by their parameters, lanes and law.
_rollouts: WeakKeyDictionary[System, dict[tuple, Rollout]] = WeakKeyDictionary()
#: Code with more operations than this takes minutes to compile.
LARGE = 400_000
LANES = (1, 2, 4, 8, 16, 32, 64)
_PRECISIONS = {
    "float64": False, "double": False, "float": False, "float32": True, "single": True,
}  # fmt: skip


def compile(
    system: System,
    function: str,
    target: str = "c",
    *,
    body: str | None = None,
    node: str | int | None = None,
    wrt: str | Sequence[str] | None = None,
    external: Sequence[tuple[str, str | int]] = (),
    parameters: Sequence[str] = (),
    driven: Sequence[str] = (),
    ends: Ends = (),
    rows: str | ArrayLike = "independent",
    dtype: Any = "float64",
    lanes: int = 1,
    threads: int | None = None,
    path: str | PathLike | None = None,
    name: str | None = None,
) -> Any:
    """Generate straight-line code for one function of one system, from the kernels themselves.

    f = lb.compile(s, "forward_dynamics"); vdot = f(q, v, tau)

    Parameters
    ----------
    function : "forward_dynamics" (q, v, tau), "inverse_dynamics" (q, v, vdot), "hybrid_dynamics" (q, v, tau) -> vdot,
        forces, whose tau contains vdot for the `driven` joints, "bias" (q, v), "mass_matrix" (q), "kinetic_energy" (q,
        v), "potential_energy" (q), "momentum" (q, v), "pose" (q) -> R, p, "jacobian" (q) and "acceleration" (q, v,
        vdot) of a node, "qdot" (q, v), "integrate" (q, v, dt), and "step" (q, v, tau, dt) -> q, v, which is one step of
        the classical Runge-Kutta method with constant tau; with target "cuda" also "rollout", many steps on the device
        (see `codegen.cuda.CudaRollout`).  For closed systems also "constraint_forces" (q, v, tau) -> wrenches at the
        ends b, a row for each closure, "constraint_residual" (q, v) -> position, velocity of the closure rows, and
        "project" (q, v) -> q, v, which is one step of `lb.project`; "step" ends with it.  For operational space
        (`lb.operational_inertia`), with `ends`: "operational_inertia" (q) -> inertia, inverse,
        "operational_acceleration" (q, v, tau), and "operational_response" (q), which is M^{-1} J^T.
    target : "c" compiles with the system's C compiler and returns a function of NumPy arrays;
        "c-package" writes a stand-alone folder and returns its path; "casadi" returns a
        `casadi.Function`; "cuda" returns a function of arrays on the GPU, shape (size, states).
    body, node : the node of "pose", "jacobian" and "acceleration"; without `node`, the body frame.
    wrt : the Jacobian with respect to an input ("q", "v", "tau", ...) or parameter instead of the
        function itself; or a list of them, for a tuple of Jacobians.  Derivatives with respect to q are on
        the tangent space (nv columns: the derivative along q_dot = N(q) v), and so are those of
        coordinates (the q of "step": nv rows).  In a closed system they are derivatives of a function of all q and v,
        with A(q) vdot + a0(q, v) = 0 even where the closures are violated; along changes that the closures allow,
        they are those of the mechanism.
    external : (body, node) ends of external wrenches, which become an input (n, 6) in world axes.
    parameters : names of `System.parameters`, such as "gravity", "<body>.mass", ".inertia", ".EI", ".offset": numbers
        of the model that become inputs, after the others.
    driven : ("hybrid_dynamics") the names of the bodies whose joints have prescribed motion.
    ends : (functions of operational space) ("body", node), or a list of them, as in `lb.operational_inertia`.
    rows : (closed systems) which closure rows the code has.  "independent" permanently leaves out the rows that are
        redundant wherever the closures are satisfied; the forces of these rows are zero.  They are found in a
        configuration from `lb.assemble`; if that fails, pass a configuration q that satisfies the closures instead of
        the word.  If the other rows lose rank, in singular configurations, the results are infinite or NaN.  "all"
        keeps all rows and cuts off those that depend on others as `lb.forward_dynamics` does, even in singular
        configurations; it has no derivatives and needs float64.  The result says in words which rows it has.
    dtype : "float64" or "float32".
    lanes : (c) number of states that one SIMD instruction handles in batches: a power of two from 1 to 64.  The width
        of the machine's registers is a good choice: 4 or 8, or twice that in float32.
    threads : (c) number of threads for large batches; all cores by default.
    path, name : (c-package) the folder, and the prefix of files and functions.

    Generated code does not check values: NaN in an input gives NaN in the results that depend on it, and a
    singular state gives infinities or NaN.  Only target="c" normalizes quaternions that are nearly unit and
    rejects others; for the other targets they must be unit.  The compiled code is cached by content in the folder
    `LIMBER_CACHE_DIR`, or else in the user's cache folder.
    """
    if target not in TARGETS:
        raise ArgumentValueError(
            f"target={target!r} is unknown; choose one of {', '.join(TARGETS)}."
        )
    single = _precision(dtype)
    wide = integer(lanes)
    if wide is None or wide not in LANES:
        raise ArgumentValueError(f"lanes={shown(lanes)} must be a power of two from 1 to 64.")
    lanes = wide
    if lanes > 1 and target != "c":
        raise ArgumentValueError(
            f'lanes={lanes} is for target="c"; {target!r} does not support it.'
        )
    if threads is not None:
        threads = whole("threads", threads, 1, optional=True)
        if target != "c":
            raise ArgumentValueError(
                f'threads={threads} is for target="c"; {target!r} does not support it.'
            )
    if single and target == "casadi":
        raise ArgumentValueError(f"dtype={shown(dtype)}: CasADi computes in double precision.")
    if path is not None and target != "c-package":
        raise ArgumentValueError(f'path={shown(path)} is for target="c-package".')
    if function == "rollout":
        if body is not None or node is not None or len(external) or len(driven) or len(ends):
            raise ArgumentValueError(
                'function="rollout" applies to the entire system: leave out body, node, external, driven and ends.'
            )
        return _rollout(system, target, wrt, parameters, rows, single)
    request = requested(system, function, body, node, wrt, external, parameters, driven, rows, ends)
    program = _program(request, wrt)
    if single and function in OF_CLOSURES and system.closures and is_all(rows):
        raise ArgumentValueError(
            f'rows="all" needs dtype="float64", got {shown(dtype)}: single precision cannot tell which closure rows depend '
            'on others. Use rows="independent".'
        )
    _warn_of_size(program)
    if target == "casadi":
        from limber.codegen.casadi import function as casadi_function  # noqa: PLC0415

        return casadi_function(program, name)
    if target == "c-package":
        from limber.codegen.package import write  # noqa: PLC0415

        return write(program, path, name, single)
    if target == "cuda":
        return _on_gpu(request, wrt, program, single)
    source = c.library(program, lanes, single)
    turns = [at.start for _, at in quaternions(system)] if program.inputs[0].name == "q" else []
    caller = call.Caller(program, c_compiler.loaded(source), single, threads, turns)
    caller.recipe = (system, function, {
        "body": body, "node": node, "wrt": wrt, "external": external, "parameters": parameters,
        "driven": driven, "ends": ends, "rows": rows, "dtype": "float32" if single else "float64", "lanes": lanes, "threads": threads,
    })  # fmt: skip
    f = call.dispatched(caller)
    f.source = source
    f.program = program
    f.__doc__ = program.about
    return f


def _on_gpu(
    request: Request, wrt: str | Sequence[str] | None, program: Program, single: bool
) -> Any:
    from limber.codegen.cuda import CudaFunction  # noqa: PLC0415
    from limber.codegen.cuda_stages import CudaStages  # noqa: PLC0415

    found = None if wrt is None else stages(request, wrt, program)
    return CudaFunction(program, single) if found is None else CudaStages(program, found, single)


def loaded(program: Program, lanes: int = 1) -> call.Caller:
    """A program as compiled C in double precision, called on arrays as they are: quaternions are not checked."""
    _warn_of_size(program)
    return call.Caller(
        program, c_compiler.loaded(c.library(program, lanes, False)), False, threads=None
    )


def _warn_of_size(program: Program) -> None:
    """Warn of code that compilers need minutes for."""
    size = sum(len(p.nodes) for p in (*program.callees, program))
    if size > LARGE:
        warn(
            f"the code for {program.about} has {size:,} operations, and compiling it takes minutes. Request fewer "
            "derivatives at a time, or use the function itself. A cut joint whose rows change, such as a compound of a "
            "slider and a hinge, "
            "takes 40 steps in each evaluation: cut the loop at another joint if you can.",
            ModelWarning,
        )


def _rollout(system, target, wrt, parameters, rows, single) -> Any:
    if target != "cuda" or wrt is not None:
        raise ArgumentValueError(
            'function="rollout" is an entire simulation on the GPU: it supports only target="cuda", without derivatives. '
            'Use "step" for other targets.'
        )
    from limber.codegen.cuda import CudaRollout  # noqa: PLC0415

    return CudaRollout(
        programmed(system, "step", None, None, None, (), parameters, rows=rows), single
    )


def controlled_rollout(
    system: System, parameters: Sequence[str], law: LawPlaces, model: System | None = None
) -> Any:
    """The function "rollout" on the GPU with a control law, which may have a model (`codegen.cuda.CudaRollout`)."""
    from limber.codegen.cuda import CudaRollout  # noqa: PLC0415

    return CudaRollout(_step(system, parameters), False, law, _inverse(model))


def rollout_in_lanes(
    system: System, parameters: Sequence[str], lanes: int, law: LawPlaces | None = None, model: System | None = None
) -> Rollout:  # fmt: skip
    """Whole simulations in C, with constant torques or a control law, which may have a model.

    They are kept for further batches of the system, unless the law has a model, which is new in every batch.
    """
    kept, key = _rollouts.setdefault(system, {}), (tuple(parameters), lanes, law)
    if model is None and key in kept:
        return kept[key]
    program = _step(system, parameters)
    _warn_of_size(program)
    made = Rollout(program, lanes, law, _inverse(model))
    if model is None:
        kept[key] = made
    return made


def _step(system: System, parameters: Sequence[str]) -> Program:
    return programmed(system, "step", None, None, None, (), parameters)


def _inverse(model: System | None) -> Program | None:
    """The inverse dynamics of the model of a law."""
    return (
        None if model is None else programmed(model, "inverse_dynamics", None, None, None, (), ())
    )


def operation_count(
    system: System,
    function: str,
    *,
    body: str | None = None,
    node: str | int | None = None,
    wrt: str | Sequence[str] | None = None,
    external: Sequence[tuple[str, str | int]] = (),
    parameters: Sequence[str] = (),
    driven: Sequence[str] = (),
    ends: Ends = (),
    rows: str | ArrayLike = "independent",
) -> OperationCount:
    """Count the multiplications, additions, divisions and transcendental calls of the generated code.

    Arguments as in `compile`.
    """
    return programmed(
        system, function, body, node, wrt, external, parameters, driven, rows, ends
    ).count()


def programmed(
    system, function, body, node, wrt, external, parameters, driven=(), rows="independent", ends=()
) -> Program:
    """The program that the arguments of `compile` request."""
    return _program(
        requested(system, function, body, node, wrt, external, parameters, driven, rows, ends), wrt
    )


def _program(request: Request, wrt: str | Sequence[str] | None) -> Program:
    return trace(request) if wrt is None else derivative(request, wrt)


def requested(
    system,
    function,
    body,
    node,
    wrt,
    external,
    parameters,
    driven=(),
    rows: str | ArrayLike = "independent",
    ends: Ends = (),
) -> Request:
    """What the arguments of `compile` request to be traced, apart from derivatives."""
    for value, what in ((external, "external"), (parameters, "parameters"), (driven, "driven")):
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ArgumentTypeError(f"{what} must be a list, got {shown(value)}.")
    if not isinstance(function, str):
        raise ArgumentTypeError(f"function must be a name, got {shown(function)}.")
    if isinstance(system, System):
        driven = [system.body_of(name, "driven: body") for name in driven]
    request = Request(
        system, function, body, node, tuple(external), tuple(parameters), tuple(driven)
    )
    if function in OF_CLOSURES and isinstance(system, System) and system.closures:
        if is_all(rows) and wrt is not None:
            raise ArgumentValueError(
                f'rows="all" has no derivatives, got wrt={shown(wrt)}: closure rows that depend on others where the '
                'closures are satisfied are independent elsewhere. Use rows="independent".'
            )
        if not is_all(rows):
            found = independent(system, rows, request.driven)
            request = replace(request, system=found.system, independent=found)
    if len(ends) and isinstance(system, System):
        at = checked_ends(system, ends)
        request = replace(request, ends=at)
        if function in OPERATIONAL:
            request = replace(request, system=probed(request.system, at))
    return request


def is_all(rows: str | ArrayLike) -> bool:
    """Whether code shall have all closure rows."""
    if isinstance(rows, str) and rows not in ("independent", "all"):
        raise ArgumentValueError(
            f'rows={rows!r} must be "independent", "all" or a configuration q that satisfies the closures.'
        )
    return isinstance(rows, str) and rows == "all"


def independent(system: System, rows: str | ArrayLike, driven: tuple[str, ...] = ()) -> Independent:
    """The independent closure rows of a system, found at the configuration `rows` if it is one.

    driven : the bodies whose joints have prescribed motion.
    """
    driven_bodies(system, driven, "driven")
    q = None
    if not isinstance(rows, str):
        q = numbers("rows", rows, f"({system.nq},)")
        if q.shape != (system.nq,):
            raise ArgumentValueError(
                f'rows must be "independent", "all" or a configuration of shape ({system.nq},), got shape {q.shape}.'
            )
        off = evaluated(system, "violations", (q,))
        if not nearly_met(system, q, off):
            raise ArgumentValueError(
                f"rows must be a configuration that satisfies the closures, but there {worst(system, off)}. Use "
                "lb.project or lb.assemble first."
            )
    try:
        return independent_rows(system, q, driven)
    except DynamicsError as error:
        raise DynamicsError(
            f'rows={"..." if q is not None else repr(rows)}: {error} In lb.compile this is rows=q; rows="all" '
            "keeps all rows."
        ) from None


def _precision(dtype: Any) -> bool:
    """Whether `dtype` is single precision."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    if name not in _PRECISIONS:
        raise ArgumentValueError(f'dtype={shown(dtype)} must be "float64" or "float32".')
    return _PRECISIONS[name]
