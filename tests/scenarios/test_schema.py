"""The JSON schemas are well formed and know every key."""

import json

import pytest

import limber as lb
from limber.joints.physics import OPTIONS


@pytest.mark.parametrize("kind", ["model", "scenario", "side"])
def test_schema_is_json_and_its_references_lead_somewhere(kind):
    schema = lb.io.schema(kind)
    text = json.dumps(schema)
    assert json.loads(text) == schema
    references = [part.split('"')[0] for part in text.split('"#/$defs/')[1:]]
    assert references and set(references) <= set(schema["$defs"])


def test_schema_of_models_is_the_default():
    schema = lb.io.schema()
    assert schema["title"] == "Limber model file"
    assert set(schema["properties"]) == {
        "limber",
        "name",
        "gravity",
        "fidelity",
        "urdf",
        "dh",
        "bodies",
        "closures",
    }
    assert schema["additionalProperties"] is False
    joint = schema["$defs"]["JointSection"]["anyOf"]
    assert joint[1] == {"enum": ["spherical", "free", "fixed"]}
    assert "revolute" in joint[0]["properties"]


def test_schema_has_the_physics_of_joints():
    definitions = lb.io.schema()["$defs"]
    for name in ("JointSection", "DhJointSection"):
        options = definitions[name]["anyOf"][0]["properties"]
        assert set(OPTIONS) < set(options)
        number = {"type": "number", "minimum": 0.0}
        assert options["damping"]["anyOf"] == [number, {"type": "array", "items": number}]
        assert options["friction_speed"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0.0}
        assert options["rest"]["anyOf"][0] == {"type": "number"}
        assert options["limits"]["anyOf"][0]["items"] == {"type": ["number", "null"]}
    assert definitions["DhJointSection"]["anyOf"][1] == {"enum": ["revolute", "prismatic"]}


def test_unknown_kind_is_refused():
    with pytest.raises(lb.LimberError, match="kind must be one of model, scenario, side"):
        lb.io.schema("xml")


def test_schema_of_scenarios_knows_equilibria():
    definitions = lb.io.schema("scenario")["$defs"]
    assert definitions["InitialSection"]["anyOf"][1] == {"enum": ["equilibrium"]}
    assert definitions["EquilibriumSection"]["anyOf"][1] == {"type": "boolean"}
    assert set(definitions["EquilibriumSection"]["anyOf"][0]["properties"]) == {
        "locked",
        "all_locked",
        "torque",
    }
