"""Quantities recovered from modes, in files: strains of gauges and section forces, `recovery` of a body."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import numpy as np

from limber.bodies import FlexibleBody
from limber.bodies.recovery import MemberStations, Recovery, gauge_shapes
from limber.bodies.section_forces import COMPONENTS, SectionForces
from limber.checks import Array, array, did_you_mean
from limber.errors import ArgumentValueError
from limber.io.document import Where
from limber.io.fields import Name, numbers
from limber.io.section import Section

_POINTS = numbers(("p", 2))

Component = Literal["axial", "shear_y", "shear_z", "torsion", "moment_y", "moment_z"]


class StationSection(Section):
    """A station: forces and strains (6, m) per unit of each mode, and points (y, z) of the surface there.

    node : the node of a frame at which it is.
    stress : E and the largest shear stresses per unit torsion and per unit shear force along y and z; E alone if these
        are not known.
    absent : components that no mode has, although loads may cause them.
    """

    name: Name
    forces: Annotated[Any, numbers((6, "m"))]
    strains: Annotated[Any, numbers((6, "m"))]
    surface: Annotated[Any, _POINTS] | None = None
    node: Name | None = None
    stress: Annotated[Any, numbers(("n",))] | None = None
    absent: list[Component] | None = None


class MemberSection(Section):
    """A member of a frame: its nodes, the stations at both ends of its elements, and their distances from its first node."""

    name: Name
    nodes: list[Name]
    stations: list[Name]
    distance: Annotated[Any, numbers(("n",))]


class RecoverySection(Section):
    """Strain shapes of gauges by name, one number per mode, and the section forces of stations."""

    strain: dict[Name, Annotated[Any, numbers(("m",))]] | None = None
    stations: list[StationSection] | None = None
    members: list[MemberSection] | None = None

    def build(self, body: Any, where: Where) -> FlexibleBody:
        """The body with them."""
        if not body.modes:
            raise where.error("only flexible bodies have strains and section forces.")
        with where.checked():
            gauges, strain = gauge_shapes(self.strain, body.modes, "modes")
            stations = self.stations or []
            names = tuple(x.name for x in stations)
            if len(set(names)) < len(names):
                raise ArgumentValueError(
                    "stations contains a name twice: every station needs its own."
                )
            members = tuple(_member(x, names) for x in self.members or [])
            nodes = tuple(x.node or "" for x in stations) if members else ()
            forces = _section_forces(stations, body.modes) if stations else None
        return body.with_recovery(Recovery(gauges, strain, forces, nodes, members))


def _section_forces(stations: list[StationSection], m: int) -> SectionForces:
    hint = f"The body has {m} modes."
    forces, strains = (
        np.array([array(kind, getattr(x, kind), (6, m), hint) for x in stations])
        for kind in ("forces", "strains")
    )
    most = max(0 if x.surface is None else len(x.surface) for x in stations)
    surface = np.full((len(stations), most, 2), np.nan)
    constants = np.full((len(stations), 4), np.nan)
    absent = np.zeros((len(stations), 6), dtype=bool)
    for i, x in enumerate(stations):
        if x.surface is not None:
            surface[i, : len(x.surface)] = x.surface
        if x.stress is not None:
            if len(x.stress) not in (1, 4):
                raise ArgumentValueError(
                    f"stress of station {x.name!r} must be E, or E and three shear stresses, got {len(x.stress)} numbers."
                )
            constants[i, : len(x.stress)] = x.stress
        absent[i, [COMPONENTS.index(name) for name in x.absent or []]] = True
    names = tuple(x.name for x in stations)
    return SectionForces(forces, strains, surface, constants, absent, names)


def _member(section: MemberSection, stations: tuple[str, ...]) -> MemberStations:
    name, count = section.name, len(section.stations)
    if len(section.nodes) != 2 or count < 2 or count % 2 or len(section.distance) != count:
        raise ArgumentValueError(
            f"member {name!r} must have two nodes, and two stations with their distances for every element; got "
            f"{len(section.nodes)} nodes, {count} stations and {len(section.distance)} distances."
        )
    for station in section.stations:
        if station not in stations:
            raise ArgumentValueError(
                f"member {name!r} has the station {station!r}, which is not in stations."
            )
    distance = array(f"distance of member {name!r}", section.distance, (count,))
    if (distance[1::2] <= distance[::2]).any():
        raise ArgumentValueError(f"distance of member {name!r} must increase along every element.")
    numbers_of = tuple(stations.index(station) for station in section.stations)
    ends = section.nodes[0], section.nodes[1]
    return MemberStations(name, ends, numbers_of, tuple(distance.tolist()))


def recovery_data(recovery: Recovery) -> dict[str, Any]:
    """Strains and section forces as files write them; those of beams follow from what they were made from."""
    data: dict[str, Any] = {}
    if recovery.strain is not None:
        data["strain"] = dict(zip(recovery.gauges, recovery.strain))
    f = recovery.forces
    if f is None or recovery.beam is not None:
        return data
    nodes = recovery.nodes or len(f.names) * [""]
    data["stations"] = []
    for name, node, *arrays in zip(
        f.names, nodes, f.forces, f.strains, f.surface, f.constants, f.absent
    ):
        data["stations"].append({"name": name} | _station_data(node, *arrays))
    if recovery.members:
        data["members"] = [
            {
                "name": x.name,
                "nodes": list(x.ends),
                "stations": [f.names[i] for i in x.stations],
                "distance": np.array(x.distance),
            }
            for x in recovery.members
        ]
    return data


def _station_data(
    node: str, forces: Array, strains: Array, surface: Array, constants: Array, absent: np.ndarray
) -> dict[str, Any]:
    """The entries that a station has."""
    data: dict[str, Any] = {"forces": forces, "strains": strains}
    points = surface[~np.isnan(surface[:, 0])]
    known = constants[~np.isnan(constants)]
    missing = [name for name, gone in zip(COMPONENTS, absent) if gone]
    rest: dict[str, Any] = {"surface": points, "node": node, "stress": known, "absent": missing}
    return data | {name: value for name, value in rest.items() if len(value)}


#: The arrays of what is recovered, in an .npz: `packed` says what they hold.
ARRAYS = ("gauges", "strain", "forces", "strains", "surface", "about")


def packed(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The data of `recovery_data` as arrays: names (g,), strain (g, m); forces (s, 6, m), ... of stations.

    `about` is the rest, which is small, as JSON: names of stations, members of frames, the beam.
    """
    arrays: dict[str, np.ndarray] = {}
    about = {key: value for key, value in data.items() if key not in ("strain", "stations")}
    if "strain" in data:
        arrays |= {
            "gauges": np.array([*data["strain"]]),
            "strain": np.array([*data["strain"].values()]),
        }
    if "stations" in data:
        stations = data["stations"]
        for kind in ("forces", "strains"):
            arrays[kind] = np.array([x[kind] for x in stations])
        most = max(len(x.get("surface", ())) for x in stations)
        arrays["surface"] = np.full((len(stations), most, 2), np.nan)
        for x, points in zip(stations, arrays["surface"]):
            points[: len(x.get("surface", ()))] = x.get("surface", np.zeros((0, 2)))
        about["stations"] = [
            {key: value for key, value in x.items() if key not in arrays} for x in stations
        ]
    if about:
        arrays["about"] = np.array(json.dumps(about, default=lambda x: x.tolist()))
    return arrays


def unpacked(arrays: dict[str, Any], where: Where) -> dict[str, Any]:
    """The data whose `packed` arrays, as lists, these are."""
    unknown = [name for name in arrays if name not in ARRAYS]
    if unknown:
        raise where.error(f"recovery/{unknown[0]} is unknown. {did_you_mean(unknown[0], ARRAYS)}")
    data: dict[str, Any] = {}
    if "about" in arrays:
        try:
            data = json.loads(arrays["about"])
        except (TypeError, ValueError):
            raise where.error("recovery/about must be text in JSON.") from None
        if not isinstance(data, dict) or not isinstance(data.get("stations", []), list):
            raise where.error("recovery/about must be an object, its stations a list.")
    _check_sizes("gauges, strain", [arrays.get(name) for name in ("gauges", "strain")], where)
    parts = [arrays.get(name) for name in ("forces", "strains", "surface")]
    _check_sizes("about, forces, strains, surface", [data.get("stations"), *parts], where)
    if "gauges" in arrays:
        data["strain"] = dict(zip(arrays["gauges"], arrays["strain"]))
    if "stations" in data:
        forces_, strains_, surfaces = (arrays[name] for name in ("forces", "strains", "surface"))
        for station, forces, strains, surface in zip(data["stations"], forces_, strains_, surfaces):
            if not isinstance(station, dict):
                raise where.error(
                    "recovery/about must be an object, its stations a list of objects."
                )
            there = [point for point in surface if not np.isnan(point).any()]
            station.update({"forces": forces, "strains": strains})
            if there:
                station["surface"] = there
    return data


def _check_sizes(names: str, parts: list[Any], where: Where) -> None:
    """Reject arrays of which some are missing or have other lengths."""
    sizes = {len(part) if isinstance(part, list) else -1 for part in parts}
    if len(sizes) > 1:
        raise where.error(f"recovery: {names} belong together, with one row per name.")
