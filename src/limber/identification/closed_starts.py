r"""Initial states of closed systems: as many coordinates and speeds as there are degrees of freedom are given, the others
follow.

With the given coordinates y, the closures g(q; p) = 0 and their rows A, an unknown of the initial state or a number p of
the model moves the others o by

    A_o u_o = -A_y u_y - dg/dp,        A_o w_o = -A_y w_y - (dA v along u and p),        u = dq,  w = dv

so a length that closures depend on moves what follows, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limber.assembly import parameters
from limber.assembly.system import System
from limber.checks import Array, listed
from limber.control.channels import speed_names
from limber.control.closed_joints import closed_configuration, independent_places
from limber.control.closed_motions import moving_rows, rows_at
from limber.control.kernel_slopes import slopes_of
from limber.dynamics.freedoms import modal_speeds
from limber.dynamics.rows import RowSpace, closure_jacobian, row_space
from limber.errors import ArgumentValueError, DynamicsError
from limber.simulation.table import joint_speeds

#: A number of the model: the name of the parameter, and the place in its array.
Number = tuple[str, tuple[int, ...]]


def refuse_ruthless(system: System) -> None:
    """Reject a closed system with modes whose motion is only approximately that of its equations."""
    if system.closures and system.fidelity == "ruthless" and modal_speeds(system).any():
        raise ArgumentValueError(
            f'{system.name!r} was built with fidelity="ruthless": its closures hold in the deformed geometry, but their forces act as '
            "in the undeformed one, so that its motion has no exact derivatives. Identification of closed systems with modes needs "
            'fidelity="full".'
        )


def given_places(
    system: System, q: Array, driven: np.ndarray, unknown: np.ndarray, name: str
) -> np.ndarray:
    """The places in v of the coordinates that determine the others: those of driven joints, then those of `unknown`
    entries of the start, then modes, then other joints.

    name : of the experiment, for messages.
    """
    names, known = speed_names(system), np.append(driven, unknown)
    modal = np.setdiff1d(np.flatnonzero(modal_speeds(system)), known)
    joints = np.setdiff1d(joint_speeds(system), known)
    found = independent_places(system, q, [driven, unknown, modal, joints])
    if len(np.setdiff1d(driven, found)):
        raise ArgumentValueError(
            f"motion of {name}: more joints are driven than the closures of {system.name!r} leave free: "
            f"{listed(names[i] for i in np.setdiff1d(driven, found).tolist())} would follow from the others. Leave these out."
        )
    follow = [names[i] for i in np.setdiff1d(unknown, found).tolist()]
    if follow:
        raise ArgumentValueError(
            f"unknown_start of {name}: the closures of {system.name!r} determine {listed(follow)} from "
            f"{listed(names[i] for i in np.intersect1d(known, found).tolist())}. Leave these entries out."
        )
    return found


def completed(system: System, q: Array, v: Array, given: np.ndarray) -> tuple[Array, Array]:
    """The state with these entries at `given` that satisfies the closures."""
    others = np.setdiff1d(np.arange(system.nv), given)
    q = closed_configuration(system, q, others, others)
    return q, _with_others(system, q, v, others)


def completed_slopes(
    system: System, q: Array, v: Array, given: np.ndarray, numbers: Sequence[Number], X: Array
) -> Array:
    """[dq, dv] (2 nv, d) of a completed state; X has the entries at `given`.

    numbers : of the model; they are the first of the d unknowns.
    """
    nv, others = system.nv, np.setdiff1d(np.arange(system.nv), given)
    found = X.copy()
    found[others] = found[nv + others] = 0.0
    space = _followers(system, q, others)
    A = closure_jacobian(system, q)
    moved = A @ found[:nv]
    moved[:, : len(numbers)] += _by_numbers(system, "violations", (q,), numbers)
    found[others] -= space.change(moved)
    turned = A @ found[nv:]
    if v.any():
        states = {"q": moving_rows(system, q, found[:nv]), "v": (v, np.zeros_like(found[:nv]))}
        turned += slopes_of(system, "row_rates", states)["rates"][1]
        turned[:, : len(numbers)] += _by_numbers(system, "row_rates", (q, v), numbers)
    found[nv + others] -= space.change(turned)
    return found


def _by_numbers(
    system: System, row: str, state: tuple[Array, ...], numbers: Sequence[Number]
) -> Array:
    """(rows, numbers) the derivatives of violations or of their rates with respect to numbers of the model."""
    found = np.zeros((system.rows, len(numbers)))
    given = {"q": (rows_at(system, state[0]), np.zeros((system.nq, 1)))}
    if len(state) > 1:
        given["v"] = state[1], np.zeros((system.nv, 1))
    for j, (name, place) in enumerate(numbers):
        parameter = parameters.find(system, name)
        i = int(np.ravel_multi_index(place, np.shape(parameter.value))) if place else 0
        (out,) = slopes_of(system, row, given, stepped=(parameter, i)).values()
        found[:, j] = out[1][:, 0]
    return found


def _with_others(system: System, q: Array, v: Array, others: np.ndarray) -> Array:
    """v with the speeds `others` such that A v = 0."""
    v = np.array(v)
    v[others] = 0.0
    v[others] = _followers(system, q, others).change(-closure_jacobian(system, q) @ v)
    return v


def _followers(system: System, q: Array, others: np.ndarray) -> RowSpace:
    """The rows of the coordinates that follow."""
    space = row_space(system, q, others)
    if space.basis.shape[1]:
        raise DynamicsError(
            f"the start of an experiment reaches a configuration of {system.name!r} in which the coordinates that are "
            "given do not determine the others. Give a start that is farther from a singular position."
        )
    return space
