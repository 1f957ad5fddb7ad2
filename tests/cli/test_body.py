"""`limber body`: reports on structures, bodies and models from the command line."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import limber as lb
from helpers.command import limber, limber_json
from helpers.files import EXAMPLES
from helpers.frames import brick, named_beam


@pytest.fixture(scope="module")
def boom(tmp_path_factory):
    """A file with a structure of beams, and the structure."""
    s = named_beam(6)
    plain = lb.Structure(s.position, s.M, s.K, names=s.names)
    path = tmp_path_factory.mktemp("body") / "boom.npz"
    lb.io.write_structure(plain, path)
    return path, plain


def test_the_numbers_are_those_of_the_report(boom):
    path, s = boom
    options = ["--clamped", "root", "--interface", "tip", "--modes", 3, "--method", "craig-bampton"]
    found = limber_json("body", path, *options, "--damping", 0.01, "--load", "tip=2,0.1")
    body = s.reduce(
        clamped="root", interface="tip", modes=3, method="craig-bampton", damping=0.01,
        loads={"tip": (2.0, 0.1)},
    )  # fmt: skip
    report = body.report()
    assert found["name"] == "boom" and found["modes"] == 9
    for key in ("frequencies", "damping", "effective_mass", "com", "inertia", "total"):
        np.testing.assert_allclose(found[key], getattr(report, key), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["full"]["mac"], report.comparison.mac, atol=1e-7)
    assert found["full"]["good_to_hz"] == pytest.approx(report.good_to)
    assert [x["load"] for x in found["full"]["static"]] == [x.load for x in report.static]
    assert found["full"]["held"] == "clamped at 'root', with the loads at 'tip'"


def test_the_tables_are_readable(boom):
    text = limber("body", boom[0], "--clamped", "root", "--modes", 4, "--name", "mast").stdout
    for words in (
        "mast",
        "3 kg",
        "can move",
        "MAC",
        "force along y",
        "clamped at 'root'",
        "static-correction",
    ):
        assert words in text  # fmt: skip


def test_a_saved_body_is_the_same_to_the_bit(boom, tmp_path):
    path, s = boom
    body = s.reduce(clamped="root", modes=4)
    done = limber("body", path, "--clamped", "root", "--modes", 4, "--save", tmp_path / "b.npz")
    assert "modal: {file: b.npz}" in done.stdout
    limber("body", path, "--clamped", "root", "--modes", 4, "--save", tmp_path / "b.yaml")
    (tmp_path / "arm.yaml").write_text(
        "limber: 1\nbodies:\n  link: {modal: {file: b.npz}, joint: {revolute: z}}\n"
    )
    read = [
        lb.io.read_body(tmp_path / "b.npz"),
        lb.load(tmp_path / "b.yaml").attachments["boom"].body,
        lb.load(tmp_path / "arm.yaml").attachments["link"].body,
    ]
    for again in read:
        assert np.array_equal(again.stiffness, body.stiffness)
        assert again.nodes.names == body.nodes.names
        assert np.array_equal(again.nodes.rotation, body.nodes.rotation)
        for name in ("mass", "S0", "J0", "E0", "F0", "J1", "F1", "J2", "G1"):
            assert np.array_equal(getattr(again.integrals, name), getattr(body.integrals, name))
    found = limber_json("body", tmp_path / "b.npz")
    assert found["full"] is None and "not known" in found["notes"][0]
    assert limber_json("body", tmp_path / "arm.yaml")["name"] == "link"


def test_a_free_body_is_saved_on_a_free_joint(boom, tmp_path):
    limber("body", boom[0], "--interface", "tip", "--modes", 3, "--save", tmp_path / "free.yaml")
    item = lb.load(tmp_path / "free.yaml").attachments["boom"]
    assert isinstance(item.joint, lb.Free) and item.body.nodes.names[item.inboard] == "tip"


def test_bodies_of_nodes_are_read_back(tmp_path):
    body = lb.FlexibleBody.from_nodes(
        [1.0, 2.0], [[0, 0, 0], [1, 0, 0]], [[[0.0], [0], [0]], [[0], [1], [0]]], stiffness=[[9.0]]
    )
    assert lb.io.write_body(body, tmp_path / "n.npz") == "nodes"
    assert np.array_equal(lb.io.read_body(tmp_path / "n.npz").points.mass, body.points.mass)
    assert limber_json("body", tmp_path / "n.npz")["frequencies"] == [
        pytest.approx(np.sqrt(4.5) / (2.0 * np.pi))
    ]


def test_pictures_and_pages_are_written(boom, tmp_path):
    png, page = tmp_path / "b.png", tmp_path / "b.html"
    done = limber("body", boom[0], "--clamped", "root", "--modes", 2, "--plot", png, "--html", page)
    assert "wrote" in done.stdout and png.read_bytes().startswith(b"\x89PNG")
    text = page.read_text()
    assert "<svg" in text and "modal assurance" in text and "can move" in text
    assert "http:" not in text.replace("http://www.w3.org", "") and "<script" not in text


def test_solids_in_matrix_market_files_are_clamped_by_planes(tmp_path):
    position, M, K = brick((3, 1, 1), (1.0, 0.2, 0.1))
    scipy.io.mmwrite(tmp_path / "k.mtx", sp.coo_array(K), symmetry="symmetric")
    scipy.io.mmwrite(tmp_path / "m.mtx", sp.coo_array(M), symmetry="symmetric")
    lines = [f"n{i} {x} {y} {z}" for i, (x, y, z) in enumerate(position.tolist())]
    (tmp_path / "nodes.txt").write_text("\n".join(lines))
    found = limber_json(
        "body", tmp_path / "k.mtx", "--mass", tmp_path / "m.mtx", "--table", tmp_path / "nodes.txt",
        "--clamped", "x=min", "--interface", "n15", "--patch", "n15:x=max", "--modes", 2,
    )  # fmt: skip
    face = np.flatnonzero(position[:, 0] == 1.0).tolist()
    root = np.flatnonzero(position[:, 0] == 0.0).tolist()
    body = lb.Structure(position, M, K).reduce(
        clamped=root, interface=15, patches={15: face}, modes=2
    )
    np.testing.assert_allclose(found["frequencies"], body.report().frequencies, rtol=1e-8)
    static = [s.full for s in body.report().static]
    np.testing.assert_allclose([s["full"] for s in found["full"]["static"]], static, rtol=1e-8)


def test_a_band_is_in_hertz(boom):
    path, s = boom
    omega = s.modes(4, clamped="root").omega
    top = 0.5 * (omega[2] + omega[3]) / (2.0 * np.pi)
    found = limber_json("body", path, "--clamped", "root", "--band", 0, top)
    assert found["modes"] == 3
    part = limber_json("body", path, "--clamped", "root", "--effective-mass", 0.5)
    assert min(np.sum(part["effective_mass"], axis=0)[:3]) >= 0.5 * part["mass"]


def test_beams_of_models_are_compared_with_beam_theory():
    found = limber_json("body", EXAMPLES / "canadarm.yaml", "--body", "link2")
    assert found["name"] == "link2" and "beam theory" in found["full"]["what"]


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["BOOM", "--clamped", "rot"], 2, "Did you mean 'root'"),
        (["BOOM", "--clamped", "x=9"], 2, "no node is there; x goes from 0 to 2 m"),
        (["BOOM", "--clamped", "x=top"], 2, "a number, min or max"),
        (["BOOM", "--modes", 3, "--band", 0, 9], 2, "both select the modes"),
        (["BOOM", "--load", "tip"], 2, "give NODE=MASS"),
        (["BOOM", "--patch", "tip"], 2, "give NODE:NODES"),
        (["BOOM", "--body", "arm"], 2, "is for models"),
        (["BOOM", "--method", "guyan"], 2, "is unknown"),
        (["BOOM", "--units", "mm-t"], 2, "in SI units: leave it out"),
        (["BOOM", "--mass", "m.mtx"], 2, "mass is for files of .mtx"),
        (["BOOM", "--plot", "x.doc"], 2, "must end in"),
        (["BOOM", "--save", "BOOM"], 2, "would be lost"),
        (["BOOM", "--clamped", "root", "--modes", 99], 3, "has only 36"),
        (["none.npz"], 3, "no such file"),
        (["none.sid"], 3, "no such file"),
        (["MODEL"], 2, "choose one with --body"),
        (["MODEL", "--body", "lnk1"], 2, "Did you mean 'link1'"),
        (["MODEL", "--clamped", "root"], 2, "--clamped is for structures"),
        (["README.md"], 3, "are not supported"),
        (["k.mtx"], 2, "give the mass matrix"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_code(boom, arguments, code, words):
    places = {"BOOM": boom[0], "MODEL": EXAMPLES / "canadarm.yaml"}
    done = limber("body", *(places.get(a, a) for a in arguments), "--json", code=code)
    assert words in " ".join(done.output.split())
