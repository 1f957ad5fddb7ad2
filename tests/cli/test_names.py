"""Names with characters that a terminal obeys: shown escaped in tables, errors and warnings."""

import warnings

import numpy as np
import pytest
import yaml

import limber as lb
from helpers.command import limber, limber_json
from limber.printable import printable

EVIL = {
    "colour": "a\x1b[31mred",
    "carriage return": "a\rb",
    "line break": "a\nb",
    "bell": "a\x07b",
    "turned": "a\u202eb",
    "markup": "[red]a[/red]",
    "closing markup": "a[/]",
}
pytestmark = pytest.mark.parametrize("name", EVIL.values(), ids=EVIL)


def harmless(text):
    """Lines of text without anything that a terminal would obey; its own colours are off here."""
    assert all(line.isprintable() for line in text.split("\n")), repr(text)
    return text


def model(name):
    beam = {"length": 1.0, "mass": 1.0, "EI": 10.0, "modes": 1}
    body = {"rigid": {"mass": 1.0, "inertia": [1.0, 1.0, 1.0], "nodes": {name: [1.0, 0.0, 0.0]}}}
    turn = {"joint": {"revolute": "z"}}
    return {
        "limber": 1,
        "name": name,
        "bodies": {
            name: body | turn,
            f"{name}2": {"beam": beam, "to": name, "at": name} | turn,
        },
    }


def written(path, content):
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def scenario(tmp_path, name):
    written(tmp_path / "model.yaml", model(name))
    content = {"limber": 1, "name": name, "description": f"first\n{name}", "model": "model.yaml", "duration": 0.01}  # fmt: skip
    return written(tmp_path / "scenario.yaml", content)


@pytest.mark.parametrize("command", ["info", "modes", "simulate"])
def test_tables_show_names_escaped(tmp_path, monkeypatch, name, command):
    monkeypatch.setenv("COLUMNS", "200")
    given = (
        scenario(tmp_path, name)
        if command != "modes"
        else written(tmp_path / "m.yaml", model(name))
    )
    done = limber(command, given, *(["--out", tmp_path / "out"] if command == "simulate" else []))
    assert printable(name) in harmless(done.output)


def test_json_has_names_as_they_are(tmp_path, name):
    assert limber_json("info", written(tmp_path / "m.yaml", model(name)))["name"] == name


def test_errors_about_files_show_names_escaped(tmp_path, name):
    """Of the library and of the command line, whatever part of the file they are about."""
    for spoil in (
        lambda x: x["bodies"][name].update(to="nowhere"),
        lambda x: x["bodies"][name]["rigid"].update(mass=-1.0),
        lambda x: x["bodies"][f"{name}2"].update(to=f"{name}3"),
        lambda x: x["bodies"][f"{name}2"].update(at=f"{name}3"),
        lambda x: x["bodies"][name].update({name: 1}),
        lambda x: x.update({name: 1}),
        lambda x: x["bodies"][name].update(joint={name: "z"}),
        lambda x: x.update(limber=name),
    ):
        content = model(name)
        spoil(content)
        path = written(tmp_path / "model.yaml", content)
        with pytest.raises(lb.LimberError) as caught:
            lb.load(path)
        assert "\n" not in harmless(str(caught.value))
        said = limber("info", path, code=3)
        assert harmless(said.output).count("\n") == 1


def test_errors_about_urdf_files_show_names_escaped(tmp_path, name):
    spelled = "".join(f"&#{ord(c)};" for c in name if c not in "\x1b\x07")  # which XML cannot have
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="{spelled}"/><link name="{spelled}"/></robot>')
    with pytest.raises(lb.LimberError) as caught:
        lb.io.read_urdf(path)
    assert "\n" not in harmless(str(caught.value))
    assert harmless(limber("info", path, code=3).output).count("\n") == 1


@pytest.mark.parametrize("kind", [lb.ModelWarning, lb.errors.CacheWarning])
def test_warnings_show_names_escaped(name, kind):
    with pytest.warns(kind) as caught:
        warnings.warn(f"body {name} is odd.", kind, stacklevel=1)
    shown = warnings.formatwarning(caught[0].message, kind, "file.py", 1, "")
    assert printable(name).split("\\n")[0] in harmless(shown)


def test_errors_of_calls_show_names_escaped(name):
    body = lb.RigidBody(1.0, inertia=np.eye(3), nodes={name: (1, 0, 0)})
    a = lb.Assembly(name).attach(name, body, lb.Spherical())
    s = a.build()
    v = np.zeros(3)
    calls = [
        lambda: a.attach(name, body, lb.Spherical()),
        lambda: a.attach("x", body, lb.Spherical(), to=name, at=f"{name}?"),
        lambda: a.attach("x", body, lb.Spherical(), to=f"{name}?"),
        lambda: lb.forward_dynamics(s, np.zeros(4), v, v),
        lambda: lb.forward_dynamics(s, np.zeros(3), v, v),
        lambda: lb.forward_dynamics(s, s.neutral(), v * np.nan, v),
        lambda: lb.forward_dynamics(s, s.neutral(), v, v, external={(name, name): [0, 1]}),
        lambda: lb.forward_dynamics(s, s.neutral(), v, v, external={(name, f"{name}?"): [0] * 6}),
        lambda: lb.pose(s, s.neutral(), f"{name}?"),
        lambda: lb.pose(s, s.neutral(), name, f"{name}?"),
        lambda: lb.modes(s, s.neutral(), locked=[f"{name}?"]),
        lambda: lb.compile(s, "bias", parameters=[f"{name}.length"]),
        lambda: lb.operators(s, s.neutral()).M.block(f"{name}?", 0),
        lambda: lb.symbolic.equations(lb.Assembly(name)),
        lambda: lb.symbolic.equations(a).pose(f"{name}?"),
        lambda: lb.symbolic.equations(a).subs({f"{name}?": 1.0}),
        lambda: lb.RigidBody(-1.0, nodes={name: (1, 0)}),
    ]
    for call in calls:
        with pytest.raises(lb.LimberError) as caught:
            call()
        assert "\n" not in harmless(str(caught.value))
