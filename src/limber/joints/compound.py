"""Compound joints: several joints in a row."""

from __future__ import annotations

from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints.base import Joint


class CompoundJoint(Joint):
    """Joints in a row, from inboard to outboard, as one joint with a moving map.

    Its map H(theta) and the acceleration that goes with its rate follow Kwatny & Blankenship,
    Proposition 3.  Coordinates and speeds are those of the parts, in order.
    """

    def __init__(self, joints):
        try:
            joints = tuple(joints)
        except TypeError:
            raise ArgumentTypeError(
                f"joints must be a list of joints, got {shown(joints)}."
            ) from None
        for i, joint in enumerate(joints):
            if not isinstance(joint, Joint):
                raise ArgumentTypeError(
                    f"joints[{i}] must be a joint such as lb.Revolute([0, 0, 1]), got {shown(joint)}."
                )
        self.joints = joints
        self.groups = tuple(g for joint in joints for g in joint.groups)
        if self.dofs > 6:
            raise ArgumentValueError(
                f"joints have {self.dofs} speeds together; a joint between two bodies has at most 6 independent ones. "
                "Leave some out, or put bodies in between."
            )
        self._freeze()

    def __repr__(self):
        return f"CompoundJoint([{', '.join(map(repr, self.joints))}])"
