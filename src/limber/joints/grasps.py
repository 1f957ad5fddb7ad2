"""Grasp models: what a hand or finger can exert on an object that it touches, as cut joints of closures.

End a of the closure is the hand and end b is the object.  The z axis of frame b is the contact normal and points into
the object.  The joint allows the motions that the contact does not resist.  A closure can pull as well as push, so
`lb.check_grasps` checks afterwards, by the cone of wrenches that the contact can exert, whether the contact would hold.

Wrenches are [moment, force] on the object at the contact, in the axes of frame b.  The contact is at the origin of
frame b or, if it slides, at the origin of frame a.
"""

from __future__ import annotations

import numpy as np

from limber.checks import Array, number
from limber.joints.base import Joint
from limber.joints.compound import CompoundJoint
from limber.joints.fixed import Fixed
from limber.joints.prismatic import Prismatic
from limber.joints.revolute import Revolute
from limber.joints.spherical import Spherical
from limber.joints.universal import Universal


class Grasp(Joint):
    """Base class of the grasp models."""

    #: whether the contact moves over the object
    slides = False

    def needed(self, wrench: Array) -> Array:
        """Return the least normal force at which the contact can exert the other components of `wrench` (..., 6)."""
        raise NotImplementedError

    def margin(self, wrench: Array) -> Array:
        """Return the normal force minus the needed one, N; it is negative if the contact does not hold."""
        wrench = np.asarray(wrench, dtype=float)
        return wrench[..., 5] - self.needed(wrench)


class RigidGrasp(Grasp, Fixed):
    """A hand that holds the object firmly: it can exert any moment and force, and always holds."""

    def __init__(self) -> None:
        Fixed.__init__(self)

    def needed(self, wrench: Array) -> Array:
        """Minus infinity: no normal force is needed."""
        return np.full(np.shape(wrench)[:-1], -np.inf)

    def __repr__(self):
        return "RigidGrasp()"


class HardPoint(Grasp, Spherical):
    """A hard finger tip that turns but does not slide.  It exerts a force within the friction cone and no moment.

    friction : coefficient mu; |tangential force| <= mu * normal force.
    """

    def __init__(self, friction: float) -> None:
        self.friction = number("friction of HardPoint", friction, above=0.0)
        Spherical.__init__(self)

    def needed(self, wrench: Array) -> Array:
        """|tangential force| / mu."""
        return np.hypot(wrench[..., 3], wrench[..., 4]) / self.friction

    def __repr__(self):
        return f"HardPoint({self.friction!r})"


class SoftFinger(Grasp, Universal):
    """A soft finger tip that rolls but neither slides nor spins.  It exerts a force, and a moment about the normal.

    It turns about the x axis of frame a and the y axis of frame b, which are tangents of the contact.

    friction : coefficient mu of tangential forces.
    torsion : coefficient gamma of the moment about the normal, in metres.  Forces and moments share the friction of the
        patch: (tangential force / mu)^2 + (moment / gamma)^2 <= (normal force)^2.
    """

    def __init__(self, friction: float, torsion: float) -> None:
        self.friction = number("friction of SoftFinger", friction, above=0.0)
        self.torsion = number("torsion of SoftFinger", torsion, above=0.0)
        Universal.__init__(self, "x", "y")

    def needed(self, wrench: Array) -> Array:
        """The square root of (tangential force / mu)^2 + (moment / gamma)^2."""
        tangential = np.hypot(wrench[..., 3], wrench[..., 4])
        return np.hypot(tangential / self.friction, wrench[..., 2] / self.torsion)

    def __repr__(self):
        return f"SoftFinger({self.friction!r}, {self.torsion!r})"


class FrictionlessPoint(Grasp, CompoundJoint):
    """A point that slides on the x-y plane of frame b without friction.  It exerts only a normal force."""

    slides = True

    def __init__(self) -> None:
        CompoundJoint.__init__(self, [Spherical(), Prismatic("x"), Prismatic("y")])

    def needed(self, wrench: Array) -> Array:
        """Zero."""
        return np.zeros(np.shape(wrench)[:-1])

    def __repr__(self):
        return "FrictionlessPoint()"


class SlidingLine(Grasp, CompoundJoint):
    """An edge along the x axis of frame a that slides on the x-y plane of frame b without friction.

    It exerts a normal force and a moment about the tangent perpendicular to the edge.  It turns about the edge and
    about the normal, and slides in both directions.

    length : length of the edge, whose middle is the origin of frame a; |moment| <= length / 2 * normal force.
    """

    slides = True

    def __init__(self, length: float) -> None:
        self.length = number("length of SlidingLine", length, above=0.0)
        sliding = [Prismatic("x"), Prismatic("y"), Revolute("z")]
        CompoundJoint.__init__(self, [Revolute("x"), *sliding])

    def needed(self, wrench: Array) -> Array:
        """|moment| / (length / 2)."""
        return np.linalg.norm(np.asarray(wrench)[..., :3], axis=-1) / (0.5 * self.length)

    def __repr__(self):
        return f"SlidingLine({self.length!r})"
