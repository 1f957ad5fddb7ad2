"""The drawable geometry of a system at one state or many: lines of the bodies, positions of the joints.

The deformation is scaled by scaling the modal coordinates, so bodies stay joined, and whatever they carry rotates with
them as it would at that deformation. The motion of the joints comes from `pose`; the bodies are then reassembled with
their scaled deformation, whose rotations may be far larger than those for which the dynamics is valid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import End
from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.checks import Array, number, whole
from limber.drawing.closures import DrawnEnds, drawn_ends, ever_drawn
from limber.drawing.skeleton import TRIANGLES, Skeleton, skeletons
from limber.dynamics.evaluate import check_system, vectors
from limber.dynamics.kinematics import pose
from limber.joints import Joint
from limber.short_repr import short_repr
from limber.simulation.result import Result

#: rotations (n, 3, 3) and places (n, 3)
Frame = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class JointPlace:
    """A joint in the world, with the batch dimensions of q in front.

    inboard, outboard : (..., 3) origins of its two frames.
    axis : (..., 3) its direction, or None for a joint without one.
    start : (..., 3) the point on the parent that carries it; None on the world, and on a parent with shapes.
    """

    inboard: Array
    outboard: Array
    axis: Array | None
    start: Array | None


@dataclass(frozen=True, eq=False)
class Geometry:
    """Points and segments of a system in world axes, with the batch dimensions of q in front.

    points : maps a body name to (..., p, 3): points along the line of a body, or the corners of its shapes or surface
        if it has any.
    joints : maps a body name to the `JointPlace` of its joint, including bodies with fixed joints.
    skeletons : the meaning of the points and their connections.
    ribs : maps a body name to (..., r, 2, 3), bars across the body that rotate with it; none (r = 0) for bodies that do
        not twist.
    closures : maps the name of a closure to (..., 4, 3): the node that carries its end a, the origins of its frames a
        and b, and the node that carries its end b; for a held joint, four times its position. nan where it is not
        active.
    """

    __repr__ = short_repr

    points: dict[str, Array]
    joints: dict[str, JointPlace]
    skeletons: dict[str, Skeleton]
    ribs: dict[str, Array]
    closures: dict[str, Array]

    def node(self, body: str, node: int) -> Array:
        """(..., 3): the position of a node that is drawn."""
        return self.points[body][..., self.skeletons[body].nodes[node], :]

    def segments(self, body: str) -> Array:
        """(..., e, 2, 3): the lines of a body and those from its parent to its joint."""
        lines = self.points[body][..., self.skeletons[body].edges, :]
        place = self.joints[body]
        rounding = 1e-9 * np.abs(self.points[body]).max(initial=0.0)
        stubs = [
            np.stack([a, b], axis=-2)[..., None, :, :]
            for a, b in ((place.start, place.inboard), (place.inboard, place.outboard))
            if a is not None
            and place.start is not None
            and np.abs(a - b).max(initial=0.0) > rounding
        ]
        return np.concatenate([lines, *stubs], axis=-3)

    def facets(self, body: str) -> Array:
        """(..., t, 3, 3): the triangles of the surface of a body; none (t = 0) for bodies without one."""
        return self.points[body][..., self.skeletons[body].triangles, :]

    def creases(self, body: str) -> Array:
        """(..., c, 2, 3): lines on the surface of a body at its boundary and at sharp bends."""
        return self.points[body][..., self.skeletons[body].creases, :]

    def closure_points(self) -> Array:
        """(..., 2 c, 3): the origins of the two frames of every cut joint."""
        return self._of_closures()[..., 1:3, :].reshape(*self._batch(), -1, 3)

    def closure_lines(self) -> Array:
        """(..., 3 c, 2, 3): from the nodes to the frames of cut joints, and between the frames if they are apart."""
        pairs = self._of_closures()[..., [[0, 1], [1, 2], [2, 3]], :]
        return pairs.reshape(*self._batch(), -1, 2, 3)

    def _of_closures(self) -> Array:
        """(..., c, 4, 3)."""
        none = np.zeros((*self._batch(), 0, 4, 3))
        return np.stack(list(self.closures.values()), axis=-3) if self.closures else none

    def _batch(self) -> tuple[int, ...]:
        return next(iter(self.points.values())).shape[:-2]

    def bounds(self) -> tuple[Array, Array]:
        """The lowest and highest coordinates over all points and states."""
        parts = [*self.points.values(), *self.ribs.values(), *self.closures.values()]
        every = np.concatenate([p.reshape(-1, 3) for p in parts])
        return np.nanmin(every, axis=0), np.nanmax(every, axis=0)


def geometry(
    system: System,
    q: ArrayLike,
    scale: float = 1.0,
    *,
    triangles: int = TRIANGLES,
    closures: DrawnEnds | None = None,
) -> Geometry:
    """Return the drawable geometry at configurations q (..., nq).

    Parameters
    ----------
    scale : of the deformation: modal coordinates are multiplied by it; 1 is true, 0 undeformed.
    triangles : the approximate largest number of triangles on the surface of a body; finer surfaces are coarsened.
    closures : the closures to draw, as returned by `drawing.closures`; by default those of the system.
    """
    check_system(system)
    batch, (states,) = vectors(system, q=(q, system.nq))
    factor = number("scale", scale)
    ends_of = drawn_ends(system) if closures is None else closures
    drawn = skeletons(system, whole("triangles", triangles, 1), ends_of)
    points: dict[str, Array] = {}
    joints: dict[str, JointPlace] = {}
    ribs: dict[str, Array] = {}
    frames: dict[str, Frame] = {}
    for name, item in system.attachments.items():
        relative = joint_motion(system, item, states)
        R = np.broadcast_to(np.eye(3), relative[0].shape)
        inboard = np.zeros_like(relative[1])
        start = None
        if item.to != "world":
            eta = factor * states[:, system.layout[item.to].q_modes]
            R, inboard = _node(frames[item.to], system, item.to, item.at, eta)
            bare = carried(item.joint) and not drawn[item.to].solid
            start = inboard if bare else None
        inboard = inboard + R @ item.offset
        R_out = R @ item.rotation @ relative[0]
        outboard = inboard + np.einsum("nij,nj->ni", R @ item.rotation, relative[1])
        eta = factor * states[:, system.layout[name].q_modes]
        frames[name] = _body_frame(system, item, R_out, outboard, eta)
        local = drawn[name].shapes.places(eta)
        placed = frames[name][1][:, None] + np.einsum("nij,npj->npi", frames[name][0], local)
        points[name] = placed.reshape(*batch, -1, 3)
        ribs[name] = _ribs(drawn[name], frames[name][0], placed, eta).reshape(*batch, -1, 2, 3)
        axis = joint_axis(item.joint)
        joints[name] = JointPlace(
            (inboard if carried(item.joint) else outboard).reshape(*batch, 3),
            outboard.reshape(*batch, 3),
            None if axis is None else (R_out @ axis).reshape(*batch, 3),
            None if start is None else start.reshape(*batch, 3),
        )
    tied = {
        name: _closure(system, ends, frames, factor, states).reshape(*batch, 4, 3)
        for name, ends in ends_of.items()
    }
    return Geometry(points, joints, drawn, ribs, tied)


def result_geometry(result: Result, scale: float = 1.0) -> Geometry:
    """The drawable geometry of the rows of a result; closures are drawn where they are active."""
    ends, active = ever_drawn(result)
    drawn = geometry(result.system, result.q, scale, closures=ends)
    closures = {
        name: np.where(active[name][result.stage][:, None, None], x, np.nan)
        for name, x in drawn.closures.items()
    }
    return replace(drawn, closures=closures)


def _closure(
    system: System, ends: tuple[End, End], frames: dict[str, Frame], factor: float, states: Array
) -> Array:
    """(n, 4, 3): node a, frame a, frame b and node b of a cut joint."""
    places = []
    for end in ends:
        if end.body == "world":
            at = np.broadcast_to(end.offset, (len(states), 3))
            places.append((at, at))
        else:
            eta = factor * states[:, system.layout[end.body].q_modes]
            R, p = _node(frames[end.body], system, end.body, end.node, eta)
            places.append((p, p + R @ end.offset))
    (node_a, a), (node_b, b) = places
    return np.stack([node_a, a, b, node_b], axis=1)


def _ribs(drawn: Skeleton, R: Array, points: Array, eta: Array) -> Array:
    """(n, r, 2, 3): the ends of the ribs of a body with placed points and a frame rotated by R."""
    ribs = drawn.ribs
    if not len(ribs.points):
        return np.zeros((len(eta), 0, 2, 3))
    turn = turned(drawn.shapes[ribs.points].turns(eta).reshape(-1, 3))
    turn = turn.reshape(len(eta), -1, 3, 3)
    half = np.einsum("nij,nrjk,rk->nri", R, turn, ribs.half)
    middle = points[:, ribs.points]
    return np.stack([middle - half, middle + half], axis=2)


def joint_motion(system: System, item: Attachment, q: Array) -> Frame:
    """(R, p) of the outboard frame of a joint relative to its inboard frame, at configurations (n, nq)."""
    R_out, outboard = pose(system, q, item.name, item.inboard)
    R_in, inboard = np.broadcast_to(item.rotation, R_out.shape), item.offset
    if item.to != "world":
        R_at, at = pose(system, q, item.to, item.at)
        R_in, inboard = R_at @ item.rotation, at + R_at @ item.offset
    back = R_in.transpose(0, 2, 1)
    return back @ R_out, np.einsum("nij,nj->ni", back, outboard - inboard)


def _node(frame: Frame, system: System, body: str, node: int | None, eta: Array) -> Frame:
    """The frame of a node of a body whose own frame is given."""
    if node is None:
        return frame
    turn, local = _bent(system, body, node, eta)
    return frame[0] @ turn, frame[1] + np.einsum("nij,nj->ni", frame[0], local)


def _body_frame(system: System, item: Attachment, R: Array, p: Array, eta: Array) -> Frame:
    """The frame of a body whose joint's outboard frame is given."""
    if item.inboard is None:
        return R, p
    turn, local = _bent(system, item.name, item.inboard, eta)
    R = R @ turn.transpose(0, 2, 1)
    return R, p - np.einsum("nij,nj->ni", R, local)


def _bent(system: System, body: str, node: int, eta: Array) -> Frame:
    """Rotation and position of a node in the frame of its body."""
    shapes = system.bodies[body].node_set.shapes[[node]]
    return turned(shapes.turns(eta)[:, 0]), shapes.places(eta)[:, 0]


def turned(vectors: Array) -> Array:
    """(n, 3, 3): the rotations by rotation vectors (n, 3)."""
    from scipy.spatial.transform import Rotation  # noqa: PLC0415 (slow to import)

    return Rotation.from_rotvec(vectors).as_matrix()


def joint_axis(joint: Joint) -> Array | None:
    """The axis, in outboard components, of a joint that rotates about one or slides along one."""
    if joint.dofs == 0:
        return None
    directions = np.hstack(
        [g.H.reshape(2, 3, -1).transpose(1, 0, 2).reshape(3, -1) for g in joint.groups]
    )
    u, size, _ = np.linalg.svd(directions)
    return u[:, 0] if size[1:].max(initial=0.0) <= 1e-9 * size[0] else None


def carried(joint: Joint) -> bool:
    """Whether a joint slides in at most one direction, so that the body visibly sits on its parent."""
    slides = [g.H[3:] for g in joint.groups]
    return not slides or bool(np.linalg.matrix_rank(np.hstack(slides), tol=1e-9) <= 1)
