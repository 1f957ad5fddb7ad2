"""Whether a result stays within the linear theory of its flexible bodies."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from limber.bodies import FlexibleBody
from limber.dynamics import jacobian
from limber.errors import TheoryWarning, warn
from limber.simulation.result import Result

#: A body that turns faster than this part of its lowest frequency (with its root held) is stiffened or softened by it
#: noticeably: the first frequency of a beam is then wrong by about 10 %.
SPIN = 0.4
#: Nodes that turn further than this, rad, shorten a beam by about 1 % of its length, which the shapes leave out.
ROTATION = 0.25
#: So many rows are looked at, spread over the result.
ROWS = 200


def warn_outside_theory(result: Result) -> None:
    """Warn, once a body, where its deformation or its spin is beyond small-deformation theory."""
    if not len(result):
        return
    rows = np.unique(np.linspace(0, len(result) - 1, ROWS).astype(int))
    r = result._with(lambda x: x[rows])
    for name, body in result.system.bodies.items():
        if isinstance(body, FlexibleBody) and body.modes:
            told = _turned(r, name, body) or _spun(r, name, body)
            if told:
                warn(told, TheoryWarning)


def _turned(r: Result, name: str, body: FlexibleBody) -> str:
    """What to say of nodes that turn too far."""
    turns = np.linalg.norm(np.einsum("nim,tm->tni", body.nodes.rotation, r.modal(name)), axis=2)
    if not turns.size or turns.max() <= ROTATION:
        return ""
    t, node = np.unravel_index(np.argmax(turns), turns.shape)
    return (
        f"body {name!r}: node {body.nodes.names[node]!r} turns by {turns[t, node]:.3g} rad at t = {r.t[t]:.6g} s. The shapes "
        f"of a body are those of small deformation; beyond {ROTATION} rad its foreshortening is missing. Divide it into "
        "several bodies, or take the numbers as a sign of trouble only."
    )


def _spun(r: Result, name: str, body: FlexibleBody) -> str:
    """What to say of a body that turns too fast."""
    squares = eigh(body.stiffness, body.integrals.G0, eigvals_only=True)
    stiff = squares[squares > 1e-9 * squares.max(initial=0.0)]
    if not stiff.size:
        return ""
    lowest = float(np.sqrt(stiff[0]))
    turning = jacobian(r.system, r.q, name)[:, :3]
    speeds = np.linalg.norm(np.einsum("tij,tj->ti", turning, r.v), axis=1)
    t = int(np.argmax(speeds))
    if speeds[t] <= SPIN * lowest:
        return ""
    return (
        f"body {name!r} turns at {speeds[t]:.3g} rad/s at t = {r.t[t]:.6g} s, and its lowest frequency is {lowest:.3g} rad/s. "
        f"From {SPIN:g} of that on, the stiffening by its own rotation, which this model leaves out, changes the motion "
        "noticeably; near 1 the model may diverge where the real body does not."
    )
