r"""What torques reach: the states that they move, and the momenta that they leave as they are.

Torques between bodies do not change the momentum of what floats. Combinations c of speeds without torques, on which no spring,
damper or weight acts either, keep their momenta,

    at rest        c M dq = constant,  c M dv = 0
    in motion      c (d(M v)/dq) dq + c M dv = 0, for joints that carry all the rest

where M is the mass matrix: no feedback brings all of q to a given place. As many speeds f are left free, and follow from
the others: [dq, dv] = T y, with y the remaining entries. Costless speeds are taken for f where they suffice, such as those of
reaction wheels or of the position of a spacecraft; otherwise positions of what floats, then rotors, whose angles change
nothing, then attitudes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, listed, shown
from limber.control.joints import JointPlaces, body_names
from limber.control.linear_model import LinearModel
from limber.dynamics.derivatives import derivatives
from limber.dynamics.inverse import mass_matrix
from limber.errors import ArgumentValueError, ModelWarning, warn
from limber.joints import Free, Spherical

#: States are not coupled by entries of A and B below this, with coordinates measured by their inertias, and time by the
#: fastest motion.
COUPLED = 1e-12
#: Outputs do not depend on states below this fraction of their largest derivative, which may be a difference.
UNREAD = 1e-8
#: Entries of A below this fraction of the largest are rounding.
ROUNDING = 1e-16
#: Forces and momenta below this fraction of the largest are zero.
ZERO = 1e-12
#: A speed is not left free if its momentum is less than this fraction of the largest, each by the inertia it acts on.
STUCK = 1e-7
#: Momenta of a motion count as zero below this fraction of what its largest energy could give to each speed.
AT_REST = 1e-3


@dataclass(frozen=True, eq=False)
class Momenta:
    """Momenta that no torque changes, at one state.

    rows : their derivatives along [dq, dv].
    free : the speeds that are left free, as many as momenta.
    moving : whether the state belongs to a motion, in which only the speeds of `free` follow from the others.
    """

    rows: Array
    free: np.ndarray
    moving: bool

    def follow(self) -> Array:
        """T (2 nv, 2 nv), with zero columns for the entries of x that follow from the others."""
        nv = self.rows.shape[1] // 2
        T, f = np.eye(2 * nv), self.free
        by = np.linalg.solve(self.rows[:, nv + f], self.rows)
        T[nv + f] = -by
        T[:, nv + f] = 0.0
        if not self.moving:
            T[f] = 0.0
            T[f, :nv] = -by[:, nv:]
            T[:, f] = 0.0
        return T


def kept_momenta(system: System, qs: Array, torques: np.ndarray, moved: np.ndarray) -> Array:
    """c (momenta, nv) such that no torque changes c M dv at these configurations; several are those of a motion.

    moved : the states that the torques move; the others are of no interest.
    """
    nv, rest, moving = system.nv, np.zeros(system.nv), len(qs) > 1
    joints = {
        body: range(where.v_joint.start, where.v_joint.stop)
        for body, where in system.layout.items()
    }
    carrying = [
        i
        for body, x in joints.items()
        if not moving or system.attachments[body].to == "world"
        for i in x
    ]
    r = np.intersect1d(np.setdiff1d(carrying, torques), moved[moved >= nv] - nv).astype(int)
    unit = 1.0 / np.sqrt(np.diag(mass_matrix(system, qs[0])))
    slopes = []  # of the forces of springs, dampers and weights
    for q in qs:
        still = derivatives(system, q, rest, rest, "inverse_dynamics")
        slopes += [unit[:, None] * still.q * unit, unit[:, None] * still.v * unit]
    every = np.hstack(slopes)
    largest = np.abs(every[[i for x in joints.values() for i in x]]).max(initial=0.0)
    U, size, _ = np.linalg.svd(every[r])
    found = np.zeros((len(r) - int((size > ZERO * largest).sum()), nv))
    found[:, r] = U[:, len(r) - len(found) :].T * unit[r]
    return found


def _speeds_of(c: Array) -> np.ndarray:
    """The speeds whose momenta c combines."""
    return np.flatnonzero((np.abs(c) > STUCK * np.abs(c).max(initial=0.0)).any(axis=0))


def refuse_momenta(system: System, inertias: Array, v: Array, c: Array) -> None:
    """Reject a motion (points, nv) that has momenta along the joints of c."""
    energy = np.einsum("ni,nij,nj->n", v, inertias, v)
    most = np.sqrt(np.einsum("nii->ni", inertias) * energy.max())
    size = np.abs(np.einsum("nij,nj->ni", inertias, v))
    of = _speeds_of(c)
    for where in system.layout.values():
        here = np.arange(where.v_joint.start, where.v_joint.stop)
        if np.isin(of, here).any() and (size > AT_REST * most)[:, here].any():
            worst = int(here[size[:, here].max(axis=0).argmax()])
            raise ArgumentValueError(
                f"LQR: about is a motion in which {system.name!r} has a momentum that its torques do not change, along "
                f"{system.describe_v(worst)}. Gains are computed for motions without such a momentum: let it begin at rest."
            )


def momenta(
    system: System, q: Array, v: Array, c: Array, free: np.ndarray, moving: bool
) -> Momenta:
    """The momenta c M v at a state, from which the speeds `free` follow."""
    M, rest = mass_matrix(system, q), np.zeros(system.nv)
    by_q = np.zeros_like(M)
    if v.any():
        with_v, without = (
            derivatives(system, q, rest, x, "inverse_dynamics", by="q").q for x in (v, rest)
        )
        by_q = with_v - without
    unit = 1.0 / np.sqrt(np.diag(M))
    size = np.linalg.svd((c @ M * unit)[:, free], compute_uv=False)
    if size[-1] < STUCK * np.linalg.norm(c @ M * unit, 2):
        followers = listed([system.describe_v(int(i)) for i in free])
        raise ArgumentValueError(
            f"LQR: the motion `about` passes a position of {system.name!r} in which its momentum does not determine what is left free: "
            f"{followers}. Give a motion that ends before it, or another free=[...]."
        )
    return Momenta(np.hstack([c @ by_q, c @ M]), free, moving)


def chosen_free(
    system: System, q: Array, c: Array, torques: np.ndarray, Q: Array
) -> tuple[np.ndarray, np.ndarray]:
    """As many speeds to leave free as momenta are kept, and those of them that must cost nothing but do.

    Q : (2 nv, 2 nv), the weights.
    """
    nv, M, r = system.nv, mass_matrix(system, q), _speeds_of(c)
    rest = c @ M / np.sqrt(np.diag(M))
    least = STUCK * np.linalg.norm(rest, axis=0).max(initial=0.0)
    costs = np.asarray(Q.any(axis=1))
    costless = np.flatnonzero(~(costs[:nv] | costs[nv:]))
    rotors = np.setdiff1d(_rotors(system, q, torques), costless)
    sliding = np.array([i for i in r.tolist() if _slides(system, i)], dtype=int)
    found: list[int] = []
    for group in (costless, sliding, rotors, r):
        while len(found) < len(c) and len(group):
            size = np.linalg.norm(rest[:, group], axis=0)
            best = int(size.argmax())
            if size[best] <= least:
                break
            found.append(int(group[best]))
            direction = rest[:, group[best]] / size[best]
            rest = rest - np.outer(direction, direction @ rest)
    told = np.setdiff1d(found, costless)
    if np.isin(rotors, found).any():  # all of them turn as they must
        told = np.union1d(told, rotors)
    return np.array(sorted(found), dtype=int), told.astype(int)


def _rotors(system: System, q: Array, torques: np.ndarray) -> np.ndarray:
    """Those of the speeds with torques whose coordinates do not change the mass matrix: wheels.

    Those of a base that floats do not change it either, but its torques push against the world.
    """
    for body, where in system.layout.items():
        if system.attachments[body].to == "world":
            torques = np.setdiff1d(torques, np.arange(system.nv)[where.v_joint])
    rest, any_ = np.zeros(system.nv), np.cos(np.arange(system.nv))
    by = (derivatives(system, q, rest, x, "inverse_dynamics", by="q").q for x in (any_, rest))
    change = np.abs(np.subtract(*by))
    size = np.sqrt(np.diag(mass_matrix(system, q)))
    change = (change / size[:, None]).max(axis=0) / size
    return torques[change[torques] <= 1e3 * ZERO * max(1.0, float(change.max(initial=0.0)))]


def _slides(system: System, speed: int) -> bool:
    """Whether a joint speed is a displacement."""
    for body, where in system.layout.items():
        if where.v_joint.start <= speed < where.v_joint.stop:
            H = np.hstack([group.H for group in system.joints[body].groups])
            return not H[:3, speed - where.v_joint.start].any()
    return False


def warn_of_free(
    system: System, unheld: np.ndarray, told: np.ndarray, torques: tuple[str, ...]
) -> None:
    """Say which speeds, `told`, are left free although they have weights.

    unheld : these, and those that do not move.
    """
    names: list[str] = []
    words: list[str] = []
    for body, where in system.layout.items():
        joint, start = system.joints[body], where.v_joint.start
        every = range(joint.dofs)
        if not {start + i for i in every} & set(told.tolist()):
            continue
        parts = {f"the joint of {body!r}": every}
        if isinstance(joint, Free | Spherical):
            parts = {f"the attitude of {body!r}": every[:3], f"the position of {body!r}": every[3:]}
        here: list[int] = []
        for what, part in parts.items():
            some = [i for i in part if start + i in unheld]
            if {start + i for i in some} & set(told.tolist()):
                labels = [f"{body}[{i}]" for i in some]
                words.append(
                    what if len(some) == len(part) else f"{listed(labels)}, parts of {what}"
                )
                here += some
        names += [body] if len(here) == joint.dofs else [f"{body}[{i}]" for i in here]
    warn(
        f"LQR: the torques of {listed(torques)} do not change the momentum of what floats in {system.name!r}, so they cannot hold "
        f"everything. Left free: {'; '.join(words)}. These cost nothing, whatever Q says, and get no gains. To state this, or to "
        f"leave others free instead, give free={names}; to hold everything, name bodies with torques that push against the world, bodies=[...].",
        ModelWarning,
    )


def free_places(system: System, free: Any) -> np.ndarray:
    """The places in v of the speeds that the argument `free` of LQR names."""
    if free is None:
        return np.zeros(0, dtype=int)
    names = body_names(free, "LQR: free")
    places: list[int] = []
    for name in names:
        body, bracket, number = name, "", ""
        if name not in system.layout and not system.is_joint(name) and name.endswith("]"):
            body, bracket, number = name[:-1].rpartition("[")
        body = system.body_of(body, "LQR: free: body")
        where = system.layout[body].v_joint
        size = where.stop - where.start
        if not size:
            raise ArgumentValueError(
                f"LQR: free: the joint of body {body!r} is fixed and has no speed."
            )
        if bracket and not (number.isdecimal() and int(number) < size):
            raise ArgumentValueError(
                f"LQR: free has {shown(name)}, but the joint of {body!r} has {size} speeds, which are numbered from 0."
            )
        places += [where.start + int(number)] if bracket else range(where.start, where.stop)
    return np.unique(np.array(places, dtype=int))


# --- regulators -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reach:
    """What gains act on, at each point of a motion.

    weights : (2 nv, 2 nv), of what is not left free.
    kept : the states of the linear models that remain.
    T : maps them, among all states, to [dq, dv]; None if they are the states of the model themselves.
    reduced : whether some states are left out on which gains could act.
    """

    weights: Array
    kept: list[np.ndarray]
    T: list[Array | None]
    reduced: bool

    def inner(self, i: int, model: LinearModel) -> LinearModel:
        """The model of the states that remain at a point."""
        kept = self.kept[i]
        model = _followed(model, self.T[i])
        return replace(
            model, A=model.A[np.ix_(kept, kept)], B=model.B[kept], C=model.C[:, kept],
            states=tuple(model.states[k] for k in kept), T=None,
        )  # fmt: skip

    def seen(self, plant: LinearModel, outputs: np.ndarray) -> LinearModel:
        """A plant at the first point with only the states on which the outputs with these numbers depend."""
        found = _followed(plant, self.T[0])
        kept = np.flatnonzero(shown_states(found.A, found.C[outputs]))
        T, along = found.T, self.T[0]
        if T is not None:
            T = (T if along is None else T @ along)[:, kept]
        return replace(
            found, A=found.A[np.ix_(kept, kept)], B=found.B[kept], C=found.C[:, kept], T=T,
            states=tuple(found.states[k] for k in kept),
        )  # fmt: skip


def _followed(model: LinearModel, T: Array | None) -> LinearModel:
    """A model in which some states follow from the others: they stay zero, and move nothing."""
    if T is None:
        return model
    gone = ~T.any(axis=0)
    A, B = model.A @ T, np.array(model.B)
    A[gone], B[gone] = 0.0, 0.0
    return replace(model, A=A, B=B, C=model.C @ T)


def reach(
    system: System,
    models: LinearModel,
    states: tuple[Array, Array],
    torques: JointPlaces,
    weights: Array,
    free: Any,
) -> Reach:
    """What torques reach along the points of a motion, or at one configuration.

    models, states : linear models and q, v of the points.
    weights : (2 nv, 2 nv), Q.
    free : the argument of LQR.
    """
    qs, vs = states
    points, at = range(len(qs)), torques.v
    inertias = mass_matrix(system, qs)
    moved = [moved_states(models[i], inertias[i], at) for i in points]
    left = free_places(system, free)
    Q = _without(weights, left)
    if system.closures:
        return Reach(Q, moved, [None] * len(qs), False)
    moving, nv = len(qs) > 1, system.nv
    every = np.unique(np.concatenate(moved))
    c = kept_momenta(system, qs, at, every)
    if not len(c) and free is None:
        return Reach(Q, moved, [None] * len(qs), False)
    refuse_momenta(system, inertias, vs, c)
    follows, told = chosen_free(system, qs[0], c, at, Q)
    if len(told):
        still = np.setdiff1d(np.arange(nv), np.concatenate([every % nv, at]))
        warn_of_free(system, np.append(told, still), told, torques.labels)
        Q = _without(Q, told)
    kept: list[np.ndarray] = []
    T: list[Array | None] = []
    for i in points:
        map_ = momenta(system, qs[i], vs[i], c, follows, moving).follow() if len(c) else None
        model = _followed(models[i], map_)
        needed = needed_states(model, inertias[i], np.asarray(Q.any(axis=1)))
        kept.append(np.intersect1d(moved_states(model, inertias[i], at), needed))
        T.append(map_)
    return Reach(Q, kept, T, any(len(x) < 2 * nv for x in kept))


def _without(Q: Array, speeds: np.ndarray) -> Array:
    """Weights with zeros for the coordinates and the rates of these speeds."""
    at = np.append(speeds, len(Q) // 2 + speeds)
    Q = np.array(Q)
    Q[at], Q[:, at] = 0.0, 0.0
    return Q


# --- links between states -------------------------------------------------------------------------


def moved_states(model: LinearModel, M: Array, torques: np.ndarray) -> np.ndarray:
    """The states of a model of `linearize` that its inputs move, directly or through other states.

    M : (nv, nv) the mass matrix.
    torques : the places in v of the inputs.
    """
    linked, unit = _links(model, M)
    B = np.abs(model.B) * np.outer(np.tile(unit, 2), np.sqrt(np.diag(M)[torques]))
    moved = np.asarray((B > COUPLED).any(axis=1))
    return np.flatnonzero(_closure(linked, moved))


def needed_states(model: LinearModel, M: Array, wanted: np.ndarray) -> np.ndarray:
    """The states of a model of `linearize` on which those that are wanted (n,) depend."""
    linked, _ = _links(model, M)
    return np.flatnonzero(_closure(linked.T, wanted))


def _links(model: LinearModel, M: Array) -> tuple[np.ndarray, Array]:
    """Which states (rows) depend on which (columns), and the units of coordinates."""
    nv, n = len(M), model.order // 2
    T = np.eye(nv) if model.T is None else model.T[:nv, :n]
    unit = np.sqrt(np.einsum("ij,ik,kj->j", T, M, T))
    A = np.abs(model.A) * np.outer(np.tile(unit, 2), np.tile(1.0 / unit, 2))
    rate = max(float(np.sqrt(A[n:, :n].max(initial=0.0))), float(A[n:, n:].max(initial=0.0))) or 1.0
    time = np.repeat([1.0, 1.0 / rate], n)
    return A * np.outer(time, 1.0 / time) / rate > COUPLED, unit


def shown_states(A: Array, C: Array) -> np.ndarray:
    """Which states outputs C x depend on, directly or through others; a mask."""
    size = np.abs(A)
    least = np.maximum(COUPLED * size.max(axis=1, initial=0.0), ROUNDING * size.max(initial=0.0))
    most = np.abs(C).max(axis=1, initial=0.0)[:, None]
    return _closure(
        np.asarray(size > least[:, None]).T, np.asarray((np.abs(C) > UNREAD * most).any(axis=0))
    )


def _closure(linked: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The states that are first, or depend on one of them."""
    while True:
        more = first | linked[:, first].any(axis=1)
        if (more == first).all():
            return first
        first = more
