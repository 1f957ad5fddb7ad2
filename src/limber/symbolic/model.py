"""An assembly as the kernels see it, with symbols: generators, constants, directions, frames."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import sympy as sp

from limber.assembly import Assembly
from limber.assembly.loops import with_closures
from limber.assembly.pack import Attachment, pack
from limber.checks import shown
from limber.errors import ArgumentValueError
from limber.joints import Joint
from limber.kernels import layout as L
from limber.symbolic.exact import exact_number, polynomial
from limber.symbolic.joints import SymbolicJoint
from limber.symbolic.kernels import KERNELS, group_coordinates
from limber.symbolic.names import Naming
from limber.symbolic.parameters import name_constants
from limber.symbolic.physics import resistance, without_resistance
from limber.symbolic.polynomial import Polynomial, Ring, index_of, polynomials


def symbolic_joint(joint: Joint, q: tuple[sp.Symbol, ...]) -> SymbolicJoint:
    """A numeric joint with the coordinates q; spherical and free ones in Euler angles."""
    if isinstance(joint, SymbolicJoint):
        return SymbolicJoint(joint.columns, joint.map, q, joint.outermost_first, joint.physics)
    maps = [sp.Matrix(6, g.dofs, [exact_number(x) for x in g.H.flat]) for g in joint.groups]
    H = sp.Matrix.hstack(sp.zeros(6, 0), *maps)
    return SymbolicJoint([h.shape[1] for h in maps], H, q, False, joint.physics)


class Model:
    """The packed arrays of an assembly with polynomials for numbers.

    The speeds p are the directions of the derivatives: along p_j a coordinate moves with column j of the
    kinematic matrix.  A simple joint of several columns that is integrable enters by the twelve entries of
    its configuration (`frames`), whose derivatives along the speeds are polynomials in them: X' = X h_j.
    Friction and stops of joints are not in the polynomials; `resistance` has them.
    """

    def __init__(
        self,
        assembly: Assembly,
        naming: Naming,
        named: Collection[str],
        order: int | None,
    ):
        self.ring = Ring(None if order is None else order + 1)
        self.items: list[Attachment] = []
        self.joints: dict[str, SymbolicJoint] = {}
        for item in assembly.attachments.values():
            self._refuse_skewed(item)
        for item in assembly.attachments.values():
            joint = symbolic_joint(item.joint, naming.joint_coordinates(item.name))
            self.items.append(replace(item, joint=joint))
            self.joints[item.name] = joint
        self.numbers = {item.name: (k + 1) * L.COLUMNS for k, item in enumerate(self.items)}
        tree = pack(self.items, assembly.gravity, False, align=False)
        bodies = {name: k // L.COLUMNS for name, k in self.numbers.items()}
        self.closures = tuple(assembly.closures)
        packed = with_closures(tree, tuple(assembly.closures.values()), {"world": 0} | bodies)
        self.packed, self.records = packed, packed.records
        const, self.values = name_constants(packed, self.items, named)
        self._refuse_taken(naming)
        self.topo, const = without_resistance(packed.topo, const)
        self.const = polynomials(self.ring, [polynomial(self.ring, x) for x in const])
        self.q_symbols, self.p_symbols = naming.q, naming.p
        n = len(naming.q)
        self.size = n
        self.q, self.p = np.empty(n, dtype=object), np.empty(n, dtype=object)
        self.places = np.empty(n, dtype=int)  # kernel position -> user's position
        self.structures: list[tuple[list[int], list[list[list[Polynomial]]]]] = []
        self.frames: dict[int, Polynomial] = {}
        self.integrable = True
        self._speeds_and_modes(naming)
        self._joints()

    def _refuse_taken(self, naming: Naming) -> None:
        """Reject a name of a coordinate or speed that a named number has."""
        own = {str(s) for s in (*naming.q, *naming.p)}
        taken = {str(s) for s in self.values} & own
        if taken:
            name = min(taken)
            raise ArgumentValueError(
                f"{name!r} is the name of a coordinate or speed and of a number that named= gives a name: choose "
                "another name in q= or p=."
            )

    def _refuse_skewed(self, item: Attachment) -> None:
        """Reject a symbolic placement that is not a rotation; numeric ones were checked when attached."""
        if item.rotation.dtype != object:
            return
        entries = [polynomial(self.ring, x) for x in item.rotation.flat]
        R = np.array(entries, dtype=object).reshape(3, 3)
        for x in (R @ R.T - np.eye(3, dtype=int)).flat:
            value = x.expand()
            if (
                x
                and abs(value.subs({s: 0.37 + 0.1 * i for i, s in enumerate(value.free_symbols)}))
                > 1e-9
            ):
                raise ArgumentValueError(
                    f"rotation of {item.name!r} must be a rotation matrix, but R R^T - I has the entry {shown(value)}. "
                    "Its columns are the joint axes in node axes."
                )

    def scratch(self) -> np.ndarray:
        """An empty work array."""
        work = np.empty(self.topo[L.WORK_SIZE], dtype=object)
        work[:] = 0
        return work

    def coordinates(self) -> np.ndarray:
        """q in the order of the kernels."""
        return self.q[self.places]

    def resistance(self) -> list[sp.Expr]:
        """The forces of friction and stops."""
        q, p = ([symbols[i] for i in self.places] for symbols in (self.q_symbols, self.p_symbols))
        found = [sp.Integer(0)] * self.size
        for i, x in zip(self.places, resistance(self.packed.topo, self.packed.const, q, p)):
            found[i] = x
        return found

    def with_frames(self, x: Polynomial) -> Polynomial:
        """x with the entries of the joint configurations written out."""
        return x.substitute(self.frames) if self.frames else x

    def _moves(self, generator: Polynomial, direction: int, rate: Polynomial) -> None:
        """Give a generator its derivative along a speed."""
        rates = self.ring.rates[index_of(generator)]
        assert isinstance(rates, dict)
        rates[direction] = rate

    def _speeds_and_modes(self, naming: Naming) -> None:
        for i, (q, p) in enumerate(zip(naming.q, naming.p)):
            self.q[i] = self.ring.generator(q, q, small=i in naming.modal)
            self.p[i] = self.ring.generator(p, p)
        for name, k in self.numbers.items():
            start, at = self.topo[k + L.Q_MODES], self.topo[k + L.Q_JOINT]
            self.places[start:at] = range(start, at)
            order = self.joints[name].order
            self.places[at : at + len(order)] = [at + i for i in order]
        for i in naming.modal:
            self._moves(self.q[i], i, self.ring.one)

    def _joints(self) -> None:
        """Derivatives of the joint coordinates along the speeds; frames of the integrable joints."""
        for name, k in self.numbers.items():
            joint = self.joints[name]
            start, kinematics = self.topo[k + L.Q_JOINT], joint.kinematics
            g = self.topo[k + L.GROUP]
            for block, structure in enumerate(kinematics.structures):
                places = [int(start) + i for i in kinematics.blocks[block][1]]
                if len(places) == 1:
                    self._moves(self.q[places[0]], places[0], self.ring.one)
                    continue
                c = [
                    [[polynomial(self.ring, x) for x in row] for row in matrix.tolist()]
                    for matrix in structure.c
                ]
                self.structures.append((places, c))
                self.integrable = self.integrable and structure.integrable
                row = g + block * L.COLUMNS
                if structure.integrable:
                    q = self.coordinates()
                    pose = KERNELS.joints.group_pose(self.topo, self.const, q, row)
                    frame = self._frame(pose, joint.groups[block].H, places)
                    self.ring.poses[group_coordinates(self.topo, q, row)] = frame
                    if joint.groups[block].has_rates:  # springs have the coordinates themselves
                        for place in places:
                            self._moves(self.q[place], place, self.ring.one)
                else:
                    self._rates(joint, kinematics.blocks[block][1], places)

    def _rates(self, joint: SymbolicJoint, own: list[int], places: list[int]) -> None:
        """qdot = Gamma p of a joint that is not integrable."""
        for i, row in zip(own, places):
            for j, column in zip(own, places):
                rate = polynomial(self.ring, joint.Gamma[i, j])
                if rate:
                    self._moves(self.q[row], column, rate)

    def _frame(self, pose, H: np.ndarray, places: list[int]) -> tuple:
        """(R, p) of one integrable simple joint with generators for the entries that move."""
        ring = self.ring
        entries = []
        for i, x in enumerate(polynomials(ring, [*pose[0], *pose[1]])):
            if x.is_number():
                entries.append(x)
            else:
                entry = ring.generator(("frame", places[0], i), sp.Dummy())
                self.frames[index_of(entry)] = x
                entries.append(entry)
        R, p = np.array(entries[:9], dtype=object).reshape(3, 3), entries[9:]
        for j, place in enumerate(places):
            h = [polynomial(ring, x) for x in H[:, j]]
            tilde = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]], dtype=object)
            rates = [*(R @ tilde).ravel(), *(R @ np.array(h[3:], dtype=object))]
            for entry, rate in zip([*R.ravel(), *p], polynomials(ring, rates)):
                if rate and not entry.is_number():
                    self._moves(entry, place, rate)
        return tuple(R.ravel()), tuple(p)
