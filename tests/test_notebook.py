"""What objects look like in a notebook: tables in HTML whose names are escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest

import limber as lb
from limber.notebook import LISTED, as_text, table

EVIL = "<b>&\x1b[31m"


class Reader(HTMLParser):
    """The texts of a page; tags must nest."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts, self.tags = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts += [data] if data.strip() else []


@pytest.fixture(scope="module")
def system():
    a = lb.Assembly("arm " + EVIL, gravity=(0, 0, -9.81))
    a.attach("up " + EVIL, lb.beam(1.0, 2.0, EI=100.0, modes=1, damping=0.01), lb.Revolute("y"))
    a.attach("hand", lb.RigidBody(1.5), lb.Fixed(), to="up " + EVIL, at="tip")
    return a.build()


def linkage():
    rod = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), {"tip": (1, 0, 0)})
    a = lb.Assembly("parallelogram")
    a.attach("crank", rod, lb.Revolute("z"))
    a.attach("coupler", rod, lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", rod, lb.Revolute("z"), offset=(1, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Spherical(), name="pin")
    return a.gear("rocker", "crank", ratio=1.0, name="gear")


def test_every_page_is_well_formed_and_escaped(system):
    result = lb.simulate(system, 0.1, every=0.05, events=lb.Event(0.05, name=EVIL))
    batch = lb.simulate(system, 0.1, every=0.05, parameters={"hand.mass": [1.0, 2.0, -1.0]})
    o = lb.operators(system, system.neutral())
    things = [
        system, lb.modes(system), result, result.power_audit(), batch, o, o.H @ o.phi, o.mass.plan(),
        lb.verify_identities(system, system.neutral()), lb.linearize(system),
        lb.modal_damping(system, 0.02), system.bodies["up " + EVIL].report(name=EVIL),
    ]  # fmt: skip
    for thing in things:
        page = thing._repr_html_()
        assert EVIL not in page and "\x1b" not in page
        read = Reader(page)
        assert {"b", "script"}.isdisjoint(read.tags), type(thing)
        assert (read.tags[0] == "div" and "table" in read.tags) or read.tags == ["pre"]


def test_system_is_a_table_of_its_bodies_and_closures(system):
    texts = Reader(system._repr_html_()).texts
    assert texts[-5:-1] == ["hand", "RigidBody", "1.5", "Fixed"]
    assert texts[-1].startswith("up <b>&\\x1b[31m, tip")
    closed = linkage()
    texts = Reader(closed.build()._repr_html_()).texts
    assert "pin: Spherical from coupler, tip to rocker, tip" in texts
    assert "gear: 1 rocker[0] + -1 crank[0] = 0" in texts
    assert Reader(closed._repr_html_()).texts[1:] == texts[1:]


def test_modes_are_the_same_table_as_in_a_terminal(system):
    modes = lb.modes(system)
    texts = Reader(modes._repr_html_()).texts
    assert "damping" in texts and modes.note in texts
    assert f"{modes.frequencies[1]:.5g}" in texts


def test_result_tells_where_each_coordinate_began_and_ended(system):
    result = lb.simulate(system, 0.1, every=0.05)
    texts = Reader(result._repr_html_()).texts
    (k,) = (i for i, text in enumerate(texts) if text.endswith(".joint0"))
    assert texts[k + 1 : k + 3] == ["0", f"{result.joint(next(iter(system.bodies)))[-1, 0]:.5g}"]
    assert Reader(result[:0]._repr_html_()).texts[0].startswith("Result(")


def test_batch_counts_how_cases_ended(system):
    batch = lb.simulate(system, 0.1, every=0.05, parameters={"hand.mass": [1.0, 2.0, -1.0]})
    texts = Reader(batch._repr_html_()).texts
    assert texts[texts.index("failed") + 1] == "1" and texts[texts.index("finished") + 1] == "2"
    assert any(text.startswith("case 2: ") for text in texts)


def test_operators_list_what_they_are(system):
    texts = Reader(lb.operators(system, system.neutral())._repr_html_()).texts
    for name in ("phi", "psi", "D", "K", "H"):
        assert name in texts


def test_symbolic_masses_are_shown():
    sp = pytest.importorskip("sympy")
    a = lb.Assembly("x").attach("bob", lb.RigidBody(sp.Symbol("m")), lb.Prismatic("x"))
    assert "m" in Reader(a._repr_html_()).texts


def test_long_tables_are_cut():
    page = table("t", ("n",), [(i,) for i in range(LISTED + 5)])
    assert page.count("<td") == LISTED and "... and 5 more" in page
    assert as_text(np.zeros(1)) == f"<pre>{np.zeros(1)}</pre>"  # as NumPy prints now


def test_what_prints_as_a_table_is_that_table():
    a = lb.Assembly("a").attach("link", lb.beam(1.0, 1.0, EI=50.0, modes=1), lb.Revolute("z"))
    s = a.build()
    forces = lb.simulate(s, 0.1, torque=[1.0], every=0.05).section_forces("link", "root")
    assert "shear_y (N)" in forces._repr_html_() and repr(forces).endswith("1 station: root)")
    keep = {"end": {"final": {"joint": "link"}}}
    cases = lb.campaign(s, 0.1, vary={"link.EI": [40.0, 50.0, 60.0]}, method="grid", keep=keep)
    assert "median" in cases._repr_html_() and "link.EI" in cases.sensitivity("end")._repr_html_()
    model = lb.linearize(s, inputs=["link"], outputs=["link"])
    assert "6 states, 1 input, 1 output" in repr(model)
