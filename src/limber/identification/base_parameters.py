r"""Inverse dynamics as linear equations in the inertias of rigid bodies and in joint parameters, and their base
parameters.

Solves    tau = tau(model) + Y(q, v, vdot) (p - p(model))
          p has ten numbers for each body, its mass, its first moments m c and its inertia about the origin of its
          frame, and joint parameters: armature, damping, friction, stiffness
Computes  Y, column by column: the derivative of inverse dynamics with respect to each number, which is inverse dynamics
          with a unit in its place
Base      Only some columns are independent.  The others are combinations of them, Y_d = Y_b K, so torques determine
          only p_b + K p_d (Gautier & Khalil 1990).  Random states of the model give K, which does not depend on data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limber.assembly import parameters
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import derivatives, integrate
from limber.dynamics.evaluate import External, evaluated
from limber.kernels import layout as L
from limber.kernels.functions import STEP

#: The numbers of a body in the order of the kernels' constants.
OF_BODY = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
#: The order in which numbers of a body become base parameters: torques determine inertias first, and masses through
#: them.
PREFERRED = (4, 7, 9, 5, 6, 8, 1, 2, 3, 0)
#: The numbers of joints in which inverse dynamics is linear.
OF_JOINT = ("armature", "damping", "friction", "stiffness")
#: Columns of unit length whose part independent of the others is below this depend on them; smaller weights are rounding
#: errors.
DEPENDENT, ZERO = 1e-8, 1e-9
#: Random states for each unknown number, and their seed.
STATES, SEED = 4, 0


@dataclass(frozen=True)
class Number:
    """One number in which inverse dynamics is linear.

    name : "link.Izz", or the name of a joint parameter, "link.joint_damping".
    body : the body that it belongs to.
    place : its place in the constants of a body, or in the parameter of the joint.
    """

    name: str
    body: str
    place: int
    parameter: str | None = None


def numbers_of(system: System, bodies: Sequence[str], joints: Sequence[str]) -> list[Number]:
    """The unknown numbers: those of joints first, then those of bodies from the base to the tips, each in the order of
    PREFERRED.
    """
    found, known = [], system.parameters
    for body in system.bodies:
        for name in (f"{body}.joint_{quantity}" for quantity in joints):
            count = known[name].value.size if name in known else 0
            for i in range(count):
                found.append(Number(name if count == 1 else f"{name}[{i}]", body, i, name))
    for body in bodies:
        found += [Number(f"{body}.{OF_BODY[i]}", body, i) for i in PREFERRED]
    return found


def values_of(system: System, numbers: Sequence[Number]) -> Array:
    """The values of the numbers in the system."""
    found, known = [], system.parameters
    for one in numbers:
        if one.parameter is not None:
            found.append(np.ravel(known[one.parameter].value)[one.place])
        else:
            found.append(system.dynamics.const[_first(system, one.body) + one.place])
    return np.array(found, dtype=float)


def columns(
    system: System,
    numbers: Sequence[Number],
    q: Array,
    v: Array,
    vdot: Array,
    external: External | None = None,
) -> Array:
    """Y (n, nv, numbers) at n states."""
    found = np.zeros((len(q), system.nv, len(numbers)))
    names = tuple(dict.fromkeys(one.parameter for one in numbers if one.parameter is not None))
    if names:
        by = derivatives(system, q, v, vdot, "inverse_dynamics", external=external, by=names)
    for j, one in enumerate(numbers):
        if one.parameter is not None:
            slope = by.parameters[one.parameter]
            found[..., j] = slope.reshape(*found.shape[:2], -1)[..., one.place]
            continue
        const = system.dynamics.const.astype(complex)
        const[_first(system, one.body) + one.place] += STEP * 1j
        found[..., j] = evaluated(
            system, "inverse_dynamics", (q, v, vdot), external=external, row="inverse_slope_by_constants", const=const
        )  # fmt: skip
    return found


def _first(system: System, body: str) -> int:
    """The place of the ten numbers of a body in the constants of the dynamics."""
    packed = system.dynamics
    return int(packed.topo[system.number(body) * L.COLUMNS + L.CONST]) + L.C_MASS


@dataclass(frozen=True, eq=False)
class Base:
    """The base parameters b = W p of the numbers p.

    chosen : the numbers whose columns are independent, in order; each leads one base parameter.
    unseen : the numbers on which torques do not depend at all.
    W : (chosen, numbers): one for the chosen number, and K for those combined with it.
    """

    numbers: Sequence[Number]
    chosen: np.ndarray
    unseen: tuple[str, ...]
    W: Array

    @property
    def words(self) -> list[str]:
        """Each base parameter as a sum of numbers, in words."""
        found = []
        for i, row in enumerate(self.W):
            own = int(self.chosen[i])
            others = [j for j in np.flatnonzero(row).tolist() if j != own]
            text = self.numbers[own].name
            for j in others:
                size = "" if abs(row[j]) == 1.0 else f"{abs(row[j]):.6g} "
                text += f" {'-' if row[j] < 0.0 else '+'} {size}{self.numbers[j].name}"
            found.append(text)
        return found


def base_of(system: System, numbers: Sequence[Number]) -> Base:
    """The base parameters of a system, from its columns at random states."""
    rng = np.random.default_rng(SEED)
    n = max(10, -(-STATES * len(numbers) // max(system.nv, 1)))
    moves, v, vdot = rng.standard_normal((3, n, system.nv))
    q = integrate(system, np.tile(system.neutral(), (n, 1)), moves, 1.0)
    Y = columns(system, numbers, q, v, vdot).reshape(-1, len(numbers))
    size = np.linalg.norm(Y, axis=0)
    seen = size > ZERO * size.max(initial=0.0)
    unit = Y / np.where(seen, size, 1.0)
    Q, chosen = np.zeros((len(Y), 0)), []
    for j in np.flatnonzero(seen):
        rest = unit[:, j]
        for _ in range(2):  # once more for what rounding leaves
            rest = rest - Q @ (Q.T @ rest)
        left = np.linalg.norm(rest)
        if left > DEPENDENT:
            Q = np.column_stack([Q, rest / left])
            chosen.append(j)
    W = np.linalg.lstsq(unit[:, chosen], unit, rcond=None)[0]
    W[np.abs(W) < ZERO] = 0.0
    W = W * size / size[chosen][:, None]
    W[:, ~seen] = 0.0
    # sums of ones and of simple lengths should be exactly that
    near = np.rint(W)
    W = np.where(np.abs(W - near) < ZERO * np.maximum(1.0, np.abs(W)), near, W)
    return Base(numbers, np.array(chosen, dtype=int), tuple(numbers[j].name for j in np.flatnonzero(~seen).tolist()), W)  # fmt: skip


def with_values(system: System, numbers: Sequence[Number], values: Array) -> System:
    """The system with these numbers; bodies that no mass distribution can have are rejected."""
    given: dict[str, Array] = {}
    inertial: dict[str, Array] = {}
    for one, x in zip(numbers, values):
        if one.parameter is not None:
            known = parameters.find(system, one.parameter).value
            given.setdefault(one.parameter, np.array(known, dtype=float)).reshape(-1)[one.place] = x
        else:
            inertial.setdefault(one.body, np.zeros(10))[one.place] = x
    for body, p in inertial.items():
        given |= {f"{body}.{name}": x for name, x in _of_rigid(system, body, p).items()}
    return system.with_parameters(given)


def _of_rigid(system: System, body: str, p: Array) -> dict[str, Array]:
    """Mass, com and inertia about it, from the ten numbers."""
    mass, moment = p[0], p[1:4]
    about = matrix(p)
    c = moment / mass if mass != 0.0 else np.zeros(3)
    inboard = system.attachments[body].inboard
    shift = np.zeros(3) if inboard is None else system.bodies[body].node_set.position[inboard]
    return {
        "mass": np.array(mass),
        "com": c + shift,
        "inertia": about - mass * (c @ c * np.eye(3) - np.outer(c, c)),
    }


def matrix(p: Array) -> Array:
    """The inertia matrix (3, 3) from the ten numbers of a body."""
    xx, xy, xz, yy, yz, zz = p[4:]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
