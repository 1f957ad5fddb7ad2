"""modelDescription.xml of an FMU, for FMI 2.0 and 3.0, and buildDescription.xml of FMI 3.0."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from limber.exchange.fmi.equations import Equations
from limber.exchange.fmi.units import UNITS
from limber.exchange.fmi.variables import Variable
from limber.version import __version__

_CATEGORIES = ("logStatusWarning", "logStatusError")
_TRUE, _FALSE = "true", "false"


def description(
    made: Equations, version: int, identifier: str, token: str, tolerance: float
) -> bytes:
    """The content of modelDescription.xml.

    version : 2 or 3.
    identifier : the name of the binary, a C identifier.
    token : passed by the importer to the binary, to check that both belong together.
    tolerance : that of the default experiment.
    """
    attributes = {
        "fmiVersion": f"{version}.0",
        "modelName": made.system.name or identifier,
        "guid" if version == 2 else "instantiationToken": token,
        "description": "A multibody system of Limber: SI units, radians",
        "generationTool": f"Limber {__version__}",
        "variableNamingConvention": "structured" if made.variables.structured else "flat",
    }
    root = ET.Element("fmiModelDescription", attributes)
    settles = made.settled is not None
    (_kinds_2 if version == 2 else _kinds_3)(root, identifier, settles)
    _units(root, made)
    categories = ET.SubElement(root, "LogCategories")
    for name in _CATEGORIES:
        ET.SubElement(categories, "Category", {"name": name})
    ET.SubElement(root, "DefaultExperiment", {"startTime": "0", "tolerance": repr(tolerance)})
    (_variables_2 if version == 2 else _variables_3)(ET.SubElement(root, "ModelVariables"), made)
    (_structure_2 if version == 2 else _structure_3)(ET.SubElement(root, "ModelStructure"), made)
    return _text(root)


def build_description(identifier: str) -> bytes:
    """The content of sources/buildDescription.xml of FMI 3.0."""
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    configuration = ET.SubElement(root, "BuildConfiguration", {"modelIdentifier": identifier})
    files = ET.SubElement(configuration, "SourceFileSet", {"language": "C99"})
    ET.SubElement(files, "SourceFile", {"name": "fmi3.c"})
    ET.SubElement(configuration, "Library", {"name": "m", "external": _TRUE})
    return _text(root)


def _text(root: ET.Element) -> bytes:
    ET.indent(root)
    return ET.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"


def _kinds_2(root: ET.Element, identifier: str, settles: bool) -> None:
    common = {
        "modelIdentifier": identifier,
        "canGetAndSetFMUstate": _TRUE,
        "canSerializeFMUstate": _TRUE,
        "canNotUseMemoryManagementFunctions": _TRUE,
        "providesDirectionalDerivative": _TRUE,
    }
    needless = {"completedIntegratorStepNotNeeded": _FALSE if settles else _TRUE}
    variable = {"canHandleVariableCommunicationStepSize": _TRUE}
    for kind, own in (("ModelExchange", needless), ("CoSimulation", variable)):
        files = ET.SubElement(ET.SubElement(root, kind, {**common, **own}), "SourceFiles")
        ET.SubElement(files, "File", {"name": "fmi2.c"})


def _kinds_3(root: ET.Element, identifier: str, settles: bool) -> None:
    common = {
        "modelIdentifier": identifier,
        "canGetAndSetFMUState": _TRUE,
        "canSerializeFMUState": _TRUE,
        "providesDirectionalDerivatives": _TRUE,
        "providesAdjointDerivatives": _TRUE,
    }
    needed = {"needsCompletedIntegratorStep": _TRUE if settles else _FALSE}
    ET.SubElement(root, "ModelExchange", {**common, **needed})
    variable = {"canHandleVariableCommunicationStepSize": _TRUE}
    ET.SubElement(root, "CoSimulation", {**common, **variable})


def _units(root: ET.Element, made: Equations) -> None:
    v = made.variables
    parts = (v.states, v.rates, v.inputs, v.outputs, v.parameters)
    used = {"s", *(x.unit for part in parts for x in part if x.unit)}
    definitions = ET.SubElement(root, "UnitDefinitions")
    for name, exponents in UNITS.items():
        if name in used:
            unit = ET.SubElement(definitions, "Unit", {"name": name})
            ET.SubElement(unit, "BaseUnit", {key: str(x) for key, x in exponents.items()})


def _listed(made: Equations) -> list[tuple[Variable, dict[str, str]]]:
    """All variables except time, each with its causality, variability and, if it is not the default, `initial`."""
    v = made.variables
    continuous = {"variability": "continuous"}
    found = [
        (x, {"causality": "output" if x.shown else "local", **continuous, "initial": "exact"})
        for x in v.states
    ]
    found += [(x, {"causality": "local", **continuous}) for x in v.rates]
    found += [(x, {"causality": "input", **continuous}) for x in v.inputs]
    found += [(x, {"causality": "output", **continuous}) for x in v.outputs]
    found += [(x, {"causality": "parameter", "variability": "tunable"}) for x in v.parameters]
    return found


def _numbers(x: Variable) -> dict[str, str]:
    """The attributes of a variable that are of real numbers."""
    found = {} if x.unit is None else {"unit": x.unit}
    if math.isfinite(x.least):
        found["min"] = repr(x.least)
    if x.start is not None:
        found["start"] = repr(x.start)
    return found


def _variables_3(root: ET.Element, made: Equations) -> None:
    time = {"name": "time", "valueReference": "0", "causality": "independent"}
    ET.SubElement(root, "Float64", {**time, "variability": "continuous", "unit": "s"})
    for reference, (x, attributes) in enumerate(_listed(made), start=1):
        own = {"name": x.name, "valueReference": str(reference), "description": x.meaning}
        if x.of_state is not None:
            own["derivative"] = str(1 + x.of_state)
        ET.SubElement(root, "Float64", {**own, **attributes, **_numbers(x)})


def _variables_2(root: ET.Element, made: Equations) -> None:
    time = {"name": "time", "valueReference": "0", "causality": "independent"}
    variable = ET.SubElement(root, "ScalarVariable", {**time, "variability": "continuous"})
    ET.SubElement(variable, "Real", {"unit": "s"})
    for reference, (x, attributes) in enumerate(_listed(made), start=1):
        own = {"name": x.name, "valueReference": str(reference), "description": x.meaning}
        variable = ET.SubElement(root, "ScalarVariable", {**own, **attributes})
        numbers = _numbers(x)
        if x.of_state is not None:
            numbers["derivative"] = str(2 + x.of_state)  # variables are counted from 1, time first
        ET.SubElement(variable, "Real", numbers)


def _unknowns(made: Equations) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """What outputs, and what derivatives depend on, by value references."""
    v = made.variables
    nx, first = len(v.states), 1 + 2 * len(v.states) + len(v.inputs)
    outputs = {1 + i: {1 + i} for i, x in enumerate(v.states) if x.shown}
    outputs |= {first + i: by for i, by in enumerate(made.depends(made.outputs))}
    rates = {1 + nx + i: by for i, by in enumerate(made.depends(made.rates))}
    return outputs, rates


def _structure_3(root: ET.Element, made: Equations) -> None:
    outputs, rates = _unknowns(made)
    for kind, unknowns in (("Output", outputs), ("ContinuousStateDerivative", rates)):
        for reference, by in unknowns.items():
            ET.SubElement(
                root,
                kind,
                {
                    "valueReference": str(reference),
                    "dependencies": " ".join(map(str, sorted(by))),
                },
            )
    for reference in _initial(made, outputs, rates):
        ET.SubElement(root, "InitialUnknown", {"valueReference": str(reference)})


def _structure_2(root: ET.Element, made: Equations) -> None:
    outputs, rates = _unknowns(made)
    for kind, unknowns in (("Outputs", outputs), ("Derivatives", rates)):
        part = ET.SubElement(root, kind)
        for reference, by in unknowns.items():
            index = {
                "index": str(1 + reference),
                "dependencies": " ".join(str(1 + i) for i in sorted(by)),
            }
            ET.SubElement(part, "Unknown", index)
    part = ET.SubElement(root, "InitialUnknowns")
    for reference in _initial(made, outputs, rates):
        ET.SubElement(part, "Unknown", {"index": str(1 + reference)})


def _initial(made: Equations, outputs: dict, rates: dict) -> list[int]:
    """The unknowns computed at the start: all except states, which have start values; they depend on everything."""
    return sorted(r for r in (*outputs, *rates) if r > len(made.variables.states))
