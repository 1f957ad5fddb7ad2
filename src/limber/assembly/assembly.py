"""The description of a system: bodies, joints and where they sit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies import Body
from limber.checks import Array, array, free_symbols, listed, shown, suggestion
from limber.checks import rotation as rotation_matrix
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError
from limber.joints import Joint

#: The default of `build()`, which stands for the fidelity of the assembly.
OWN = "the assembly's own"


class Assembly:
    """A system under construction; `build()` makes it a `System`.

    Parameters
    ----------
    name : for messages and files.
    gravity : acceleration of gravity in world axes, m/s^2.
    fidelity : the fidelity that `build()` uses by default, "full" or "ruthless".
    """

    def __init__(
        self,
        name: str = "system",
        gravity: ArrayLike = (0.0, 0.0, 0.0),
        fidelity: str = "full",
    ):
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"name must be a string, got {shown(name)}. Gravity goes by keyword: gravity=(0, 0, -9.81)."
            )
        self.name = name
        self.gravity = gravity
        self.fidelity = fidelity
        self._attachments: dict[str, Attachment] = {}

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity in world axes, m/s^2."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        hint = "The acceleration of gravity in world axes, as in (0, 0, -9.81)."
        self._gravity = array("gravity", value, (3,), hint, symbols=True)

    @property
    def fidelity(self) -> str:
        """The fidelity that `build()` uses by default, "full" or "ruthless"."""
        return self._fidelity

    @fidelity.setter
    def fidelity(self, value: str) -> None:
        self._fidelity = _fidelity(value)

    @property
    def attachments(self) -> Mapping[str, Attachment]:
        """The attachments by body name, in order."""
        return MappingProxyType(self._attachments)

    def attach(
        self,
        name: str,
        body: Body,
        joint: Joint,
        to: str = "world",
        at: str | int | None = None,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        inboard: str | int | None = None,
    ) -> Assembly:
        """Attach `body` by `joint` to a node of the body `to`, and return the assembly.

        Parameters
        ----------
        name : of the new body; unique.
        to, at : the parent ("world" or a body attached before) and its node (name or number); without
            `at` the joint sits on the parent's body frame.
        offset, rotation : fixed transform from that (deforming) node frame to the joint's inboard
            frame; offset in node axes, the columns of rotation are the joint axes in node axes.
        inboard : node of `body` whose (deforming) frame is the joint's outboard frame; by default the
            body frame is.

        Numbers may be SymPy expressions, and joints those of `lb.symbolic`; such an assembly is for
        `lb.symbolic.equations`.
        """
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"name must be a non-empty string, got {shown(name)}.")
        if name == "world" or name in self._attachments:
            raise ArgumentValueError(f"name={name!r} is taken: every body needs a name of its own.")
        if not isinstance(body, Body):
            raise ArgumentTypeError(
                f"body of {name!r} must be a RigidBody, a FlexibleBody or a beam(...), got {shown(body)}."
            )
        if not isinstance(joint, Joint) or type(joint) is Joint:
            raise ArgumentTypeError(
                f"joint of {name!r} must be a joint such as lb.Revolute([0, 0, 1]), got {shown(joint)}."
            )
        if not isinstance(to, str):
            raise ArgumentTypeError(
                f'to of {name!r} must be "world" or the name of a body, got {shown(to)}.'
            )
        if to != "world" and to not in self._attachments:
            known = ["world", *self._attachments]
            raise ArgumentValueError(
                f"to={to!r}, the parent of {name!r}, is not attached yet.{suggestion(to, known)} Attach a parent before its "
                f"children (that also rules out cycles); known so far: {listed(known)}."
            )
        if at is not None:
            if to == "world":
                raise ArgumentValueError(
                    f"at={shown(at)} of {name!r}: the world has no nodes. Leave `at` out and place the joint by offset and rotation."
                )
            at = _names(self._attachments[to].body, "at", at, to)
        if inboard is not None:
            inboard = _names(body, "inboard", inboard, name)
        hint = f"It places the joint of {name!r}."
        self._attachments[name] = Attachment(
            name,
            body,
            joint,
            to,
            at,
            array("offset", offset, (3,), hint, symbols=True),
            rotation_matrix("rotation", np.eye(3) if rotation is None else rotation, hint, True),
            inboard,
        )
        return self

    def build(self, fidelity: str = OWN) -> System:
        """The immutable System, at the fidelity of the assembly unless one is given.

        fidelity="full", the default of an assembly, keeps all terms that depend on the deformation.  "ruthless" drops
        them from the mass, the Coriolis terms and the geometry of the dynamics (Jain & Rodriguez, Appendix B), which
        is faster and right for slow motion.
        """
        fidelity = self.fidelity if fidelity is OWN else _fidelity(fidelity)
        if not self._attachments:
            raise ModelError(f"assembly {self.name!r} is empty: attach at least one body.")
        for item in self._attachments.values():
            _refuse_symbols(item)
        unknown = free_symbols(self.gravity)
        if unknown:
            raise ModelError(
                f"gravity of {self.name!r} has the symbols {_listed(unknown)}: {_NUMBERS}"
            )
        return System(self.name, tuple(self._attachments.values()), self.gravity, fidelity)

    def rigid(self) -> Assembly:
        """The same assembly with all modes removed: its bodies undeformed, and rigid.

        Names, masses, nodes, joints and places stay, so q and v of the rigid system hold, body by body, the joint
        parts of those of the flexible one.
        """
        made = Assembly(self.name, self.gravity, self.fidelity)
        for name, item in self._attachments.items():
            place = item.to, item.at, item.offset, item.rotation, item.inboard
            made.attach(name, item.body.without_modes(), item.joint, *place)
        return made

    def __repr__(self):
        return f"Assembly({self.name!r}, {len(self._attachments)} bodies)"


def _fidelity(value: str) -> str:
    """A fidelity, checked."""
    if not isinstance(value, str) or value not in ("full", "ruthless"):
        raise ArgumentValueError(f'fidelity must be "full" or "ruthless", got {shown(value)}.')
    return value


_NUMBERS = (
    "a System needs numbers. Put them in, or derive formulas with lb.symbolic.equations(assembly)."
)


def _listed(symbols) -> str:
    return ", ".join(sorted(map(str, symbols)))


def _refuse_symbols(item: Attachment) -> None:
    """Refuse an attachment that can only be used in symbolic equations."""
    unknown = free_symbols(item.body, item.offset, item.rotation)
    if unknown:
        raise ModelError(f"body {item.name!r} has the symbols {_listed(unknown)}: {_NUMBERS}")
    if item.joint.symbolic:
        names = _listed(getattr(item.joint, "q", ()))
        raise ModelError(
            f"the joint of body {item.name!r} is symbolic, with the coordinates {names}: {_NUMBERS} "
            "lb.SimpleJoint and lb.CompoundJoint are its numeric counterparts."
        )
    unknown = free_symbols(item.joint)
    if unknown:
        raise ModelError(
            f"the joint of body {item.name!r} has the symbols {_listed(unknown)}: {_NUMBERS}"
        )


def _names(body, argument: str, node: str | int, owner: str) -> int:
    """The number of a node of `body`, checked."""
    return body.node_set.index(argument, node, f"body {owner!r}")
