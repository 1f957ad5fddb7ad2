"""`lb.exchange.fmu`: a system as a functional mock-up unit."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.parameters import Parameter
from limber.assembly.system import System
from limber.bodies.variation import excluded
from limber.checks import Array, array, number, shown, suggestion, unit_quaternion
from limber.codegen.package import identifier
from limber.constraints import assemble
from limber.control.sensors import StrainGauge
from limber.dynamics.limits import warn_outside_limits
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.exchange.fmi import build
from limber.exchange.fmi.equations import equations
from limber.exchange.fmi.variables import End, variables
from limber.native import c_compiler
from limber.simulation.closed_states import closed_state
from limber.whole import refuse_unwritable

VERSIONS = (2, 3)
#: The parameters that an FMU has by default, as far as there are some.
USUAL = ("gravity", "*.mass", "*.EI", "*.GJ", "*.EA", "*.damping_ratio", "*.joint_*")


def fmu(
    system: System,
    path: str | PathLike,
    *,
    version: int = 3,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    parameters: Sequence[str] | None = None,
    nodes: Sequence[str | End] = (),
    accelerations: Sequence[str | End] = (),
    gauges: Sequence[StrainGauge] = (),
    forces: Sequence[str | End] = (),
    tolerance: float = 1e-6,
    name: str | None = None,
) -> Path:
    """Write a system as a functional mock-up unit for model exchange and co-simulation, and return its path.

    system : the system; its joint forces are inputs, and the coordinates and speeds of its joints and its energies are
        outputs.
    path : the file, which ends in .fmu.
    version : of FMI, 3 or 2.
    q0, v0 : initial values of the states; by default the neutral configuration (for a closed system, one from
        `lb.assemble`) at rest.
    parameters : the numbers of the system that can be set in the FMU, by the names of `system.parameters` or by
        patterns such as "*.mass"; all others are constants in its code. By default gravity, masses, EI, GJ and EA of
        beams, their damping ratios, and the physics of joints. Of a symmetric matrix, such as an inertia, the upper
        triangle can be set.
    nodes : nodes whose poses and velocities are outputs: ("body", node), or "body" for its frame.
    accelerations : nodes whose accelerations are outputs, in world axes; unlike the other outputs, they follow the inputs
        at once. An accelerometer reads them without gravity, in its own axes.
    gauges : `control.StrainGauge` objects; the strains that they measure are outputs, by their names, without rate, noise
        or delay. If shear deformation or taper couples the stiffnesses of a beam, their parameters do not change the
        strain per unit of each mode, and a warning says so.
    forces : nodes at which forces and moments are inputs, in world axes.
    tolerance : the relative tolerance of co-simulation, unless the importer sets one; the absolute tolerance is a
        hundredth of it.
    name : the model identifier, which is also the name of the binary; by default that of the system.

    For a closed system, the closure rows are those that are independent about q0, as in `lb.compile(..., rows=q0)`. The
    FMU contains its sources and the binary for this platform, compiled from them; it needs no Python. A name of a body
    or a joint with characters other than letters, digits and _ is quoted in the names of variables.
    """
    if not isinstance(system, System):
        hint = " (an Assembly: build it first)" if hasattr(system, "build") else ""
        raise ArgumentTypeError(f"system must be a System, got {shown(system)}{hint}.")
    if not system.nv:
        raise ArgumentValueError(
            f"the system {system.name!r} has no degrees of freedom, so its FMU would have no states: give it a joint that "
            "moves or a body with modes."
        )
    if version not in VERSIONS or isinstance(version, bool):
        raise ArgumentValueError(f"version={shown(version)} must be 2 or 3, a version of FMI.")
    file = _file(path)
    tolerance = number("tolerance", tolerance, above=0.0)
    if tolerance >= 1.0:
        raise ArgumentValueError(f"tolerance={tolerance} must be less than 1.")
    c_compiler.compiler()  # it is missing before any work is done
    q, v = _start(system, q0, v0)
    chosen = _parameters(system, parameters)
    found = variables(
        system,
        q,
        v,
        chosen,
        _ends(system, "nodes", nodes),
        _ends(system, "forces", forces),
        _ends(system, "accelerations", accelerations),
        _gauges(system, gauges, chosen),
    )
    build.write(equations(system, found, q), file, version, _identifier(system, name), tolerance)
    return file


def _file(path: str | PathLike) -> Path:
    if not isinstance(path, str | PathLike):
        raise ArgumentTypeError(f"path must be the name of a file, got {shown(path)}.")
    file = Path(path)
    if file.suffix.lower() != ".fmu":
        raise ArgumentValueError(f"path={str(path)!r} must end in .fmu.")
    try:
        refuse_unwritable(file)
    except OSError as error:
        raise ArgumentValueError(
            f"path={str(path)!r} cannot be written: {error.strerror}."
        ) from error
    return file


def _identifier(system: System, name: str | None) -> str:
    if name is None:
        return identifier(system.name)
    if not isinstance(name, str) or identifier(name) != name:
        example = identifier(str(name))
        raise ArgumentValueError(f"name={shown(name)} must be a C identifier, such as {example!r}.")
    return name


def _start(system: System, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[Array, Array]:
    """The start values of the states."""
    if q0 is not None:
        q = np.array(array("q0", q0, (system.nq,)))
    else:
        q = assemble(system, system.neutral()) if system.closures else system.neutral()
    v = np.zeros(system.nv) if v0 is None else np.array(array("v0", v0, (system.nv,)))
    for body, at in quaternions(system):
        where = f"q0[{at.start}:{at.stop}], the quaternion of body {body!r},"
        q[at] = unit_quaternion(where, q[at])
    start = "the neutral configuration" if q0 is None else "q0"
    effect = "stops push back from the start. Give q0 within the limits."
    warn_outside_limits(system, q, f"{start}, from which the FMU starts,", effect)
    return closed_state(system, q, v, "q0", "v0", "q0, v0")


def _parameters(system: System, wanted: Sequence[str] | None) -> list[Parameter]:
    """The parameters that are named, or that patterns match, in the order of the system; the usual ones if None."""
    known = system.parameters
    if wanted is None:
        return [p for name, p in known.items() if any(fnmatchcase(name, x) for x in USUAL)]
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        raise ArgumentTypeError(f"parameters must be a list of names, got {shown(wanted)}.")
    chosen: set[str] = set()
    for pattern in wanted:
        if not isinstance(pattern, str):
            raise ArgumentTypeError(f"parameters must be a list of names, got {shown(pattern)}.")
        matching = [n for n in known if n == pattern or fnmatchcase(n, pattern)]
        if not matching:
            raise ArgumentValueError(
                f"parameters: the system {system.name!r} has no parameter that is named or matches {pattern!r}."
                f"{suggestion(pattern, known)} system.parameters lists them."
            )
        chosen.update(matching)
    by_body: dict[str | None, list[str]] = {}
    for key in chosen:
        by_body.setdefault(known[key].body, []).append(known[key].quantity)
    for body, quantities in by_body.items():
        both = excluded(quantities)
        if both is not None:
            raise ArgumentValueError(
                f"parameters: {both[0]} and {both[1]} of body {body!r} cannot be combined, because the first already "
                "determines everything: leave one of them out."
            )
    return [parameter for key, parameter in known.items() if key in chosen]


def _ends(system: System, what: str, given: Sequence[str | End]) -> list[End]:
    """Nodes of bodies, without duplicates."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentTypeError(
            f'{what} must be a list of ("body", node) or "body", got {shown(given)}.'
        )
    found: list[End] = []
    for item in given:
        pair = (item, None) if isinstance(item, str) else item
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentTypeError(
                f'{what} must be a list of ("body", node) or "body", got {shown(item)}.'
            )
        end = (pair[0], pair[1])
        system.node_number(*end)
        if end in found:
            raise ArgumentValueError(f"{what}={shown(list(given))} names {shown(end)} twice.")
        found.append(end)
    return found


def _gauges(
    system: System, given: Sequence[StrainGauge], parameters: Sequence[Parameter]
) -> Sequence[StrainGauge]:
    """Strain gauges that fit the system, with names of their own."""
    if not isinstance(given, Sequence) or not all(isinstance(x, StrainGauge) for x in given):
        raise ArgumentTypeError(
            f"gauges must be a list of lb.control.StrainGauge objects, got {shown(given)}."
        )
    for gauge in given:
        gauge.reader(system)
    names = [gauge.name for gauge in given]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ArgumentValueError(
            f"gauges: two of them have the name {twice[0]!r}; give each its own name=..., which is that of the variable."
        )
    for gauge in given:
        change = [p.name for p in parameters if _changes(system, gauge, p)]
        if change:
            warn(
                f"gauges: the strain of {gauge.name!r} per unit of each mode depends on {', '.join(change)}, because shear "
                "deformation, taper or a whole matrix couples the stiffnesses of the beam. The FMU has it for the present values: if they "
                "change, its strain is off by a fraction of the change. stiffness_scale leaves it exact.",
                ModelWarning,
            )
    return given


def _changes(system: System, gauge: StrainGauge, parameter: Parameter) -> bool:
    """Whether the readings of a gauge per unit of each mode depend on a stiffness."""
    if parameter.body != gauge.body:
        return False
    if parameter.quantity == "stiffness":
        return gauge.at is not None
    body = system.bodies[gauge.body]
    if parameter.quantity not in getattr(body, "stiffness_parameters", ()):
        return False
    rows = gauge.rows(system)
    other = gauge.rows(system.with_parameters({parameter.name: 1.1 * parameter.value}))
    return bool(np.abs(other - rows).max() > 1e-6 * np.abs(rows).max())
