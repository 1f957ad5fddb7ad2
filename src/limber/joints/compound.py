"""Compound joints: several joints in series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np

from limber.checks import Array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints.base import Joint
from limber.joints.physics import JointOptions, joined, option_of


class CompoundJoint(Joint):
    """Several joints in series, from inboard to outboard, as one joint whose map depends on theta.

    The map H(theta) and the acceleration due to the rate of H follow Kwatny & Blankenship, Proposition 3.  The
    coordinates and speeds are those of the parts, in order.
    """

    def __init__(self, joints, **physics: Unpack[JointOptions]):
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
                f"joints have {self.dofs} speeds together, but a joint between two bodies has at most 6 independent ones. "
                "Remove some, or put bodies in between."
            )
        if not physics:
            self._finish(joined([joint.physics for joint in joints]))
            return
        for i, joint in enumerate(joints):
            if joint.physics.given:
                raise ArgumentValueError(
                    f"{next(iter(physics))} is given for all joints together, but joints[{i}] has its own "
                    f"{next(iter(joint.physics.given))}. Give physics either to each joint or to all of them together."
                )
        self._finish(physics)

    def with_physics(self, arrays: Mapping[str, Array]) -> Joint:
        """Return the same joint with other physics; physics that was given to the parts changes in the parts."""
        made = super().with_physics(arrays)
        if not self.physics.given:
            ends = np.cumsum([joint.dofs for joint in self.joints])[:-1]
            split = {name: np.split(np.array(x), ends) for name, x in arrays.items()}
            parts = [
                joint.with_physics(
                    {
                        name: x[i]
                        for name, x in split.items()
                        if option_of(name) in joint.physics.options
                    }
                )
                for i, joint in enumerate(self.joints)
            ]
            vars(made)["joints"] = tuple(parts)
        return made

    def __repr__(self):
        return self._written(f"[{', '.join(map(repr, self.joints))}]")
