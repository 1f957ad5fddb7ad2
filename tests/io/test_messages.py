"""What is wrong in a model file is said with file, line, column, key and what to do."""

import pytest

import limber as lb

GOOD = """\
limber: 1
name: arm
gravity: [0, 0, -9.81]
bodies:
  upper:
    beam: {length: 2, mass: 4, EI: 800}
    joint: {revolute: y}
  hand:
    rigid:
      mass: 1.5
      com: [0.1, 0, 0]
      inertia: [0.01, 0.01, 0.01]
      nodes: {grip: [0.2, 0, 0]}
    joint: {revolute: [0, 1, 0]}
    to: upper
    at: tip
"""

#: (text in GOOD, its replacement, line, key, what the message says)
CASES = {
    "unknown key": ("mass: 1.5", "mas: 1.5", 10, "bodies.hand.rigid.mas", "Did you mean 'mass'"),
    "unknown top key": (
        "name: arm",
        "paint: red",
        2,
        "paint",
        "not a known key. Known names: limber",
    ),
    "duplicate key": (
        "name: arm",
        "limber: 1",
        2,
        "",
        "'limber' occurs a second time .first on line 1.",
    ),
    "missing": ("      mass: 1.5\n", "", 9, "bodies.hand.rigid", "'mass' is missing"),
    "negative": ("1.5", "-1.5", 10, "bodies.hand.rigid.mass", "must be at least 0, got -1.5"),
    "text": ("1.5", "heavy", 10, "bodies.hand.rigid.mass", "a number, got the text 'heavy'"),
    "quoted": ("1.5", '"1.5"', 10, "bodies.hand.rigid.mass", "a number, got the text '1.5'"),
    "boolean": ("1.5", "true", 10, "bodies.hand.rigid.mass", "got true .a boolean."),
    "yes": ("1.5", "yes", 10, "bodies.hand.rigid.mass", "got the text 'yes'"),
    "octal": ("1.5", "010", 10, "bodies.hand.rigid.mass", "got the text '010'"),
    "date": ("1.5", "2024-01-01", 10, "bodies.hand.rigid.mass", "got the text '2024-01-01'"),
    "nan": ("1.5", ".nan", 10, "bodies.hand.rigid.mass", "must be finite, got nan"),
    "inf": ("1.5", "1e999", 10, "bodies.hand.rigid.mass", "must be finite, got inf"),
    "huge": ("1.5", "9" * 390, 10, "bodies.hand.rigid.mass", "must be finite, got 999"),
    "long": ("1.5", "9" * 5000, 10, "bodies.hand.rigid.mass", "a number, got the text '999"),
    "nothing": ("1.5", "", 10, "bodies.hand.rigid.mass", "a number, got nothing"),
    "shape": ("[0.1, 0, 0]", "[0.1, 0]", 11, "bodies.hand.rigid.com", "2 entries where 3 are"),
    "in a list": ("[0.1, 0, 0]", "[0.1, x, 0]", 11, "bodies.hand.rigid.com[1]", "got the text 'x'"),
    "flat": ("[0.1, 0, 0]", "0.1", 11, "bodies.hand.rigid.com", r"numbers of shape .3,., got 0.1"),
    "inertia": (
        "[0.01, 0.01, 0.01]",
        "[1, 1, -3]",
        12,
        "bodies.hand.rigid.inertia",
        "semidefinite",
    ),
    "joint": (
        "revolute: y",
        "revolut: y",
        7,
        "bodies.upper.joint.revolut",
        "Did you mean 'revolute'",
    ),
    "joint word": (
        "{revolute: y}",
        "hinge",
        7,
        "bodies.upper.joint",
        "is not a joint. Known names",
    ),
    "bare": ("{revolute: y}", "revolute", 7, "bodies.upper.joint", "revolute needs numbers"),
    "two joints": (
        "revolute: y",
        "revolute: y, fixed: ",
        7,
        "bodies.upper.joint",
        "got revolute and fixed",
    ),
    "joint option": (
        "revolute: y",
        "revolute: y, dampin: 1",
        7,
        "bodies.upper.joint.dampin",
        "Did you mean 'damping'",
    ),
    "option alone": ("revolute: y", "damping: 1", 7, "bodies.upper.joint", "needs one of revolute"),
    "option text": (
        "revolute: y",
        "revolute: y, damping: much",
        7,
        "bodies.upper.joint.damping",
        "must be a number, or a list of one for every speed of the joint, got the text 'much'",
    ),
    "option nothing": (
        "revolute: y",
        "revolute: y, damping: ",
        7,
        "bodies.upper.joint.damping",
        "got nothing",
    ),
    "option entry": (
        "revolute: y",
        "universal: [x, y], friction: [1, no]",
        7,
        "bodies.upper.joint.friction[1]",
        "must be a number, got the text 'no'",
    ),
    "option sizes": (
        "revolute: y",
        "revolute: y, friction: [1, 2]",
        7,
        "bodies.upper.joint.friction",
        r"friction must have shape .1,., got .2,.. Give one number, or one for each speed",
    ),
    "option below zero": (
        "{revolute: y}",
        "\n      revolute: y\n      armature: -1",
        9,
        "bodies.upper.joint.armature",
        "armature must be at least 0, got -1",
    ),
    "infinite damping": (
        "revolute: y",
        "revolute: y, damping: .inf",
        7,
        "bodies.upper.joint.damping",
        "must be finite, got inf",
    ),
    "limits": (
        "revolute: y",
        "revolute: y, limits: 1",
        7,
        "bodies.upper.joint.limits",
        r"must be a pair \[lower, upper\] with null for a missing limit",
    ),
    "limits text": (
        "revolute: y",
        "revolute: y, limits: [0, up], stop_stiffness: 1",
        7,
        "bodies.upper.joint.limits[1]",
        "must be a number or null, got the text 'up'",
    ),
    "limits turned": (
        "revolute: y",
        "revolute: y, limits: [1, 0], stop_stiffness: 1",
        7,
        "bodies.upper.joint.limits",
        "lower limit first",
    ),
    "limits far": (
        "revolute: y",
        "revolute: y, limits: [-1e308, 1e308], stop_stiffness: 1",
        7,
        "bodies.upper.joint.limits",
        "too large to compute with: give None",
    ),
    "limits alone": (
        "revolute: y",
        "revolute: y, limits: [0, 1]",
        7,
        "bodies.upper.joint.limits",
        "limits need stop_stiffness",
    ),
    "rest of no spring": (
        "revolute: y",
        "revolute: y, rest: 1",
        7,
        "bodies.upper.joint.rest",
        "rest needs stiffness",
    ),
    "option of a part": (
        "{revolute: y}",
        "{compound: [{revolute: y},\n      {revolute: z, friction: 2, static_friction: 1}]}",
        8,
        "bodies.upper.joint.compound[1].static_friction",
        "static_friction must be at least friction",
    ),
    "option twice": (
        "revolute: y",
        "compound: [{revolute: y, friction: 2}], damping: 1",
        7,
        "bodies.upper.joint.damping",
        "Give physics either to each joint or to all of them",
    ),
    "option of a quaternion": (
        "revolute: y",
        "spherical: {}, damping: 1, stiffness: 2",
        7,
        "bodies.upper.joint.stiffness",
        "takes no stiffness: its speeds are not the rates of coordinates",
    ),
    "option of a weld": (
        "revolute: y",
        "fixed: , damping: 1",
        7,
        "bodies.upper.joint.damping",
        "does not move, so it takes no damping",
    ),
    "axis": ("revolute: y", "revolute: w", 7, "bodies.upper.joint.revolute", "one of x, y, z, -x"),
    "zero axis": ("[0, 1, 0]", "[0, 0, 0]", 14, "bodies.hand.joint", "axis is the zero vector"),
    "no body": (
        "    beam: {length: 2, mass: 4, EI: 800}\n",
        "",
        5,
        "bodies.upper",
        "one of rigid, beam",
    ),
    "beam": ("EI: 800", "EI: 0", 6, "bodies.upper.beam.EI", "EI must be greater than 0"),
    "modes": (
        "EI: 800",
        "EI: 800, modes: 1e9",
        6,
        "bodies.upper.beam.modes",
        "must be a whole number of modes",
    ),
    "many": (
        "EI: 800",
        "EI: 800, modes: 999",
        6,
        "bodies.upper.beam.modes",
        "must be from 0 to 100",
    ),
    "parent": ("to: upper", "to: uper", 15, "bodies.hand.to", "is not attached yet"),
    "node": ("at: tip", "at: end", 16, "bodies.hand.at", "is not a node of body 'upper'"),
    "order": (
        "  upper:\n",
        "  upper:\n    to: hand\n",
        6,
        "bodies.upper.to",
        "Attach a parent before",
    ),
    "version": ("limber: 1", "limber: 2", 1, "limber", "reads format 1, got 2"),
    "true version": ("limber: 1", "limber: true", 1, "limber", "reads format 1"),
    "no version": ("limber: 1\n", "", 1, "", "add the line `limber: 1`"),
    "name": ("name: arm", "name: 7", 2, "name", "must be text, got 7. Put it in quotes"),
    "gravity": ("[0, 0, -9.81]", "-9.81", 3, "gravity", r"numbers of shape .3,., got -9.81"),
    "rotation": ("at: tip", "rotation: {rpy: [0, 0]}", 16, "bodies.hand.rotation.rpy", "2 entries"),
    "matrix": (
        "at: tip",
        "rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 2]]",
        16,
        "bodies.hand.rotation",
        "must be a rotation matrix, but it is not orthogonal",
    ),
    "half": (
        "at: tip",
        "rotation: {axis: x}",
        16,
        "bodies.hand.rotation.axis",
        "axis and angle belong together",
    ),
    "quaternion": (
        "at: tip",
        "rotation: {quaternion: [1, 1, 0, 0]}",
        16,
        "bodies.hand.rotation.quaternion",
        "must be 1 to within",
    ),
    "not yaml": ("{grip: [0.2, 0, 0]}", "{grip: [0.2, 0, 0}", 13, "", "not valid YAML"),
    "tab": ("  upper:", "\tupper:", 5, "", "not valid YAML"),
    "tag": ("1.5", "!!python/object/apply:os.system [ls]", 10, "", "the tag .* is not allowed"),
    "float tag": ("1.5", "!!float 1.5", 10, "", "the tag .* is not allowed"),
    "alias": ("1.5", "*mass", 10, "", r"alias \*mass has no anchor"),
    "own alias": ("[0.1, 0, 0]", "&a [*a]", 11, "", "inside its own anchor"),
    "documents": ("    at: tip\n", "    at: tip\n---\nlimber: 1\n", 17, "", "a second document"),
    "merge": ("name: arm", "<<: {name: arm}", 2, "", "merge keys .<<. are not supported"),
    "key": ("name: arm", "[a, b]: arm", 2, "", "a key must be text"),
    "list": (GOOD, "[1, 2]", 1, "", "a Limber file is a mapping that starts with `limber: 1`"),
    "word": (GOOD, "hello", 1, "", "got the text 'hello'"),
    "empty": (GOOD, "", 1, "", "the file is empty"),
    "comment": (GOOD, "# nothing\n", 1, "", "the file is empty"),
    "bodies": (GOOD[GOOD.index("bodies") :], "bodies: [1]", 4, "bodies", "must be a mapping"),
    "deep": ("1.5", "[" * 100 + "]" * 100, 10, "", "nested more than 40 levels"),
    "deeper": ("1.5", "[" * 200_000, 10, "", "nested more than 40 levels"),
    "file": (
        "EI: 800}",
        "EI: 800}\n    nodes: {file: x.npz}",
        5,
        "bodies.upper",
        "got beam and nodes",
    ),
    "npz": (
        "beam: {length: 2, mass: 4, EI: 800}",
        "nodes: {file: no.npz}",
        6,
        "bodies.upper.nodes.file",
        "there is no file",
    ),
    "absolute": (
        "beam: {length: 2, mass: 4, EI: 800}",
        "nodes: {file: /etc/passwd}",
        6,
        "bodies.upper.nodes.file",
        "must be relative to this file",
    ),
    "scenario": ("name: arm", "model: arm.yaml", 2, "model", "this is a scenario, not a model"),
}


def load(tmp_path, text):
    path = tmp_path / "arm.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return lb.load(path)


def test_good_file_loads(tmp_path):
    assert load(tmp_path, GOOD).build().nv == 6


@pytest.mark.parametrize("case", CASES)
def test_message(case, tmp_path):
    old, new, line, key, message = CASES[case]
    assert GOOD.count(old) == 1
    with pytest.raises(lb.FileError, match=message) as caught:
        load(tmp_path, GOOD.replace(old, new))
    error = caught.value
    assert (error.line, error.key) == (line, key)
    assert str(error).startswith(f"{tmp_path / 'arm.yaml'}:{line}:{error.column}: {key}")
    assert len(str(error)) < 1500


def test_all_errors_are_listed(tmp_path):
    text = GOOD.replace("1.5", "x").replace("y}", "w}").replace("EI: 800", "EI: 800, GJ: -1")
    with pytest.raises(lb.FileError) as caught:
        load(tmp_path, text)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert [line.split(":")[1] for line in lines] == ["6", "7", "10"]


def test_column_is_that_of_the_key(tmp_path):
    with pytest.raises(lb.FileError) as caught:
        load(tmp_path, GOOD.replace("EI: 800", "EJ: 800"))
    assert (caught.value.line, caught.value.column) == (6, 32)


def test_alias_explosion_is_refused(tmp_path):
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    with pytest.raises(lb.FileError, match="aliases expand to more than 100000 values"):
        load(tmp_path, "\n".join(lines))


def test_aliases_that_mean_well_work(tmp_path):
    text = GOOD.replace("beam: {length", "beam: &link {length")
    text += "  third:\n    beam: *link\n    joint: fixed\n    to: hand\n"
    loaded = load(tmp_path, text)
    assert repr(loaded.attachments["third"].body) == repr(loaded.attachments["upper"].body)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"limber: 1\nname: \x00\x01", "not valid YAML"),
        (b"\x7fELF\x02\x01\x01" + bytes(range(256)), "not text in UTF-8"),
        (b"\xef\xbb\xbflimber: 2", "reads format 1"),
    ],
)
def test_bytes_that_are_not_a_model(content, message, tmp_path):
    with pytest.raises(lb.FileError, match=message):
        load(tmp_path, content)


def test_paths_that_are_not_files(tmp_path):
    for path, message in [(tmp_path, "folder"), (tmp_path / "no", "no such file")]:
        with pytest.raises(lb.FileError, match=message):
            lb.load(path)
    for path in (None, 3, b"x", "", "a\0b"):
        with pytest.raises(lb.LimberError, match="path must be the path of a file"):
            lb.load(path)
    with pytest.raises(lb.FileError, match="not a regular file"):
        lb.load("/dev/zero")


def test_plain_parser_gives_the_same(tmp_path, monkeypatch):
    """PyYAML may come without its C library."""
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader")
    assert load(tmp_path, GOOD).build().nv == 6
    for case in ("unknown key", "duplicate key", "not yaml", "tag", "deep", "in a list"):
        test_message(case, tmp_path)
