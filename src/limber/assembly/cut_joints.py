"""The constraints of cut joints: the complement of the motions that a joint allows.

The motions of most joints form a group: the span of the joint map is the same in every position.  Such a joint allows
no rotation, rotation about one axis, or all rotations about a point; displacements in a set of directions; or a screw.
Its rows are constant in the axes of its outboard frame once both of its frames are moved to the axis or the point.
The kernels handle other joints, whose map changes with their coordinates (`kernels.cut_joint`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from limber.checks import Array
from limber.errors import ModelError
from limber.joints import Joint
from limber.kernels import layout as L

#: Relative size below which a direction counts as dependent.
SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class CutJoint:
    """A cut joint as closure rows.

    kind : LOCKED, AXIAL, BALL, CROSSED or COMPOUND.
    rows : (n, 6), unit rows [rotation, displacement] in the axes of the outboard frame; zero if they change.
    shift : (3,) displacement to apply to both frames, in joint axes.
    axis : AXIAL: the axis (3,).  CROSSED: the axis of the inboard frame, that of the outboard frame, and their cosine.
    pitch : displacement along the axis per radian if the last row is that of a screw, otherwise None.
    joint : COMPOUND: the joint.
    free : (s, 6) COMPOUND: unit twists in the axes of the outboard frame that are free in addition to those of the
        joint.
    """

    kind: int
    rows: Array
    shift: Array
    axis: Array
    pitch: float | None = None
    joint: Joint | None = None
    free: Array = field(default_factory=lambda: np.zeros((0, 6)))

    def without(self, left_out: tuple[int, ...]) -> CutJoint:
        """The same joint without some rows; see `Closure.left_out`."""
        if not left_out:
            return self
        if self.kind == L.COMPOUND:
            free = np.eye(6)[list(left_out)]
            return replace(self, rows=self.rows[len(left_out) :], free=free)
        kind, axis = self.kind, self.axis
        if kind == L.CROSSED and 0 in left_out:
            kind, axis = L.BALL, np.zeros(0)
        pitch = None if len(self.rows) - 1 in left_out else self.pitch
        rows = np.delete(self.rows, left_out, axis=0)
        return replace(self, kind=kind, rows=rows, axis=axis, pitch=pitch)


@lru_cache(maxsize=1000)
def cut_joint_rows(joint: Joint) -> CutJoint:
    """The rows of a cut joint."""
    at_zero = joint.H(joint.neutral())
    span = _basis(at_zero)
    everywhere = np.hstack([joint.H(random_position(joint, 1.0, seed)) for seed in range(4)])
    if _basis(np.hstack([span, everywhere])).shape[1] > span.shape[1]:
        return _changing(joint)
    if span.shape[1] == 6:
        raise ModelError(
            f"the joint {joint!r} of a closure allows all six motions, so it constrains nothing: remove the "
            "closure."
        )
    turning = _basis(span[:3])
    sliding = _basis(span[3:] @ _null(span[:3]))
    if turning.shape[1] == 0:
        rows = _stacked(np.eye(3), _null(sliding.T))
        return CutJoint(L.LOCKED, rows, np.zeros(3), np.zeros(0))
    if turning.shape[1] == 1:
        return _axial(span, turning[:, 0], sliding)
    return _ball(span)


@lru_cache(maxsize=1000)
def independent_speeds(joint: Joint) -> int:
    """How many of the speeds of a joint are independent, except for singular positions."""
    rank = 0
    for seed in range(4):
        twists = joint.H(random_position(joint, 1.0, seed))
        twists = np.vstack([twists[:3], twists[3:] / typical_length(joint)])
        size = np.linalg.svd(
            twists / np.maximum(np.linalg.norm(twists, axis=0), 1e-300), compute_uv=False
        )
        rank = max(rank, int((size > SMALL).sum()))
    return rank


@lru_cache(maxsize=1000)
def reach_is_left_out(joint: Joint) -> bool:
    """Whether parallel hinges alone move the ends of a joint anywhere in a plane: its rows do not know how far they reach."""
    spans = [_basis(joint.H(random_position(joint, 1.0, seed))) for seed in range(4)]
    span = spans[0]
    turning = _basis(span[:3])
    if turning.shape[1] != 1 or _basis(np.hstack(spans)).shape[1] > span.shape[1]:
        return False
    across = np.eye(3) - turning @ turning.T
    sliders = [h[3:] for group in joint.groups for h in group.H.T if not h[:3].any()]
    slides = _basis(across @ span[3:] @ _null(span[:3])).shape[1] == 2
    return slides and not any(
        np.linalg.norm(across @ h) > SMALL * np.linalg.norm(h) for h in sliders
    )


def _axial(span: Array, axis: Array, sliding: Array) -> CutJoint:
    """A joint that rotates about one axis and slides along the columns of `sliding`."""
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
    t = span[3:] @ np.linalg.lstsq(span[:3], axis, rcond=None)[0]
    t = t - sliding @ (sliding.T @ t)
    pitch = float(axis @ t)
    across = t - axis * pitch
    shift = np.cross(axis, across)
    turns = _null(axis[None])
    if abs(pitch) <= SMALL or (sliding.size and np.linalg.norm(sliding.T @ axis) > 0.5):
        return CutJoint(L.AXIAL, _stacked(turns, _null(sliding.T)), shift, axis)
    across_rows = _null(np.hstack([sliding, axis[:, None]]).T)
    screw = np.concatenate([-pitch * axis, axis]) / np.hypot(1.0, pitch)
    rows = np.vstack([_stacked(turns, across_rows), screw])
    return CutJoint(L.AXIAL, rows, shift, axis, pitch)


def _ball(span: Array) -> CutJoint:
    """A joint that rotates about all axes through a point."""
    velocity = span[3:] @ np.linalg.inv(span[:3])  # c x e_i by columns
    shift = 0.5 * np.array(
        [velocity[2, 1] - velocity[1, 2], velocity[0, 2] - velocity[2, 0], velocity[1, 0] - velocity[0, 1]]
    )  # fmt: skip
    return CutJoint(L.BALL, _stacked(np.zeros((3, 0)), np.eye(3)), shift, np.zeros(0))


def _changing(joint: Joint) -> CutJoint:
    """A joint whose motions do not form a group: two rotations about intersecting axes, or any other."""
    maps = [group.H for group in joint.groups]
    crossing = (
        len(maps) == 2
        and all(g.kind == L.SCREWS and g.dofs == 1 for g in joint.groups)
        and not any(np.any(H[3:]) for H in maps)
    )
    if not crossing:
        return CutJoint(
            L.COMPOUND, np.zeros((6 - joint.dofs, 6)), np.zeros(3), np.zeros(0), joint=joint
        )
    first, second = (H[:3, 0] / np.linalg.norm(H[:3, 0]) for H in maps)
    rows = np.vstack([np.zeros(6), _stacked(np.zeros((3, 0)), np.eye(3))])
    axis = np.concatenate([first, second, [first @ second]])
    return CutJoint(L.CROSSED, rows, np.zeros(3), axis)


def _stacked(turns: Array, slides: Array) -> Array:
    """Rows of rotations along the columns of `turns` and of displacements along those of `slides`."""
    return np.vstack(
        [
            np.hstack([turns.T, np.zeros((turns.shape[1], 3))]),
            np.hstack([np.zeros((slides.shape[1], 3)), slides.T]),
        ]
    )


def typical_length(joint: Joint, size: float = 1.0) -> float:
    """How far the axes of its hinges are from the frames of a joint, or they advance by a radian, at most.

    size : what it is if they are not and do not, as those of a hinge and a slider.
    """
    columns = [h for group in joint.groups for h in group.H.T if h[:3].any()]
    lengths = [float(np.linalg.norm(h[3:]) / np.linalg.norm(h[:3])) for h in columns]
    return max(lengths, default=0.0) or size


def random_position(joint: Joint, size: float, seed: int = 0, about: Array | None = None) -> Array:
    """A position of a joint at a random distance of about `size` from another one, or from its neutral one."""
    random = np.random.default_rng(seed)
    theta = (joint.neutral() if about is None else about) + size * random.normal(size=joint.nq)
    for part in joint.quaternions():
        theta[part] /= np.linalg.norm(theta[part])
    return theta


def mirror_signs(cut: CutJoint, theta: Array, length: float) -> Array:
    """The signs of `kernels.cut_joint.store_mirror` for a COMPOUND joint: those of the components at theta.

    Its rows then change steadily up to where a twist has turned to the opposite of one of the coordinate axes.

    length : the unit of lengths in the rows.
    """
    assert cut.joint is not None
    twists = np.hstack([cut.joint.H(theta), cut.free.T])
    twists[3:] /= length
    signs = np.ones(twists.shape[1])
    for i, x in enumerate(twists.T):
        signs[i] = -1.0 if x[i] < 0.0 else 1.0
        mirror = np.where(np.arange(6) < i, 0.0, x)
        mirror[i] += signs[i] * np.linalg.norm(mirror)
        twists -= np.outer(mirror, mirror @ twists) * (2.0 / max(float(mirror @ mirror), 1e-200))
    return signs


def _basis(A: Array) -> Array:
    """An orthonormal basis of the columns of A; coordinate axes where they span it."""
    if A.shape[1] == 0:
        return A
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    return _tidy(U[:, s > SMALL * max(1.0, s.max(initial=0.0))])


def _null(A: Array) -> Array:
    """An orthonormal basis of the null space of A, as columns."""
    if A.shape[0] == 0:
        return np.eye(A.shape[1])
    _, s, Vt = np.linalg.svd(A)
    rank = int((s > SMALL * max(1.0, s.max(initial=0.0))).sum())
    return _tidy(Vt[rank:].T)


def _tidy(Q: Array) -> Array:
    """The same span, by coordinate axes where they lie in it; they make cheaper rows than other directions."""
    found: list[Array] = []
    rest = Q @ Q.T
    for axis in np.eye(len(Q)):
        if np.linalg.norm(rest @ axis - axis) < SMALL:
            found.append(axis)
    if found:
        E = np.array(found).T
        U, s, _ = np.linalg.svd(Q - E @ (E.T @ Q), full_matrices=False)
        Q = np.hstack([E, U[:, s > 0.5]])
    return Q
