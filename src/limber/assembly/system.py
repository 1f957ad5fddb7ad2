"""The immutable system that the dynamics functions take."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Closure, Relation
from limber.assembly.described import described
from limber.assembly.extent import extent
from limber.assembly.given_closures import given_closures
from limber.assembly.join import joined, renamed_body, renamed_closure
from limber.assembly.loops import with_closures
from limber.assembly.named import BodyLayout, joint_parts, named_joints, named_layout
from limber.assembly.pack import Attachment, Packed, pack
from limber.assembly.parameter_changes import Origin, changed, packed_with
from limber.assembly.parameters import Parameter, every
from limber.assembly.singular import generic_configuration, pivots_large, refuse_singular
from limber.bodies import Body
from limber.checks import Array, finite_numbers, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import Frozen
from limber.joints import Joint
from limber.kernels import layout as L


class System(Frozen):
    """A tree of bodies, with or without closed loops, ready for computation.

    `Assembly.build` makes it.  It is immutable and safe to share between threads.  `nq` and `nv` are the sizes of q and
    v.  `layout[name]` gives the slices of q and v that belong to a body, and `configuration` and `speeds` fill such
    vectors by the names of joints.  `bodies`, `joints` and `parents` map the
    names of the bodies to what was attached.  `layout` and `joints` also accept names of joints (`joint_name` of
    `Assembly.attach`, or from a file).  `name`, `gravity`, `fidelity`, `attachments` and `closures` are those of the
    assembly at the time of the build, so `lb.save` accepts either.
    """

    __slots__ = ("_ready",)  # every call reads it, and a slot is faster than __dict__

    def __init__(
        self,
        name: str,
        items: tuple[Attachment, ...],
        gravity: Array,
        fidelity: str,
        closures: tuple[Closure | Relation, ...] = (),
        *,
        regular: bool = True,
    ):
        tree = pack(list(items), gravity, fidelity == "ruthless")
        full = tree if fidelity == "full" else pack(list(items), gravity, False)
        self._describe(name, items, gravity, fidelity, (tree, full))
        self._close(closures)
        self._regular = regular
        if regular:  # forward dynamics needs it, inverse dynamics does not
            refuse_singular(self)
        self._freeze()

    def _describe(
        self,
        name: str,
        items: tuple[Attachment, ...],
        gravity: Array,
        fidelity: str,
        trees: tuple[Packed, Packed],
    ) -> None:
        """Set everything that does not depend on closures."""
        self.name = name
        #: functions of single states, by call; `dynamics.evaluate.evaluated` stores them here
        self._ready: dict[Hashable, Any] = {}
        #: the system whose numbers `with_parameters` changed, and the changes; generated code takes them as arguments
        self._origin: Origin | None = None
        #: shared by systems with other numbers: the parameters used so far, by name
        self._parameters: dict[str, Parameter] = {}
        #: shared too: the neutral configuration and one away from special positions, once they are needed
        self._shared: dict[str, Array] = {}
        #: whether the mass matrix must be regular, even with other numbers
        self._regular = True
        self.fidelity = fidelity
        self.gravity = gravity
        self.attachments: Mapping[str, Attachment] = MappingProxyType({i.name: i for i in items})
        self.bodies: Mapping[str, Body] = MappingProxyType({i.name: i.body for i in items})
        self._parts = joint_parts(items)
        self.joints: Mapping[str, Joint] = MappingProxyType(
            named_joints(self.attachments, self._parts)
        )
        self.parents: Mapping[str, str] = MappingProxyType({i.name: i.to for i in items})
        self._numbers = {"world": 0} | {name: k for k, name in enumerate(self.attachments, start=1)}
        #: packed without closures, at the fidelity of the system and at full fidelity
        self._trees = trees
        topo = trees[0].topo.reshape(-1, L.COLUMNS)
        self.nq = int(topo[0, L.NQ])
        self.nv = int(topo[0, L.NV])
        layout = {}
        for name_, k in list(self._numbers.items())[1:]:
            qm, qj, vm, vj, m, r = (
                int(x)
                for x in topo[k, [L.Q_MODES, L.Q_JOINT, L.V_MODES, L.V_JOINT, L.MODES, L.DOFS]]
            )
            nq = self.attachments[name_].joint.nq
            layout[name_] = BodyLayout(
                slice(qm, qj), slice(qj, qj + nq), slice(vm, vm + m), slice(vj, vj + r)
            )
        self.layout: Mapping[str, BodyLayout] = MappingProxyType(
            named_layout(layout, self.attachments, self._parts)
        )

    def _close(self, closures: tuple[Closure | Relation, ...]) -> None:
        """Set the closures and everything that depends on them."""
        self.closures: Mapping[str, Closure | Relation] = MappingProxyType(
            {c.name: c for c in closures}
        )
        tree, full = self._trees

        def size() -> float:
            return extent(self)

        #: the arrays that the dynamics runs on, and those with the full geometry (for poses and Jacobians)
        self.dynamics: Packed = with_closures(tree, closures, self._numbers, size)
        self.geometry: Packed = (
            self.dynamics if full is tree else with_closures(full, closures, self._numbers, size)
        )
        for packed in (self.dynamics, self.geometry):
            packed.topo.setflags(write=False)
            packed.const.setflags(write=False)
        #: the number of scalar closure rows
        self.rows = int(self.dynamics.topo[L.ROWS])
        #: how many of them, the last ones, only observe ends (`closures.Probe`)
        self.probes = int(self.dynamics.topo[L.PROBES])
        loops = self.dynamics.loops
        #: the rows of each closure; the kernels take the closures in this order
        self.closure_rows: Mapping[str, slice] = MappingProxyType(
            {} if loops is None else loops.slices()
        )

    @classmethod
    def side_by_side(
        cls, name: str, parts: Mapping[str, System], closures: Iterable[Closure | Relation] = ()
    ) -> System:
        """Combine several systems of the same gravity and fidelity into one, without rebuilding their trees.

        The names of the bodies and closures of each part are prefixed with the name of the part and a slash.
        `closures` are added to them.
        """
        first = next(iter(parts.values()))
        items = [
            renamed_body(item, part)
            for part, system in parts.items()
            for item in system.attachments.values()
        ]
        own = [
            renamed_closure(closure, part)
            for part, system in parts.items()
            for closure in system.closures.values()
        ]
        tree = joined([system._trees[0] for system in parts.values()])
        full = tree
        if first.fidelity != "full":
            full = joined([system._trees[1] for system in parts.values()])
        made = object.__new__(cls)
        made._describe(name, tuple(items), first.gravity, first.fidelity, (tree, full))
        made._close((*own, *closures))
        made._freeze()
        return made

    def closed_by(self, closures: Iterable) -> System:
        """Return the same system with other closures; the tree is shared and not rebuilt.

        closures : each is a closure of another system with the same bodies, (end_a, end_b, joint), (end_a, end_b,
            joint, name), or a dict with the arguments of `Assembly.close` or `Assembly.relate`.
        """
        return self._with(given_closures(closures, self.attachments))

    def with_full_fidelity(self) -> System:
        """Return the same system at full fidelity; its bodies are not packed again."""
        if self.fidelity == "full":
            return self
        full = self._trees[1]
        return self._with(tuple(self.closures.values()), fidelity="full", _trees=(full, full))

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The numbers that `with_parameters`, `simulate` and generated code can change, by name.

        Each has a `value`, and a `meaning` with its unit.  `limber.assembly.parameters` lists them.
        """
        return MappingProxyType(every(self))

    def with_parameters(self, values: Mapping[str, Any]) -> System:
        """Return the same system with other numbers; nothing is rebuilt, reduced or compiled again.

        values : numbers by the names of `parameters`, such as {"link1.mass": 3.0, "link2.EI": 1.2e4}.

        Numbers that bodies, joints or assemblies would reject are rejected, and so are numbers that make the mass
        matrix singular.  The mode shapes, and thus the meaning of the modal coordinates, are unchanged
        (`limber.bodies.variation`).  Beams made with damping ratios keep the ratios; other bodies keep their damping
        matrices.  Stops keep their softness.
        """
        change = changed(self, values)
        if not change.given:
            return self
        copy = object.__new__(System)
        vars(copy).update(vars(self), gravity=change.gravity, _frozen=False)
        copy._origin = change.origin(self)
        copy._ready = {}
        if change.items:
            items = {**self.attachments, **change.items}
            copy.attachments = MappingProxyType(items)
            copy.bodies = MappingProxyType({name: i.body for name, i in items.items()})
            copy.joints = MappingProxyType(named_joints(items, self._parts))
        copy.closures = MappingProxyType(change.closures)
        joints = list(copy.joints.values())
        found = {
            id(x): packed_with(self, x, change, joints)
            for x in {id(x): x for x in (*self._trees, self.dynamics, self.geometry)}.values()
        }
        copy._trees = found[id(self._trees[0])], found[id(self._trees[1])]
        copy.dynamics, copy.geometry = found[id(self.dynamics)], found[id(self.geometry)]
        if self._regular and not change.harmless and not pivots_large(copy, self._generic):
            refuse_singular(copy)
        vars(copy)["_frozen"] = True
        return copy

    @property
    def _generic(self) -> Array:
        """A configuration away from special positions, which systems with other numbers share."""
        found = self._shared.get("generic")
        if found is None:
            found = self._shared["generic"] = generic_configuration(self)
        return found

    def _with(self, closures: tuple[Closure | Relation, ...], **others: Any) -> System:
        """Return a copy with these closures and other attributes."""
        copy = object.__new__(System)
        vars(copy).update(vars(self), _frozen=False, **others)
        copy._ready = {}
        copy._parameters = {}
        copy._origin = None
        copy._close(closures)
        vars(copy)["_frozen"] = True
        return copy

    def neutral(self) -> np.ndarray:
        """Return the configuration q in which all bodies are undeformed and all joints are at zero."""
        found = self._shared.get("neutral")
        if found is None:
            found = np.zeros(self.nq)
            for name, where in self.layout.items():
                found[where.q_joint] = self.attachments[name].joint.neutral()
            self._shared["neutral"] = found
        return found.copy()

    def configuration(
        self, joints: Mapping[str, ArrayLike], modes: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Return the configuration q with these coordinates of joints; all others are neutral.

        joints : {"elbow": 0.4}, by the names of bodies or joints; several numbers for a joint with several coordinates.
        modes : {"link": [0.01, 0.0]}, modal coordinates of bodies.
        """
        return self._fill(self.neutral(), "q", joints, modes)

    def speeds(
        self, joints: Mapping[str, ArrayLike], modes: Mapping[str, ArrayLike] | None = None
    ) -> Array:
        """Return a vector (nv,) with these numbers at joints, and zeros elsewhere: speeds v, or torques tau.

        joints, modes : as for `configuration`, with as many numbers as the joint has speeds.
        """
        return self._fill(np.zeros(self.nv), "v", joints, modes)

    def _fill(self, x: Array, of: str, joints: Any, modes: Any) -> Array:
        """Put the numbers of joints and modes into a vector; `of` is "q" or "v"."""
        for what, given in (("joints", joints), ("modes", {} if modes is None else modes)):
            if not isinstance(given, Mapping):
                raise ArgumentTypeError(
                    f'{what} must map names to numbers, as in {{"elbow": 0.4}}, got {shown(given)}.'
                )
        for name, value in joints.items():
            where = getattr(self.joint_layout(name, "joints: body"), f"{of}_joint")
            self._place(x, where, name, value, "coordinate" if of == "q" else "speed")
        for name, value in (modes or {}).items():
            self.number(name, "modes: body")
            self._place(x, getattr(self.layout[name], f"{of}_modes"), name, value, "mode")
        return x

    def _place(self, x: Array, where: slice, name: str, value: ArrayLike, what: str) -> None:
        """Put the numbers of a body or a joint into a vector."""
        n = where.stop - where.start
        given = np.atleast_1d(finite_numbers(f"{what}s of {name!r}", value, f"({n},)"))
        if given.shape != (n,):
            many = f"{n} {what}{'' if n == 1 else 's'}" if n else f"no {what}s"
            raise ArgumentValueError(f"{name!r} has {many}, got {shown(value)}.")
        x[where] = given

    def number(self, body: str, argument: str = "body") -> int:
        """Return the number of a body in the kernels; `argument` is the name of the argument in error messages."""
        if not isinstance(body, str):
            raise ArgumentTypeError(f"{argument} must be the name of a body, got {shown(body)}.")
        if body not in self._numbers or body == "world":
            part = self._parts.get(body)
            if part is not None:
                raise ArgumentValueError(
                    f"{argument}={body!r} is a joint of the system {self.name!r}: give the name of its body, "
                    f"{part.body!r}."
                )
            raise self._unknown(body, argument, ())
        return self._numbers[body]

    def _unknown(self, name: str, argument: str, joints: Iterable[str]) -> ArgumentValueError:
        """The error for a name that no body has, and none of these joints."""

        def few(names: Iterable[str]) -> str:
            first = [*map(repr, islice(names, 13))]
            return ", ".join([*first[:12], "..."] if len(first) > 12 else first)

        joints = list(joints)
        more = f", and the joints {few(joints)}" if joints else ""
        return ArgumentValueError(
            f"{argument}={name!r} is not in the system {self.name!r}; it has: {few(self.layout)}{more}."
            f"{suggestion(name, [*self.layout, *joints])}"
        )

    def body_of(self, name: str, argument: str = "body") -> str:
        """Return the name of a body, given its own name or that of its joint; `argument` is for error messages."""
        part = self._parts.get(name) if isinstance(name, str) else None
        if part is None:
            self._known(name, argument)
            return name
        if part.number is not None:
            raise ArgumentValueError(
                f"{argument}={name!r} is one of several joints of the body {part.body!r} in the system {self.name!r}: "
                "give the name of the body to mean all of them."
            )
        return part.body

    def is_joint(self, name: str) -> bool:
        """Whether that is the name of a joint, besides that of its body."""
        return name in self._parts

    def joint_body(self, name: str) -> str:
        """The body that hangs on the joint of that name, or on one of several; see `is_joint`."""
        return self._parts[name].body

    def joint_layout(self, name: str, argument: str = "body") -> BodyLayout:
        """Where the degrees of freedom of a joint are, by the name of its body or by its own name; `argument` is for the message."""
        if not isinstance(name, str) or name not in self._parts:
            self._known(name, argument)
        return self.layout[name]

    def _known(self, name: str, argument: str) -> None:
        """Reject a name that no body has, where a joint could be named as well."""
        if isinstance(name, str) and (name not in self._numbers or name == "world"):
            raise self._unknown(name, argument, self._parts)
        self.number(name, argument)

    def by_body(self, given: Mapping[str, Any], argument: str) -> dict[str, Any]:
        """Return `given`, a mapping by bodies or joints, as a mapping by bodies."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            body = self.body_of(name, f"{argument}: body")
            if body in found:
                raise ArgumentValueError(
                    f"{argument} contains the joint of body {body!r} twice, once by the name of the body and once by its "
                    "own: keep one of them."
                )
            found[body] = value
        return found

    def node_number(self, body: str, node: str | int | None, argument: str = "node") -> int | None:
        """Return the number of a node of a body; None is the body frame."""
        self.number(body)
        if node is None:
            return None
        nodes = self.attachments[body].body.node_set
        if isinstance(node, str) and not len(nodes.shapes):
            raise ArgumentValueError(
                f"{argument}={node!r} is not a node of body {body!r}, which has none; None stands for its body frame."
            )
        return nodes.index(argument, node, f"body {body!r}")

    def describe_v(self, i: int) -> str:
        """Describe in words what v[i] (or tau[i]) belongs to; modes are counted from 1."""
        for name, where in self.layout.items():
            if where.v_modes.start <= i < where.v_modes.stop:
                return f"mode {i - where.v_modes.start + 1} of body {name!r}"
            if where.v_joint.start <= i < where.v_joint.stop:
                return f"joint speed {i - where.v_joint.start} of body {name!r}"
        raise IndexError(i)

    def describe_q(self, i: int) -> str:
        """Describe in words what q[i] belongs to; modes are counted from 1."""
        for name, where in self.layout.items():
            if where.q_modes.start <= i < where.q_modes.stop:
                return f"mode {i - where.q_modes.start + 1} of body {name!r}"
            if where.q_joint.start <= i < where.q_joint.stop:
                return f"joint coordinate {i - where.q_joint.start} of body {name!r}"
        raise IndexError(i)

    def __repr__(self):
        n = len(self.closures)
        closures = f", {n} closure{'s' if n > 1 else ''}" if n else ""
        return f"System({self.name!r}, {len(self.layout)} bodies{closures}, nq={self.nq}, nv={self.nv}, {self.fidelity})"

    def _repr_html_(self) -> str:
        return described(repr(self), self.attachments, self.closures)

    def __copy__(self) -> System:
        return self

    def __deepcopy__(self, memo: dict) -> System:
        return self  # it is immutable, so copies of controllers share it

    def __reduce__(self):
        closures = tuple(self.closures.values())
        return System, (
            self.name, tuple(self.attachments.values()), self.gravity, self.fidelity, closures,
        )  # fmt: skip
