"""The JSON schemas of model files, scenario files, and side files with flexible links for a URDF."""

from __future__ import annotations

from typing import Any

from limber.checks import shown
from limber.errors import ArgumentValueError
from limber.io.joints import BARE, JointSection
from limber.io.model import DhJointSection, ModelSection, SideSection
from limber.io.section import Section
from limber.scenarios.scenario import ScenarioSection

KINDS: dict[str, type[Section]] = {
    "model": ModelSection,
    "scenario": ScenarioSection,
    "side": SideSection,
}


def schema(kind: str = "model") -> dict[str, Any]:
    """Return the JSON schema of a file, for editors.

    kind : "model", "scenario" or "side" (flexible links for a URDF).
    """
    if kind not in KINDS:
        raise ArgumentValueError(f"kind must be one of {', '.join(KINDS)}; got {shown(kind)}.")
    return section_schema(KINDS[kind], kind)


def section_schema(section: type[Section], kind: str) -> dict[str, Any]:
    """The JSON schema of a file of this kind, whose content is this section."""
    found = section.model_json_schema()
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["title"] = f"Limber {kind} file"
    for name, definition in found.get("$defs", {}).items():
        found["$defs"][name] = _with_short_forms(name, definition)
    return found


def _with_short_forms(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """A definition that also allows the short forms of its section."""
    number = {"type": "number"}
    rows = {"type": "array", "minItems": 3, "maxItems": 3}
    short: dict[str, dict[str, Any]] = {
        JointSection.__name__: {"enum": list(BARE)},
        DhJointSection.__name__: {"enum": list(DhJointSection.one_of)},
        "RotationSection": rows | {"items": rows | {"items": number}},
        "UniversalSection": {"type": "array", "minItems": 2, "maxItems": 2},
        "ModesSection": {"type": "integer", "minimum": 1},
        "PartSection": {"anyOf": [number, {"type": "array", "items": number}]},
        "ModelChoiceSection": {"type": "string"},
        "StateSection": {"type": "array", "items": number},
        "InitialSection": {"enum": ["equilibrium"]},
        "ReferenceSection": {"anyOf": [number, {"type": "array"}, {"$ref": "#/$defs/PathSection"}]},
        "EquilibriumSection": {"type": "boolean"},
    }
    if name == "RigidSection":
        matrix = definition["properties"]["inertia"]
        definition["properties"]["inertia"] = {"anyOf": [matrix, rows | {"items": number}]}
    return {"anyOf": [definition, short[name]]} if name in short else definition
