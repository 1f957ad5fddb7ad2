"""`lb.linearize`: linear models of a system about its states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, numbers
from limber.constraints import constraint_forces
from limber.control import channels
from limber.control.channels import Channel, speed_names
from limber.control.closed_motions import all_freedoms, independent_speeds, refuse_broken
from limber.control.friction import warn_of_sticking
from limber.control.linear_model import LinearModel
from limber.control.linear_outputs import output_slopes
from limber.control.moving_state import MovingState, unmoved
from limber.dynamics.evaluate import External, check_system, named_wrenches, vectors
from limber.dynamics.following import refuse_tight
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.hybrid import Motion, prescribed
from limber.dynamics.refusals import of_batch
from limber.dynamics.stiffness import turned_with
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.result import Result

#: Kinds of outputs that depend on the forces of closures.
OF_CLOSURES = ("closure_force", "joint_force")
#: What to do about joints that stick.
FRICTIONLESS = "To describe joints that move, linearize lb.control.without_friction(system)."


def linearize(
    system: System | Result,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    inputs: Any = None,
    outputs: Any = None,
    *,
    external: External | None = None,
    motion: Motion | None = None,
    t: ArrayLike | None = None,
) -> LinearModel:
    """Return the linear model xdot = A x + B u, y = C x + D u of small motions about a state, with exact derivatives.

    x = [dq, dv]. dq is the displacement from the nominal motion, along `lb.integrate` and in the layout of v; dv is the
    change of v; u and y are changes of inputs and outputs. If the state is not an equilibrium, A, B, C, D
    linearize xdot along the motion through that state, and are valid at that instant. About a steady spin, A includes
    the gyroscopic and centrifugal terms, and dq of a free or spherical joint rotates with the body, as in `lb.modes`.

    Dry friction is linearized too. At rest it is a damper of `static_friction / friction_speed`, so that the model is
    one of a joint that sticks, and a ModelWarning says so. `lb.control.without_friction(system)` omits friction.

    For a closed system, x has only independent coordinates and speeds, which `states` names, and `model.T` gives [dq,
    dv] of all degrees of freedom. The same ones are used for all states of a batch.

    lb.linearize(result, inputs=..., outputs=..., t=times) linearizes along a simulated motion, with its torques,
    wrenches, prescribed motions and active closures; without t, at all of its rows.

    Parameters
    ----------
    system : a System, or a Result.
    q, v, tau : (..., nq), (..., nv), (..., nv), as in `forward_dynamics`; by default neutral and zero. With leading
        dimensions, A, B, C, D have them too.
    inputs : a list of names of bodies (the torques of their joints) and of tuples ("torque", body), ("force", body,
        node), ("moment", body, node), ("mode_force", body), and ("motion", body), the rates of the speeds of a joint in
        `motion`. A further entry selects one component: the number of a speed, or "x", "y", "z" for a world axis. By
        default all of tau.
    outputs : a list of names of bodies (the coordinates of their joints) and of tuples ("coordinate", body), ("speed",
        body), ("torque", body), ("mode", body), ("mode_speed", body), ("position", body, node), ("rotation", body,
        node), a small rotation, ("velocity", ...), ("angular_velocity", ...), ("acceleration", ...),
        ("angular_acceleration", ...), all in world axes; ("deflection", body, node) in body axes; ("joint_force",
        body), the wrench [mx, my, mz, fx, fy, fz] of its joint on the body, in body axes at its frame;
        ("closure_force", name), as `lb.constraint_forces`; ("strain", body, gauge) or ("strain", body, station, y, z);
        ("section_force", body, station, component). By default x.
    external : {("body", node): wrench} in world axes, the external wrenches at the state.
    motion : {"body": rates}, joints with prescribed motion, as in `forward_dynamics`. Their coordinates stay in x, and
        their rates are inputs.
    t : times of the result.
    """
    return linearized(system, (q, v, tau), inputs, outputs, external, motion, t, FRICTIONLESS)


def linearized(
    system: System | Result,
    state: tuple,
    inputs: Any = None,
    outputs: Any = None,
    external: External | None = None,
    motion: Motion | None = None,
    t: ArrayLike | None = None,
    remedy: str = "",
) -> LinearModel:
    """`linearize`; a warning of joints that stick is given if it has a remedy."""
    (q, v, tau), times, s = state, None, system
    if isinstance(system, Result):
        if any(x is not None for x in (q, v, tau, external, motion)):
            raise ArgumentTypeError(
                "linearize takes the states and forces from the Result: leave out q, v, tau, external and motion."
            )
        times, q, v, tau, external, motion, s = _of_result(system, t)
    elif t is not None:
        raise ArgumentTypeError("t is for linearize(result, t=...): a System has no times.")
    check_system(s)
    assert isinstance(s, System)
    zero = np.zeros(s.nv)
    given = {
        "q": (s.neutral() if q is None else q, s.nq),
        "v": (zero if v is None else v, s.nv),
        "tau": (zero if tau is None else tau, s.nv),
    }
    # checks the state as every function of it does
    forward_dynamics(s, *(x for x, _ in given.values()), external=external, motion=motion)
    driven: tuple[int, ...] = ()
    if motion is not None:
        driven, given["tau"] = _with_rates(s, given["tau"][0], motion)
    chosen = _inputs(s, inputs, driven)
    batch, (q_, v_, forces, *wrenches) = vectors(s, **given, **named_wrenches(external))
    if remedy:
        warn_of_sticking("linearize", s, v_, driven, remedy)
    about = _moving(s, (q_, v_, forces), dict(zip(external or {}, wrenches)), chosen, driven)
    wanted = None if outputs is None else channels.checked(s, outputs, "outputs", channels.OUTPUTS)
    model = _model(about, chosen, wanted)
    return model.reshaped(batch, times)


def all_slopes(
    system: System, q: Array, tau: Array, *, inputs: list[Channel], outputs: list[Channel]
) -> Array:
    """The derivatives of outputs at rest along [dq, dv] of all degrees of freedom and the inputs, (outputs, 2 nv + inputs)."""
    about = _moving(system, (q[None], np.zeros((1, system.nv)), tau[None]), {}, inputs, ())
    return np.concatenate([output_slopes(about, channel)[0] for channel in outputs])


def _of_result(result: Result, t: ArrayLike | None) -> tuple:
    """Times, q, v, tau, external, motion and system of a result."""
    if t is not None:
        times = numbers("t", t, "() or (n,)")
        one = times.ndim == 0
        result = result.resample(np.atleast_1d(times))
    else:
        one = False
    system = _one_system(result)
    external: Any = dict(result.external) or None
    motion: Any = None
    if result.driven:
        layout = result.system.layout
        motion = {body: result.vdot[:, layout[body].v_joint] for body in result.driven}
    found = [result.t, result.q, result.v, result.tau]
    if one:
        found = [x[0] for x in found]
        external = None if external is None else {key: x[0] for key, x in external.items()}
        motion = None if motion is None else {body: x[0] for body, x in motion.items()}
    return (*found, external, motion, system)


def _one_system(result: Result) -> System:
    """The system in all rows of a result, with the closures that are active there."""
    if result.environment is not None:
        raise ArgumentValueError(
            "linearize: this result has forces of an environment, of which it stores only the generalized forces, not how they "
            "change with the state. Give the system and states, with external= for the forces that matter."
        )
    stages = np.unique(result.stage).tolist()
    if len(stages) > 1:
        changes = [
            f"{change.kind} {change.name!r} at t = {change.t:.6g} s" for change in result.changes
        ]
        raise ArgumentValueError(
            "linearize: all states must have the same closures, but those of this result change "
            f"({', '.join(changes[stages[0] : stages[-1]])}). Choose times between two changes with t, or select rows: "
            "linearize(result[:10])."
        )
    return result.systems[stages[0]] if stages else result.system


def _with_rates(
    system: System, tau: ArrayLike, motion: Motion
) -> tuple[tuple[int, ...], tuple[Array, int]]:
    """The driven bodies, and tau with their rates."""
    driven, x = prescribed(system, tau, motion)
    return driven, (x, system.nv)


def _inputs(system: System, inputs: Any, driven: tuple[int, ...]) -> list[Channel]:
    """The channels of the inputs."""
    numbers_ = {body: system.number(body) for body in system.layout}
    if inputs is None:
        kinds = [("mode_force", b) for b, body in system.bodies.items() if body.modes]
        kinds += [
            ("motion" if numbers_[b] in driven else "torque", b)
            for b, joint in system.joints.items()
            if joint.dofs
        ]
        order = {b: i for i, b in enumerate(system.layout)}
        inputs = sorted(kinds, key=lambda x: (order[x[1]], x[0] != "mode_force"))
    found = channels.checked(system, inputs, "inputs", channels.INPUTS)
    for channel in found:
        moves = numbers_[channel.of] in driven
        if channel.kind == "motion" and not moves:
            raise ArgumentValueError(
                f'inputs: ("motion", {channel.of!r}) needs a joint of prescribed motion. Give motion={{{channel.of!r}: rate}}, '
                "with the rate of its speeds at this state, such as 0.0."
            )
        if channel.kind == "torque" and moves:
            raise ArgumentValueError(
                f"inputs: the joint of {channel.of!r} has prescribed motion, so its torque is an output and not an input. Its "
                f'input is ("motion", {channel.of!r}).'
            )
    return found


def _moving(
    s: System,
    states: tuple[Array, Array, Array],
    external: dict[tuple[str, str | int | None], Array],
    inputs: list[Channel],
    driven: tuple[int, ...],
) -> MovingState:
    """The states with their derivatives along x and u, side by side."""
    q, v, forces = states
    n, nv = len(q), s.nv
    count = 2 * nv + sum(len(channel.components) for channel in inputs)
    dq, dv, df = np.zeros((3, n, nv, count))
    dq[:, :, :nv] = np.eye(nv)
    dv[:, :, nv : 2 * nv] = np.eye(nv)
    wrenches = {
        (body, s.node_number(body, node)): unmoved(x, count) for (body, node), x in external.items()
    }
    column = 2 * nv
    for channel in inputs:
        for component in channel.components:
            if channel.kind in ("force", "moment"):
                none = unmoved(np.zeros((n, 6)), count)
                _, slope = wrenches.setdefault((channel.of, channel.node), none)
                slope[:, component + (3 if channel.kind == "force" else 0), column] = 1.0
            else:
                where = s.layout[channel.of]
                part = where.v_modes if channel.kind == "mode_force" else where.v_joint
                df[:, part.start + component, column] = 1.0
            column += 1
    return MovingState(s, (q, dq), (v, dv), (forces, df), wrenches, driven)


def _model(state: MovingState, inputs: list[Channel], outputs: list[Channel] | None) -> LinearModel:
    """The models at all states, one after the other."""
    s, (q, _), (v, _) = state.system, state.q, state.v
    n, nv = len(q), s.nv
    names = speed_names(s)
    if s.closures:
        refuse_tight(s, q, state.driven)
    _, vdot = state.vdot
    A = np.zeros((n, 2 * nv, 2 * nv))
    A[:, :nv, nv:] = np.eye(nv)
    A[:, nv:] = vdot[..., : 2 * nv]
    for i in range(n):
        A[i, :nv, :nv] = -turned_with(s, v[i])
    B = np.zeros((n, 2 * nv, vdot.shape[-1] - 2 * nv))
    B[:, nv:] = vdot[..., 2 * nv :]
    T = np.broadcast_to(np.eye(2 * nv), A.shape)
    kept = np.arange(nv)
    if s.closures:
        refuse_broken(s, q, v)
        kept = independent_speeds(s, q[0])
        T = np.stack([all_freedoms(s, q[i], v[i], kept, of_batch(i, n)) for i in range(n)])
    rows = np.append(kept, nv + kept)
    states = tuple(names[i] for i in kept) + tuple(f"{names[i]} rate" for i in kept)
    if outputs is None:
        slopes = np.zeros((n, 2 * len(kept), vdot.shape[-1]))
        slopes[:, :, : 2 * nv] = np.eye(2 * nv)[rows]
        output_names = states
    else:
        if s.closures and any(channel.kind in OF_CLOSURES for channel in outputs):
            # warns where the forces of redundant closures are not unique
            constraint_forces(s, q, v, state.torques[0], external=state.wrenches)
        found = [output_slopes(state, channel) for channel in outputs]
        slopes = np.concatenate(found, axis=1) if found else np.zeros((n, 0, vdot.shape[-1]))
        output_names = tuple(name for channel in outputs for name in channel.names)
    return LinearModel(
        (A @ T)[:, rows],
        B[:, rows],
        slopes[..., : 2 * nv] @ T,
        slopes[..., 2 * nv :].copy(),
        states,
        tuple(name for channel in inputs for name in channel.names),
        output_names,
        name=s.name,
        T=np.array(T),
    )
