"""The description of a system: bodies, joints, and where they attach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import (
    Closure,
    Relation,
    coordinate,
    cut_closure,
    relation,
)
from limber.assembly.described import described
from limber.assembly.look import checked_shapes
from limber.assembly.named import joint_parts
from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies import Body
from limber.checks import Array, array, free_symbols, listed, number, shown, suggestion
from limber.checks import rotation as rotation_matrix
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError
from limber.joints import CompoundJoint, Joint
from limber.shapes import Shape

#: The default of `build()`: the fidelity of the assembly.
OWN = "the assembly's own"


class Assembly:
    """A system under construction; `build()` turns it into a `System`.

    Parameters
    ----------
    name : name of the system, for messages and files.
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
                f"name must be a string, got {shown(name)}. Pass gravity as a keyword: gravity=(0, 0, -9.81)."
            )
        self.name = name
        self.gravity = gravity
        self.fidelity = fidelity
        self._attachments: dict[str, Attachment] = {}
        self._closures: dict[str, Closure | Relation] = {}

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
        """The attachments by body name, in the order in which they were attached."""
        return MappingProxyType(self._attachments)

    @property
    def closures(self) -> Mapping[str, Closure | Relation]:
        """The closures (cut joints and relations) by name, in the order in which they were added."""
        return MappingProxyType(self._closures)

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
        joint_name: str | Sequence[str] | None = None,
        shapes: Shape | Iterable[Shape] | None = None,
    ) -> Assembly:
        """Attach `body` by `joint` to a node of the body `to`, and return the assembly.

        Parameters
        ----------
        name : unique name of the new body.
        body : a `RigidBody`, a `FlexibleBody` or a `beam`.
        joint : the joint between the parent and the body.
        to, at : the parent ("world" or a body that is already attached) and its node (name or number).  Without `at`,
            the joint is at the body frame of the parent.
        offset, rotation : fixed transform from that node frame, which moves with the deformation, to the inboard frame
            of the joint.  The offset is in node axes; the columns of the rotation are the joint axes in node axes.
        inboard : the node of `body` whose frame, which moves with the deformation, is the outboard frame of the joint.
            By default this is the body frame.
        joint_name : a name for the joint in addition to that of the body, or one name for each part of a CompoundJoint
            ("" for a part without a name).  `System.layout` and `System.joints` accept it, and so do arguments that
            name joints.
        shapes : one or several shapes that pictures show for the body, such as lb.shapes.Box((1.0, 0.2, 0.1)).  They do
            not affect the dynamics.  Without shapes, pictures show the nodes of the body or its finite elements.

        Numbers may be SymPy expressions, and joints may be those of `lb.symbolic`; such an assembly is for
        `lb.symbolic.equations`.
        """
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"name must be a non-empty string, got {shown(name)}.")
        if name == "world" or name in self._attachments:
            raise ArgumentValueError(
                f"name={name!r} is already taken: every body needs its own name."
            )
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
                    f"at={shown(at)} of {name!r}: the world has no nodes. Omit `at` and place the joint with offset and "
                    "rotation."
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
            self._joint_names(name, joint, joint_name),
            checked_shapes(name, body, shapes),
        )
        return self

    def _joint_names(
        self, body: str, joint: Joint, given: str | Sequence[str] | None
    ) -> tuple[str, ...]:
        """Return the checked names of a joint or of its parts."""
        names = (given,) if isinstance(given, str) else tuple(given or ())
        parts = len(joint.joints) if isinstance(joint, CompoundJoint) else 1
        if not all(isinstance(name, str) for name in names) or len(names) not in (0, 1, parts):
            raise ArgumentTypeError(
                f"joint_name of {body!r} must be a name, or one name for each part of a compound joint, got "
                f"{shown(given)}."
            )
        taken = {name for item in self._attachments.values() for name in item.joint_names}
        for i, name in enumerate(names):
            if name and (name in taken or name in names[:i]):
                raise ArgumentValueError(
                    f"joint_name={name!r} of {body!r} is already taken: every joint needs its own name."
                )
        return names if any(names) else ()

    def with_joint(self, name: str, joint: Joint) -> Assembly:
        """Return a copy in which a body has another joint with as many speeds; the closures are unchanged."""
        if name not in self._attachments:
            raise ArgumentValueError(
                f"name={shown(name)} is not a body of {self.name!r}; it has: {listed(self._attachments)}."
            )
        item = self._attachments[name]
        if not isinstance(joint, Joint) or joint.dofs != item.joint.dofs:
            raise ArgumentValueError(
                f"joint of {name!r} must be a joint with {item.joint.dofs} speeds, like {item.joint!r}; got "
                f"{shown(joint)}."
            )
        made = copy(self)
        made._attachments = {**self._attachments, name: replace(item, joint=joint)}
        made._closures = dict(self._closures)
        return made

    def with_body_before(
        self, name: str, inserted: str, body: Body, joint: Joint, own: Joint
    ) -> Assembly:
        """Return a copy with another body inserted between a body and its parent; the closures are unchanged.

        Parameters
        ----------
        name : the existing body.
        inserted, body, joint : the name of the inserted body, the body itself and its joint.  The joint replaces that
            of `name` at the same place and takes over its names.
        own : the new joint of `name`, from the frame of the inserted body.
        """
        if name not in self._attachments:
            raise ArgumentValueError(
                f"name={shown(name)} is not a body of {self.name!r}; it has: {listed(self._attachments)}."
            )
        if inserted in self._attachments:
            raise ArgumentValueError(
                f"inserted={shown(inserted)} is already a body of {self.name!r}."
            )
        for closure in self._closures.values():
            if isinstance(closure, Relation) and any(of == name for of, _ in closure.terms):
                raise ArgumentValueError(
                    f"name={shown(name)}: the relation {closure.name!r} uses a coordinate of its joint, which would "
                    "change its meaning. Insert the body before you relate its joint."
                )
        made = copy(self)
        made._attachments = {}
        for key, item in self._attachments.items():
            if key != name:
                made._attachments[key] = item
                continue
            made._attachments[inserted] = replace(
                item, name=inserted, body=body, joint=joint, inboard=None
            )
            made._attachments[key] = replace(
                item, joint=own, to=inserted, at=None, offset=np.zeros(3), rotation=np.eye(3), joint_names=()
            )  # fmt: skip
        made._closures = dict(self._closures)
        return made

    def close(
        self,
        end_a: tuple,
        end_b: tuple,
        joint: Joint,
        name: str | None = None,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        offset_b: ArrayLike = (0.0, 0.0, 0.0),
        rotation_b: ArrayLike | None = None,
    ) -> Assembly:
        """Close a loop by a cut joint that runs from `end_a` to `end_b`, and return the assembly.

        Parameters
        ----------
        end_a, end_b : ("body", node), where the node None is the body frame, or ("world", (x, y, z)).
        joint : any joint without physics.  It has no coordinates in q; the motions that it does not allow are
            constrained.
        name : name of the closure, for messages, files and results; closure1, closure2, ... by default.
        offset, rotation : fixed transform from the node frame of end a, which moves with the deformation, to the
            inboard frame of the joint.  The offset is in node axes; the columns of the rotation are the joint axes in
            node axes.  Ends on the world have world axes.
        offset_b, rotation_b : the same from the node frame of end b to the outboard frame of the joint.
        """
        name = self._closure_name(name, "closure")
        places = offset, rotation, offset_b, rotation_b
        self._closures[name] = cut_closure(name, end_a, end_b, joint, self._attachments, *places)
        return self

    def relate(self, terms: Mapping, value: float = 0.0, name: str | None = None) -> Assembly:
        """Impose a linear relation between joint coordinates, and return the assembly.

        The sum of coefficient * theta equals `value`.

        Parameters
        ----------
        terms : the coefficients by joint.  A joint is given by the name of its body, by (name, index of the coordinate)
            if it has several coordinates, or by its own name (`joint_name` of `attach`).  {"pinion": 0.1, "rack": -1.0}
            is a rack that moves 0.1 m for each radian.
        value : the value of the sum.
        name : name of the relation, for messages, files and results; relation1, relation2, ... by default.
        """
        name = self._closure_name(name, "relation")
        if isinstance(terms, Mapping):
            found = [self._coordinate(joint) for joint in terms]
            for i, joint in enumerate(found):
                if joint in found[:i]:
                    raise ArgumentValueError(
                        f"terms of {name!r}: the joint {shown(joint)} is named twice, once by its body and once by its own "
                        "name. Add up its coefficients."
                    )
            terms = dict(zip(found, terms.values()))
        self._closures[name] = relation(name, terms, value, self._joints())
        return self

    def gear(
        self,
        driven: str | tuple[str, int],
        driver: str | tuple[str, int],
        ratio: float,
        offset: float = 0.0,
        name: str | None = None,
    ) -> Assembly:
        """Gear one joint to another, theta_driven = ratio * theta_driver + offset, and return the assembly.

        Joints are named as in `relate`.  With a ratio of 1 and no offset, both coordinates are equal.  `mimic` in URDF
        is the same relation.
        """
        name = self._closure_name(name, "relation")
        wheel, motor = (
            coordinate(f"{argument} of {name!r}", self._coordinate(joint), self._joints())
            for argument, joint in (("driven", driven), ("driver", driver))
        )
        if wheel == motor:
            raise ArgumentValueError(
                f"driven and driver of {name!r} are the same joint, {shown(driven)}: a gear connects two different "
                "joints."
            )
        ratio, offset = number(f"ratio of {name!r}", ratio), number(f"offset of {name!r}", offset)
        return self.relate({wheel: 1.0, motor: -ratio}, offset, name)

    def body_of(self, name: str, argument: str = "name") -> str:
        """The body of that name, or the body that the joint of that name carries; `argument` is for the message."""
        if isinstance(name, str) and name in self._attachments:
            return name
        part = joint_parts(self._attachments.values()).get(name) if isinstance(name, str) else None
        if part is None:
            raise ArgumentValueError(
                f"{argument}={shown(name)} is not a body of {self.name!r}; it has: {listed(self._attachments)}."
            )
        if part.number is not None:
            raise ArgumentValueError(
                f"{argument}={name!r} is one of several joints of the body {part.body!r} of {self.name!r}: give the "
                "name of the body to mean all of them."
            )
        return part.body

    def _coordinate(self, joint):
        """Return a joint in the form of `relation`: by its body, even if it is given by its own name."""
        part = (
            joint_parts(self._attachments.values()).get(joint) if isinstance(joint, str) else None
        )
        if part is None:
            return joint
        if part.number is None:
            return part.body
        parts = self._attachments[part.body].joint
        assert isinstance(parts, CompoundJoint)
        return part.body, sum(x.dofs for x in parts.joints[: part.number])

    def _joints(self) -> dict[str, Joint]:
        """The joints by body."""
        return {name: item.joint for name, item in self._attachments.items()}

    def _closure_name(self, name: str | None, kind: str) -> str:
        """Return a checked name for the next closure."""
        if name is None:
            count = 1
            while f"{kind}{count}" in self._closures:
                count += 1
            return f"{kind}{count}"
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"name must be a non-empty string, got {shown(name)}.")
        if name in self._closures:
            raise ArgumentValueError(
                f"name={name!r} is already taken: every closure needs its own name."
            )
        return name

    def build(self, fidelity: str = OWN) -> System:
        """Build the immutable System, at the fidelity of the assembly unless `fidelity` is given.

        fidelity="full", the default of an assembly, keeps all terms that depend on the deformation.  "ruthless" drops
        them from the mass, the Coriolis terms and the geometry of the dynamics (Jain & Rodriguez, Appendix B), which
        is faster and accurate for slow motion.
        """
        fidelity = self.fidelity if fidelity is OWN else _fidelity(fidelity)
        if not self._attachments:
            raise ModelError(f"assembly {self.name!r} is empty: attach at least one body.")
        for item in self._attachments.values():
            _refuse_symbols(item)
        unknown = free_symbols(self.gravity)
        if unknown:
            raise ModelError(
                f"gravity of {self.name!r} contains the symbols {_listed(unknown)}: {_NUMBERS}"
            )
        return System(
            self.name,
            tuple(self._attachments.values()),
            self.gravity,
            fidelity,
            tuple(self._closures.values()),
        )

    def rigid(self) -> Assembly:
        """Return the same assembly with all modes removed, so that its bodies are undeformed and rigid.

        Names, masses, nodes, joints and places are unchanged, so for each body q and v of the rigid system contain the
        joint parts of those of the flexible system.  The closures are unchanged.
        """
        made = Assembly(self.name, self.gravity, self.fidelity)
        for name, item in self._attachments.items():
            place = item.to, item.at, item.offset, item.rotation, item.inboard, item.joint_names
            made.attach(name, item.body.without_modes(), item.joint, *place, item.shapes)
        made._closures = dict(self._closures)
        return made

    def __repr__(self):
        n = len(self._closures)
        closures = f", {n} closure{'s' if n > 1 else ''}" if n else ""
        return f"Assembly({self.name!r}, {len(self._attachments)} bodies{closures})"

    def _repr_html_(self) -> str:
        return described(repr(self), self._attachments, self._closures)


def _fidelity(value: str) -> str:
    """A fidelity, checked."""
    if not isinstance(value, str) or value not in ("full", "ruthless"):
        raise ArgumentValueError(f'fidelity must be "full" or "ruthless", got {shown(value)}.')
    return value


_NUMBERS = (
    "a System needs numbers. Substitute numbers, or derive equations with "
    "lb.symbolic.equations(assembly)."
)


def _listed(symbols) -> str:
    return ", ".join(sorted(map(str, symbols)))


def _refuse_symbols(item: Attachment) -> None:
    """Reject an attachment that can only be used in symbolic equations."""
    unknown = free_symbols(item.body, item.offset, item.rotation)
    if unknown:
        raise ModelError(f"body {item.name!r} contains the symbols {_listed(unknown)}: {_NUMBERS}")
    if item.joint.symbolic:
        names = _listed(getattr(item.joint, "q", ()))
        raise ModelError(
            f"the joint of body {item.name!r} is symbolic, with the coordinates {names}: {_NUMBERS} "
            "lb.SimpleJoint and lb.CompoundJoint are its numeric counterparts."
        )
    unknown = free_symbols(item.joint)
    if unknown:
        raise ModelError(
            f"the joint of body {item.name!r} contains the symbols {_listed(unknown)}: {_NUMBERS}"
        )


def _names(body, argument: str, node: str | int, owner: str) -> int:
    """Return the checked number of a node of `body`."""
    return body.node_set.index(argument, node, f"body {owner!r}")
