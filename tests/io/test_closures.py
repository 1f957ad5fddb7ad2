"""Closures in model files: they come back bit for bit, and what is wrong is said with its place."""

import copy
import pickle

import pytest

import limber as lb
from helpers.closed import every_closure, four_bar, moved_four_bar
from helpers.files import bits, description


def again(model, folder, **options):
    lb.save(model, folder / "model.yaml", **options)
    return lb.load(folder / "model.yaml")


@pytest.mark.parametrize("arrays", ["inline", "npz"])
def test_closures_of_every_kind_come_back(arrays, tmp_path):
    made = every_closure(lb.beam(1.0, 1.0, EI=100.0, modes=1))
    assert description(again(made, tmp_path, arrays=arrays)) == description(made)


def test_systems_with_closures_come_back(tmp_path):
    made = every_closure()
    system = made.build("ruthless")
    made.relate({"rocker": 1.0})  # the system does not change any more
    there = again(system, tmp_path).build()
    assert bits(there.closures) == bits(system.closures)
    assert list(there.closures) == list(system.closures)


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_and_pickles_keep_closures(twin):
    made = every_closure()
    assert bits(twin(made).closures) == bits(made.closures)
    there = twin(made.build())
    assert bits(there.closures) == bits(made.closures)


def test_result_files_keep_closures(tmp_path):
    result = moved_four_bar()
    result.save(tmp_path / "run.h5")
    there = lb.Result.load(tmp_path / "run.h5").system
    assert bits(there.closures) == bits(result.system.closures)


def test_files_are_short(tmp_path):
    lb.save(four_bar().gear("rocker", "crank", 2), tmp_path / "model.yaml")
    tail = (tmp_path / "model.yaml").read_text().split("closures:\n")[1].splitlines()
    assert tail == [
        "  - {name: pin, a: {body: coupler, node: tip}, b: {body: rocker, node: tip}, joint: {revolute: z}}",
        "  - {name: relation1, relate: {rocker: 1.0, crank: -2.0}}",
    ]


GOOD = """\
limber: 1
bodies:
  crank: {rigid: {mass: 1, inertia: [1, 1, 1], nodes: {tip: [1, 0, 0]}}, joint: {revolute: z}}
  rod: {rigid: {mass: 1, nodes: {tip: [1, 0, 0]}}, joint: {revolute: z}, to: crank, at: tip}
  slider: {rigid: {mass: 1, inertia: [1, 1, 1]}, joint: {cylindrical: z}}
closures:
  - name: pin
    a: {body: rod, node: tip, offset: [0, 0, 0.1]}
    b: {world: [2, 0, 0], rotation: {rpy: [0, 0, 90], degrees: true}}
    joint: {revolute: z}
  - {relate: {crank: 1, slider: [0, 0.1]}, value: 0.2}
  - {name: gear, gear: {driven: rod, driver: [slider, 0], ratio: 3, offset: 0.1}}
"""


def read(text, folder):
    (folder / "model.yaml").write_text(text)
    return lb.load(folder / "model.yaml")


def test_file_says_what_calls_say(tmp_path):
    there = read(GOOD, tmp_path)
    made = lb.Assembly("model")
    for item in there.attachments.values():
        made.attach(item.name, item.body, item.joint, item.to, item.at)
    turn = there.closures["pin"].b.rotation
    assert turn.tolist() == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    made.close(
        ("rod", "tip"), ("world", (2, 0, 0)), lb.Revolute("z"), "pin", (0, 0, 0.1), rotation_b=turn
    )
    made.relate({"crank": 1, ("slider", 1): 0.1}, 0.2)
    made.gear("rod", ("slider", 0), 3, 0.1, "gear")
    assert bits(there.closures) == bits(made.closures)


#: (text in GOOD, its replacement, line, key, what the message says)
CASES = {
    "key": ("name: pin", "nam: pin", 7, "closures[0].nam", "not a known key. Did you mean 'name'"),
    "kind": ("relate:", "relat:", 11, "closures[1].relat", "Did you mean 'relate'"),
    "no kind": ("    joint: {revolute: z}\n", "", 7, "closures[0]", "has an end but no joint: add"),
    "nothing": ("relate: {crank: 1, slider: [0, 0.1]}, ", "", 11, "closures[1]", "needs one of joint, relate, gear; got none"),
    "two kinds": ("name: gear, ", "relate: {rod: 1}, ", 12, "closures[2]", "got relate and gear"),
    "stray": ("name: gear", "value: 1", 12, "closures[2].value", "cannot be combined with gear"),
    "no end": ("    a: {body: rod, node: tip, offset: [0, 0, 0.1]}\n", "", 7, "closures[0]", "'a' is missing: a closure has the ends a and b"),
    "end key": ("node: tip, off", "nod: tip, off", 8, "closures[0].a.nod", "Did you mean 'node'"),
    "body": ("body: rod,", "body: rodd,", 8, "closures[0].a", "there is no body 'rodd'. Did you mean 'rod'"),
    "node": ("node: tip, off", "node: tipp, off", 8, "closures[0].a", "'tipp' is not a node of body 'rod' in the closure 'pin'.* Did you mean 'tip'"),
    "world node": ("world: [2, 0, 0]", "world: [2, 0, 0], node: tip", 9, "closures[0].b.node", "the world has no nodes"),
    "world body": ("world: [2, 0, 0]", "body: world", 9, "closures[0].b.body", "write {world: .x, y, z.}"),
    "both": ("world: [2, 0, 0]", "world: [2, 0, 0], body: rod", 9, "closures[0].b", "needs one of body, world; got body and world"),
    "place": ("world: [2, 0, 0]", "world: [2, 0]", 9, "closures[0].b.world", "2 entries where 3"),
    "rotation": ("{rpy: [0, 0, 90], degrees: true}", "[[1, 0, 0], [0, 1, 0], [0, 0, -1]]", 9, "closures[0].b.rotation", "a reflection"),
    "rotation keys": ("rpy: [0, 0, 90], degrees: true", "axis: z", 9, "closures[0].b.rotation.axis", "axis and angle belong together"),
    "joint": ("    joint: {revolute: z}", "    joint: {revolut: z}", 10, "closures[0].joint.revolut", "Did you mean 'revolute'"),
    "free": ("    joint: {revolute: z}", "    joint: free", 10, "closures[0].joint", "allows all six motions, so it constrains nothing"),
    "physics": ("    joint: {revolute: z}", "    joint: {revolute: z, damping: 1}", 10, "closures[0].joint", "'pin' has damping"),
    "itself": ("b: {world: [2, 0, 0]", "b: {body: rod", 7, "closures[0]", "has both ends on 'rod'"),
    "name": ("name: gear", "name: pin", 12, "closures[2].name", "name='pin' is already taken"),
    "quoted": ("name: gear", "name: 1", 12, "closures[2].name", "must be a name, got 1. Put it in quotes"),
    "term": ("crank: 1,", "krank: 1,", 11, "closures[1].relate", "there is no body 'krank'. Did you mean 'crank'"),
    "which": ("[0, 0.1]}", "1}", 11, "closures[1].relate", "has 2 coordinates; name one of them"),
    "coefficients": ("[0, 0.1]}", "[0, 0.1, 2]}", 11, "closures[1].relate.slider", "has 3 coefficients, but the joint of 'slider' has 2"),
    "coefficient": ("crank: 1,", "crank: x,", 11, "closures[1].relate.crank", "must be a number"),
    "zero": ("{crank: 1, slider: [0, 0.1]}", "{crank: 0}", 11, "closures[1].relate", "all coefficients are zero"),
    "value": ("value: 0.2", "value: .inf", 11, "closures[1].value", "must be finite"),
    "gear body": ("driven: rod", "driven: rd", 12, "closures[2].gear.driven", "driven of 'gear': there is no body 'rd'. Did you mean 'rod'"),
    "gear index": ("[slider, 0]", "[slider, 2]", 12, "closures[2].gear.driver", "has coordinates 0 to 1, so there is no coordinate 2"),
    "gear kind": ("[slider, 0]", "[slider]", 12, "closures[2].gear.driver", "must be the name of a body, or"),
    "gear itself": ("[slider, 0]", "rod", 12, "closures[2].gear.driven", "are the same joint"),
    "gear ratio": ("ratio: 3, ", "", 12, "closures[2].gear", "'ratio' is missing"),
    "mapping": ("closures:\n", "closures: {a: 1}\nname: x\n#", 6, "closures", "must be a list"),
}  # fmt: skip


@pytest.mark.parametrize("old, new, line, key, says", CASES.values(), ids=CASES)
def test_mistakes_are_said_with_their_place(old, new, line, key, says, tmp_path):
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    if key == "closures":
        text = text.split("#")[0]
    with pytest.raises(lb.FileError, match=says) as caught:
        read(text, tmp_path)
    assert (caught.value.line, caught.value.key) == (line, key), str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'model.yaml'}:{line}:")


def test_schema_has_closures():
    definitions = lb.io.schema()["$defs"]
    closure = definitions["ClosureSection"]["properties"]
    assert set(closure) == {"name", "a", "b", "joint", "relate", "value", "gear"}
    assert set(definitions["EndSection"]["properties"]) == {
        "body",
        "node",
        "world",
        "offset",
        "rotation",
    }
    assert definitions["GearSection"]["required"] == ["driven", "driver", "ratio"]
