"""Derivatives of the outputs of linear models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limber.checks import Array
from limber.control.channels import Channel
from limber.control.kernel_slopes import slopes_of
from limber.control.moving_state import MovingState
from limber.dynamics.carried import to_body_frame
from limber.dynamics.kinematics import jacobian

#: A function of a state and a channel that gives the slopes (n, all components of the kind, d).
Slopes = Callable[[MovingState, Channel], Array]


def output_slopes(state: MovingState, channel: Channel) -> Array:
    """The derivatives (n, components, d) of an output at n states along d directions."""
    return _KINDS[channel.kind](state, channel)[:, list(channel.components)]


def _part(of: str, layout: str) -> Slopes:
    def slopes(state: MovingState, channel: Channel) -> Array:
        place = getattr(state.system.layout[channel.of], layout)
        return getattr(state, of)[1][:, place]

    return slopes


def _coordinate(state: MovingState, channel: Channel) -> Array:
    """Derivatives of coordinates, if there are as many as speeds; of quaternions, along the speeds."""
    place = state.system.layout[channel.of]
    joint = state.system.joints[channel.of]
    if joint.nq != joint.dofs:
        return state.q[1][:, place.v_joint]
    return state.coordinates[1][:, place.q_joint]


def _torque(state: MovingState, channel: Channel) -> Array:
    """Derivatives of a torque: that of a driven joint is what its motion requires; that of any other is an input."""
    return state.torques[1][:, state.system.layout[channel.of].v_joint]


def _placed(first: int) -> Slopes:
    """Derivatives of a pose: rows 0 to 2 of the Jacobian are the small rotation in world axes, 3 to 5 the
    translation."""

    def slopes(state: MovingState, channel: Channel) -> Array:
        J = jacobian(state.system, state.q[0], channel.of, channel.node)
        return J[:, first : first + 3] @ state.q[1]

    return slopes


def _moving(first: int) -> Slopes:
    """Derivatives of a velocity J v: J dv + dJ v."""

    def slopes(state: MovingState, channel: Channel) -> Array:
        node = channel.of, channel.node
        given = {"q": state.coordinates}
        value, by_q = slopes_of(state.system, "jacobian", given, node=node)["J"]
        n, d = len(value), by_q.shape[-1]
        J, dJ = value.reshape(n, 6, -1), by_q.reshape(n, 6, -1, d)
        rates = J @ state.v[1] + np.einsum("nijd,nj->nid", dJ, state.v[0])
        return rates[:, first : first + 3]

    return slopes


def _accelerated(first: int) -> Slopes:
    def slopes(state: MovingState, channel: Channel) -> Array:
        given = {"q": state.coordinates, "v": state.v, "vdot": state.vdot}
        node = channel.of, channel.node
        found = slopes_of(state.system, "acceleration", given, node=node)["a"]
        return found[1][:, first : first + 3]

    return slopes


def _deflection(state: MovingState, channel: Channel) -> Array:
    """Derivatives of gamma eta + 1/2 eta^T B eta, in body axes."""
    assert channel.node is not None
    where = state.system.layout[channel.of]
    shapes = state.system.bodies[channel.of].node_set.shapes[[channel.node]]
    eta, along = state.q[0][:, where.q_modes], state.q[1][:, where.v_modes]
    gamma = np.broadcast_to(shapes.translation[0], (len(eta), *shapes.translation[0].shape))
    if shapes.second is not None:
        gamma = gamma + np.einsum("irs,ns->nir", shapes.second[0], eta)
    return gamma @ along


def _recovered(state: MovingState, channel: Channel) -> Array:
    """Derivatives of strains and section forces, which are linear in the modes."""
    assert channel.shape is not None
    along = state.q[1][:, state.system.layout[channel.of].v_modes]
    return channel.shape[None, None, :] @ along


def _joint_force(state: MovingState, channel: Channel) -> Array:
    i = 6 * (state.system.number(channel.of) - 1)
    return to_body_frame(state.system, channel.of) @ state.joint_wrenches[1][:, i : i + 6]


def _closure_force(state: MovingState, channel: Channel) -> Array:
    return state.closure_wrenches[channel.of][1]


_KINDS: dict[str, Slopes] = {
    "coordinate": _coordinate,
    "speed": _part("v", "v_joint"),
    "torque": _torque,
    "mode": _part("q", "v_modes"),
    "mode_speed": _part("v", "v_modes"),
    "rotation": _placed(0),
    "position": _placed(3),
    "angular_velocity": _moving(0),
    "velocity": _moving(3),
    "angular_acceleration": _accelerated(0),
    "acceleration": _accelerated(3),
    "deflection": _deflection,
    "strain": _recovered,
    "section_force": _recovered,
    "joint_force": _joint_force,
    "closure_force": _closure_force,
}
