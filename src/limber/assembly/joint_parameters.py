"""The physics of joints as parameters: the numbers that a joint has, and their places in the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from limber.assembly.packed import Packed
from limber.bodies.base import Quantity
from limber.checks import Array
from limber.joints import Joint
from limber.joints.physics import accepted, option_of
from limber.kernels import layout as L

#: The physics of a joint that are parameters, and their units for rotations and for displacements.
OF_JOINT = {
    "armature": "kg m^2 or kg",
    "stiffness": "N m/rad or N/m",
    "rest": "rad or m",
    "damping": "N m s/rad or N s/m",
    "friction": "N m or N",
    "static_friction": "N m or N",
    "stop_stiffness": "N m/rad or N/m",
    "lower": "rad or m",
    "upper": "rad or m",
}
#: Those that are a number of the physics record each, and its place.
_IN_PHYSICS = {
    "armature": L.PH_ARMATURE,
    "stiffness": L.PH_STIFFNESS,
    "rest": L.PH_REST,
    "damping": L.PH_DAMPING,
    "friction": L.PH_FRICTION,
    "lower": L.PH_LOWER,
    "upper": L.PH_UPPER,
}


def joint_quantities(joint: Joint) -> dict[str, Quantity]:
    """The physics of a joint, one number for each speed that has it, or a number for a single one."""
    found = {}
    for name, unit in OF_JOINT.items():
        values = getattr(joint.physics, name)[_speeds(joint, name)]
        if values.size:
            value = np.array(values[0] if values.size == 1 else values)
            found[f"joint_{name}"] = Quantity(value, f", {name} of its joint, {unit}")
    return found


def _speeds(joint: Joint, name: str) -> list[int]:
    """The speeds of a joint that have a parameter."""
    physics = joint.physics
    if option_of(name) not in physics.options:
        return []
    there = np.ones(joint.dofs, dtype=bool)
    if name in ("armature", "stiffness", "rest"):
        there = np.array(joint.has_coordinate)
    elif name in ("lower", "upper"):
        there = np.isfinite(getattr(physics, name))
    elif name == "stop_stiffness":
        there = np.isfinite(physics.lower) | np.isfinite(physics.upper)
    return np.flatnonzero(there).tolist()


def with_numbers(joint: Joint, given: Mapping[str, Array]) -> Joint:
    """The joint with other numbers, by the names of `OF_JOINT`."""
    arrays = {name: np.array(getattr(joint.physics, name)) for name in given}
    for name, x in given.items():
        arrays[name][_speeds(joint, name)] = x
    return joint.with_physics(arrays)


def accepts(joint: Joint, given: Mapping[str, Array]) -> np.ndarray:
    """Which numbers of many cases, finite and (cases, ...), `with_numbers` certainly accepts, (cases,)."""
    return accepted(joint.physics, of_speeds(joint, given))


def of_speeds(joint: Joint, given: Mapping[str, Array]) -> dict[str, Array]:
    """The physics of a joint in many cases, (cases, speeds), from numbers (cases, ...)."""
    arrays = {}
    for name, x in given.items():
        own = np.array(getattr(joint.physics, name))
        arrays[name] = np.tile(own, (len(x), 1))
        arrays[name][:, _speeds(joint, name)] = x.reshape(len(x), -1)
    return arrays


def set_physics(
    const: Any, packed: Packed, k: int, joint: Joint, given: Mapping[str, list]
) -> None:
    """Put the parameters of a joint into its physics records."""
    start, physics = int(packed.topo[k + L.PHYSICS]), joint.physics
    values = {
        name: dict(zip(_speeds(joint, name), given[f"joint_{name}"]))
        for name in OF_JOINT
        if f"joint_{name}" in given
    }
    for place, r in enumerate(joint.order if values else ()):
        record = start + place * L.PHYSICS_RECORD
        mine = {name: x[r] for name, x in values.items() if r in x}
        for name, at in _IN_PHYSICS.items():
            if name in mine:
                const[record + at] = mine[name]
        if "friction" in mine or "static_friction" in mine:
            static = float(physics.static_friction[r])
            if "static_friction" in mine:
                static = mine["static_friction"]
            elif "static_friction" not in physics.options:
                static = const[record + L.PH_FRICTION]
            const[record + L.PH_PEAK] = static - const[record + L.PH_FRICTION]
        if "stop_stiffness" in mine:
            for limit, stop in (("lower", L.PH_LOWER_STOP), ("upper", L.PH_UPPER_STOP)):
                if np.isfinite(getattr(physics, limit)[r]):
                    const[record + stop] = mine["stop_stiffness"]
