"""Units of variables in FMI: names, and exponents of the SI base units."""

from __future__ import annotations

#: The exponents of each unit, by its name.
UNITS: dict[str, dict[str, int]] = {
    "s": {"s": 1},
    "1/s": {"s": -1},
    "1/s2": {"s": -2},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2},
    "kg": {"kg": 1},
    "kg.m2": {"kg": 1, "m": 2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "N.m2": {"kg": 1, "m": 3, "s": -2},
    "N/m": {"kg": 1, "s": -2},
    "N.s/m": {"kg": 1, "s": -1},
    "N.m/rad": {"kg": 1, "m": 2, "s": -2, "rad": -1},
    "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
    "J": {"kg": 1, "m": 2, "s": -2},
}

#: The units of parameters that have one, by quantity.
OF_PARAMETERS = {
    "gravity": "m/s2",
    "mass": "kg",
    "com": "m",
    "inertia": "kg.m2",
    "offset": "m",
    "offset_b": "m",
    **dict.fromkeys(("EI", "EIy", "EIz", "GJ"), "N.m2"),
    **dict.fromkeys(("EA", "GA", "GAy", "GAz"), "N"),
}

#: The units of the physics of a joint, for angles and for displacements.
OF_JOINTS = {
    "joint_armature": ("kg.m2", "kg"),
    "joint_stiffness": ("N.m/rad", "N/m"),
    "joint_rest": ("rad", "m"),
    "joint_damping": ("N.m.s/rad", "N.s/m"),
    "joint_friction": ("N.m", "N"),
    "joint_static_friction": ("N.m", "N"),
    "joint_stop_stiffness": ("N.m/rad", "N/m"),
    "joint_lower": ("rad", "m"),
    "joint_upper": ("rad", "m"),
}

#: Quantities that may not be negative.
NOT_NEGATIVE = frozenset(
    {"mass", "mass_scale", "stiffness_scale", "damping_scale", "damping_ratio"}
    | {"EI", "EIy", "EIz", "GJ", "EA", "GA", "GAy", "GAz"}
    | {f"joint_{x}" for x in ("armature", "stiffness", "damping", "friction", "static_friction")}
    | {"joint_stop_stiffness"}
)

#: Quantities whose matrices are symmetric.
SYMMETRIC = frozenset({"inertia", "stiffness", "damping"})
