"""The report is one file that needs nothing else, and holds the true motion."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import urlparse

import numpy as np
import pytest

import limber as lb
from helpers.closed import moved_four_bar
from helpers.pictured import arm, craft
from limber.viewer import geometry
from limber.viewer.scene import decoded, frames

NASTY = "<script>alert(\"1\")</script> & 'x' $y$ Übung 腕 </title> {{script}}"


class Page(HTMLParser):
    """Elements, texts and attributes of a page; complains about tags that do not match."""

    VOID = {"meta", "link", "input", "br"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.attributes, self.open = [], {}, [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "arm.html"
    assert arm().report(path, title="An arm", scale=5.0, reference=lambda t: [t, 0, 0]) == path
    return path.read_text(encoding="utf-8")


def data_of(text):
    found = re.search(r'<script id="scene" type="application/json">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_page_is_well_formed_and_has_its_parts(written):
    page = Page(written)
    assert page.text["h1"] == "An arm"
    assert page.tags.count("svg") >= 7
    assert {"canvas", "table", "button", "noscript"} <= set(page.tags)
    identifiers = [v for k, v in page.attributes if k == "id"]
    assert len(identifiers) == len(set(identifiers))


def test_page_refers_to_nothing_outside(written):
    page = Page(written)
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "srcset", "data", "action", "poster"):
            assert value.startswith(("#", "data:")), (name, value)
    assert not re.search(r"@import|url\((?!#)|https?:", written)
    assert not any(urlparse(v or "").netloc for _, v in page.attributes if "//" in (v or ""))


def test_report_is_small_and_the_same_each_time(written, tmp_path):
    arm().report(tmp_path / "again.html", title="An arm", scale=5.0, reference=lambda t: [t, 0, 0])
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == written
    assert len(written) < 500_000


def test_ten_seconds_of_the_arm_stay_below_three_megabytes(tmp_path):
    s = lb.models.canadarm(modes=4).build()
    n = 10_001
    rng = np.random.default_rng(0)
    q = 0.1 * np.cumsum(rng.standard_normal((n, s.nq)), axis=0) / np.sqrt(n)
    r = lb.Result(s, np.linspace(0, 10, n), q, 0 * q, 0 * q)
    path = r.report(tmp_path / "long.html", what=["joints", "deflection"])
    assert path.stat().st_size < 3_000_000


@pytest.mark.parametrize("make", [arm, craft])
def test_embedded_motion_decodes_to_the_true_states(make, tmp_path):
    r = make()
    text = r.report(tmp_path / "r.html", what="energy").read_text(encoding="utf-8")
    data, s = data_of(text), r.system
    motion = decoded(data["motion"]).reshape(len(r), -1)
    assert np.allclose(decoded(data["times"]) + data["start"], r.t, atol=1e-6)
    start = 0
    for body, (name, where) in zip(data["bodies"], s.layout.items()):
        assert body["name"] == name
        eta = motion[:, start + 7 : start + 7 + body["modes"]]
        assert np.allclose(eta, r.q[:, where.q_modes], atol=1e-6)
        assert np.allclose(np.linalg.norm(motion[:, start : start + 4], axis=1), 1, atol=1e-6)
        theta, joint = r.joint(name), s.joints[name]
        if isinstance(joint, lb.Revolute):
            angle = 2 * np.arctan2(
                np.linalg.norm(motion[:, start + 1 : start + 4], axis=1), motion[:, start]
            )
            assert np.allclose(np.cos(angle), np.cos(theta[:, 0]), atol=1e-6)
        if isinstance(joint, lb.Prismatic):
            assert np.allclose(motion[:, start + 4], theta[:, 0], atol=1e-6)
        drawn = geometry(s, r.q).skeletons[name]
        assert np.allclose(decoded(body["points"]).reshape(-1, 3), drawn.position, atol=1e-6)
        start += 7 + body["modes"]


def test_text_from_the_user_is_escaped(tmp_path):
    a = lb.Assembly(NASTY)
    a.attach(NASTY, lb.beam(1.0, 1.0, EI=1.0, modes=1), lb.Revolute([0, 0, 1]))
    a.attach(
        "_hidden",
        lb.RigidBody(1.0, nodes={NASTY: (1, 0, 0)}),
        lb.Prismatic([1, 0, 0]),
        NASTY,
        "tip",
    )
    s = a.build()
    event = lb.Event(0.1, name=NASTY)
    r = lb.simulate(s, 0.2, v0=np.full(s.nv, 0.5), every=0.01, method="dop853", events=event)
    path = r.report(tmp_path / "nasty.html", title=NASTY, notes=NASTY, trail=("_hidden", NASTY))
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("script") == 2
    assert page.text["h1"] == NASTY
    assert page.text["title"].startswith(NASTY)
    assert data_of(text)["bodies"][0]["name"] == NASTY
    assert "alert(" not in re.sub(r"&lt;script&gt;alert|\\u003cscript>alert", "", text)


def test_frames_are_thinned_and_keep_the_ends():
    assert np.array_equal(frames(10, 100), np.arange(10))
    kept = frames(100_000, 100)
    assert len(kept) == 2000
    assert (kept[0], kept[-1]) == (0, 99_999)
    assert len(frames(100_000, 1_000_000)) == 50


def test_one_row_and_a_rigid_system_make_a_report(tmp_path):
    s = lb.models.canadarm(modes=0).build()
    q = s.neutral()[None]
    r = lb.Result(s, np.zeros(1), q, np.zeros((1, 3)), np.zeros((1, 3)))
    text = r.report(tmp_path / "one.html").read_text(encoding="utf-8")
    assert "svg" in Page(text).tags


def test_wrong_arguments_are_refused(tmp_path):
    r = arm()
    with pytest.raises(lb.LimberError, match=r"\.html"):
        r.report(tmp_path / "x.pdf")
    with pytest.raises(lb.LimberError, match="does not exist"):
        r.report(tmp_path / "none" / "x.html")
    with pytest.raises(lb.LimberError, match="no rows"):
        r[:0].report(tmp_path / "x.html")
    with pytest.raises(lb.LimberError, match="title must be text"):
        r.report(tmp_path / "x.html", title=3)
    with pytest.raises(lb.LimberError, match="trail"):
        r.report(tmp_path / "x.html", trail="link1")
    with pytest.raises(lb.LimberError, match="not a node"):
        r.report(tmp_path / "x.html", trail=("link1", "nose"))
    assert not list(tmp_path.iterdir())


def test_report_shows_closures(tmp_path):
    text = moved_four_bar().report(tmp_path / "closed.html", what=["joints"]).read_text()
    pin, tether = data_of(text)["closures"]
    assert pin["ends"][0] == {"body": 1, "node": 10, "offset": [0.0, 0.0, 0.0]}
    assert tether["ends"][1] == {"body": -1, "node": None, "offset": [1.6, 0.3, 0.1]}
    assert "10" in data_of(text)["bodies"][1]["nodes"]  # the page can bend it
    assert "pin (Revolute), belt (relation), tether (Spherical)" in text
