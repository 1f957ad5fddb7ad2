"""What is recovered from modes, in files: strains of gauges and section forces, `recovery` of a body."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from limber.bodies import FlexibleBody
from limber.bodies.recovery import Recovery, gauge_shapes
from limber.bodies.section_forces import SectionForces
from limber.checks import array, did_you_mean
from limber.errors import ArgumentValueError
from limber.io.document import Where
from limber.io.fields import Name, numbers
from limber.io.section import Section

_POINTS = numbers(("p", 2))


class StationSection(Section):
    """A station: forces and strains (6, m) by one unit of each mode, and points (y, z) of the surface there."""

    name: Name
    forces: Annotated[Any, numbers((6, "m"))]
    strains: Annotated[Any, numbers((6, "m"))]
    surface: Annotated[Any, _POINTS] | None = None


class RecoverySection(Section):
    """Strain shapes of gauges by name, one number a mode, and the section forces of stations."""

    strain: dict[Name, Annotated[Any, numbers(("m",))]] | None = None
    stations: list[StationSection] | None = None

    def build(self, body: Any, where: Where) -> FlexibleBody:
        """The body with them."""
        if not body.modes:
            raise where.error("only flexible bodies have strains and section forces.")
        m = body.modes
        with where.checked():
            gauges, strain = gauge_shapes(self.strain, m, "modes")
            stations = self.stations or []
            names = tuple(x.name for x in stations)
            if len(set(names)) < len(names):
                raise ArgumentValueError("stations has a name twice: every station needs its own.")
            forces = None
            if stations:
                hint = f"The body has {m} modes."
                tables = [
                    np.array([array(kind, getattr(x, kind), (6, m), hint) for x in stations])
                    for kind in ("forces", "strains")
                ]
                most = max(0 if x.surface is None else len(x.surface) for x in stations)
                surface = np.full((len(stations), most, 2), np.nan)
                for x, points in zip(stations, surface):
                    if x.surface is not None:
                        points[: len(x.surface)] = x.surface
                forces = SectionForces(tables[0], tables[1], surface)
        return body.with_recovery(Recovery(gauges, strain, names, forces))


def recovery_data(recovery: Recovery) -> dict[str, Any]:
    """Strains and section forces as files write them."""
    data: dict[str, Any] = {}
    if recovery.strain is not None:
        data["strain"] = dict(zip(recovery.gauges, recovery.strain))
    if recovery.forces is not None:
        data["stations"] = []
        f = recovery.forces
        for name, *parts, points in zip(recovery.stations, f.forces, f.strains, f.surface):
            station = {"name": name, "forces": parts[0], "strains": parts[1]}
            there = points[~np.isnan(points[:, 0])]
            if len(there):
                station["surface"] = there
            data["stations"].append(station)
    return data


#: The arrays of what is recovered, in an .npz: `packed` says what they hold.
ARRAYS = ("gauges", "strain", "stations", "forces", "strains", "surface")


def packed(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The data of `recovery_data` as arrays: names (g,), strain (g, m); names (s,), forces (s, 6, m), ... of stations."""
    arrays: dict[str, np.ndarray] = {}
    if "strain" in data:
        arrays |= {
            "gauges": np.array([*data["strain"]]),
            "strain": np.array([*data["strain"].values()]),
        }
    if "stations" in data:
        stations = data["stations"]
        arrays["stations"] = np.array([x["name"] for x in stations])
        for kind in ("forces", "strains"):
            arrays[kind] = np.array([x[kind] for x in stations])
        most = max(len(x.get("surface", ())) for x in stations)
        arrays["surface"] = np.full((len(stations), most, 2), np.nan)
        for x, points in zip(stations, arrays["surface"]):
            points[: len(x.get("surface", ()))] = x.get("surface", np.zeros((0, 2)))
    return arrays


def unpacked(arrays: dict[str, Any], where: Where) -> dict[str, Any]:
    """The data whose `packed` arrays, as lists, these are."""
    for group in (ARRAYS[:2], ARRAYS[2:]):
        sizes = {len(arrays[name]) if isinstance(arrays.get(name), list) else -1 for name in group}
        if sizes != {-1} and len(sizes) > 1:
            raise where.error(
                f"recovery: the arrays {', '.join(group)} belong together, one row a name."
            )
    unknown = [name for name in arrays if name not in ARRAYS]
    if unknown:
        raise where.error(f"recovery/{unknown[0]} is unknown. {did_you_mean(unknown[0], ARRAYS)}")
    data: dict[str, Any] = {}
    if "gauges" in arrays:
        data["strain"] = dict(zip(arrays["gauges"], arrays["strain"]))
    if "stations" in arrays:
        data["stations"] = []
        for name, forces, strains, surface in zip(*(arrays[name] for name in ARRAYS[2:])):
            there = [point for point in surface if not np.isnan(point).any()]
            station = {"name": name, "forces": forces, "strains": strains}
            data["stations"].append(station | ({"surface": there} if there else {}))
    return data
