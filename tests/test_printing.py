"""What objects look like at the prompt: one line each, and a table where it helps."""

import numpy as np
import pytest

import limber as lb
from limber.io.frd import FrdModes
from limber.short_repr import short_repr

#: Characters of a line at the prompt, at most.
LONGEST = 220
STEEL = lb.Material(E=200e9, nu=0.3, rho=7800.0)


@pytest.fixture(scope="module")
def body():
    nodes = {"a": (0, 0, 0), "b": (1, 0, 0)}
    frame = lb.structures.frame(nodes, [("a", "b")], lb.Section.tube(0.02, 0.002, STEEL), divide=3)
    return frame, frame.reduce(clamped="a", modes=4)


def test_objects_of_many_arrays_are_one_line(body):
    frame, reduced = body
    a = lb.Assembly("x")
    a.attach("link", reduced, lb.Revolute("z"))
    s = a.build()
    result = lb.simulate(s, 0.01, t_eval=np.linspace(0.0, 0.01, 3))
    beam = lb.beam(1.0, 1.0, EI=1.0)
    things = [
        frame, frame.elements, frame.modes(2, clamped="a"), reduced, reduced.integrals, reduced.report(),
        reduced.recovered(), reduced.outline, reduced.nodes, reduced.nodes.shapes, beam.points,
        lb.structures.beam_forces(beam), lb.viewer.geometry(s, s.neutral()), result, result.node("link", "b"),
        result.power_audit(), lb.Section.box(0.04, 0.08, 0.003, STEEL), lb.Section(1.0, 2.0, 3.0, 4.0),
    ]  # fmt: skip
    for thing in things:
        text = repr(thing)
        assert "\n" not in text and len(text) <= LONGEST, text
        assert text.startswith(f"{type(thing).__name__}(")


def test_lines_say_what_matters(body):
    _, reduced = body
    assert repr(reduced.integrals).startswith("ModalIntegrals(mass=1.86")
    assert "G0 (4, 4)" in repr(reduced.integrals)
    assert repr(lb.Section.rectangle(0.02, 0.03, STEEL).slender()) == (
        "Section(rectangle 0.02 x 0.03, EA=1.2e+08, EI=(9000, 4000), GJ=3614, rhoA=4.68, slender)"
    )
    assert "4 modes, lowest" in repr(reduced.report(name="boom"))
    assert str(reduced.report()).count("\n") > 10
    with_names = lb.bodies.nodes.Nodes(("n" * 50,), reduced.nodes.shapes[:1])
    assert short_repr(with_names) == "Nodes(names: 1, shapes: 1)"


def test_modes_of_a_file_are_a_table():
    shapes = np.zeros((2, 3, 2))
    shapes[1, 0, 0] = shapes[0, 1, 1] = 1.0
    modes = FrdModes(("7", "12"), np.zeros((2, 3)), np.array([2 * np.pi, 20.0]), shapes, None, None)
    assert (
        repr(modes)
        == "FrdModes(names=('7', '12'), position (2, 3), omega (2,), translation (2, 3, 2))"
    )
    rows = [line.split() for line in str(modes).splitlines()]
    assert rows[2] == ["1", "6.28319", "1", "12"] and rows[3][-1] == "7"


def test_the_package_lists_its_public_names_only():
    names = {name for name in dir(lb) if not name.startswith("_")}
    assert names == {*lb.__all__, "symbolic"}
    assert not {"checks", "frozen", "importlib", "kernels", "native", "registry", "typing"} & names
    assert "__version__" in dir(lb)
