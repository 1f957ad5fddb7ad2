"""Structures in .npz and Matrix Market files, and by the path of their file."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import limber as lb
from helpers.straight_beam import straight_beam


def example(**more):
    position, M, K = straight_beam(3)
    given = {
        "names": ["root", "a", "b", "tip é"],
        "edges": [[0, 1], [1, 2], [2, 3]],
        "triangles": [[0, 1, 2]],
        "groups": {"ends": [3, 0], "middle é": [1, 2]},
    }
    return lb.Structure(position, M, K, **(given | more))


def test_npz_round_trip_is_exact(tmp_path):
    for structure in (example(), example(names=None, edges=None, triangles=None, groups=None)):
        lb.io.write_structure(structure, tmp_path / "a.npz")
        again = lb.io.read_structure(tmp_path / "a.npz")
        assert again.names == structure.names and again.groups == structure.groups
        assert np.array_equal(again.position, structure.position)
        for name in "MK":
            a, b = getattr(again, name), getattr(structure, name)
            assert a.dtype == b.dtype and np.array_equal(a.toarray(), b.toarray())
        for name in ("edges", "triangles"):
            assert np.array_equal(getattr(again, name), getattr(structure, name))


def test_a_function_is_not_written_and_that_is_said(tmp_path):
    with pytest.warns(
        lb.ModelWarning, match="the function `geometric` of the structure is not written"
    ):
        lb.io.write_structure(example(geometric=lambda u: None), tmp_path / "a.npz")
    assert lb.io.read_structure(tmp_path / "a.npz").geometric is None


def test_only_structures_are_written(tmp_path):
    with pytest.raises(lb.LimberError, match="must be a Structure, got 3"):
        lb.io.write_structure(3, tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda d: d.pop("K_data"),
            "has no array 'K_data': this is not a file of lb.io.write_structure",
        ),
        (lambda d: d.update(colour=np.zeros(3)), "unknown array 'colour'"),
        (lambda d: d.update(limber_structure=np.array(9)), "has the version 9"),
        (lambda d: d.update(position=d["position"][:2]), "names must be 2 different"),
        (lambda d: d.update(K_indices=d["K_indices"] + 1000), "K is damaged"),
        (
            lambda d: d.update(K_indptr=d["K_indptr"][::-1]),
            "cannot be read as the sparse matrices|damaged",
        ),
        (lambda d: d.update(K_data=d["K_data"] * np.nan), "K.*finite|finite"),
        (lambda d: d.update(M_data=-d["M_data"]), r"M\[\d+, \d+\] = .* is negative"),
        (lambda d: d.update(names=np.array(["a"] * 4)), "names must be 4 different"),
    ],
)
def test_spoilt_npz_are_refused(tmp_path, change, match):
    lb.io.write_structure(example(), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as data:
        arrays = dict(data)
    change(arrays)
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(lb.FileError, match=match) as caught:
        lb.io.read_structure(tmp_path / "b.npz")
    assert str(caught.value).startswith(str(tmp_path / "b.npz"))


@pytest.fixture
def market(tmp_path):
    position, M, K = straight_beam(3)
    scipy.io.mmwrite(tmp_path / "m.mtx", sp.coo_array(M), symmetry="symmetric")
    scipy.io.mmwrite(tmp_path / "k.mtx", sp.coo_array(K), symmetry="general", precision=17)
    lines = [f"n{j}, {x!r}, {y!r}, {z!r}" for j, (x, y, z) in enumerate(position.tolist())]
    (tmp_path / "nodes.txt").write_text("# name x y z\n" + "\n".join(lines) + "\n")
    return tmp_path, position, M, K


def test_matrix_market(market):
    folder, position, M, K = market
    structure = lb.io.read_matrix_market(folder / "m.mtx", folder / "k.mtx", folder / "nodes.txt")
    assert structure.names == ("n0", "n1", "n2", "n3")
    assert np.array_equal(structure.position, position)
    np.testing.assert_allclose(structure.K.toarray(), K, rtol=1e-14, atol=1e-12)
    np.testing.assert_allclose(structure.M.toarray(), M, rtol=1e-12, atol=1e-14)
    for name, A in (("m", M), ("k", K)):
        for symmetry in ("general", "symmetric"):
            scipy.io.mmwrite(folder / f"{name}.{symmetry}.mtx", A, symmetry=symmetry, precision=17)
            data = (folder / f"{name}.{symmetry}.mtx").read_bytes()
            (folder / f"{name}.{symmetry}.mtx.gz").write_bytes(gzip.compress(data))
    for end in ("general.mtx", "symmetric.mtx", "symmetric.mtx.gz"):
        dense = lb.io.read_matrix_market(folder / f"m.{end}", folder / f"k.{end}", position)
        np.testing.assert_allclose(dense.K.toarray(), K, rtol=1e-14, atol=1e-12)
    again = lb.io.read_matrix_market(folder / "m.mtx", folder / "k.mtx", position, units=(0.5, 2.0))
    assert again.K[0, 0] == pytest.approx(2.0 * structure.K[0, 0])
    assert again.K[3, 3] == pytest.approx(0.5 * structure.K[3, 3])


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("k.mtx", lambda t: t[: len(t) // 2].rsplit("\n", 1)[0], r"must have \d+ lines of 3 numbers after its sizes, got \d+"),
        ("k.mtx", lambda t: "hello\n", "k.mtx:1: must start with '%%MatrixMarket"),
        ("k.mtx", lambda t: "", "k.mtx:1: must start with '%%MatrixMarket"),
        ("k.mtx", lambda t: t.replace("24 24", "24 30", 1), r"k.mtx:\d: the matrix must be square, got the sizes '24 30"),
        ("k.mtx", lambda t: t.replace("real", "complex"), "must be real, general or symmetric, got 'complex general'"),
        ("k.mtx", lambda t: t.replace("\n1 1 ", "\n1 99 "), "must be whole numbers from 1 to 24"),
        ("k.mtx", lambda t: t.replace("\n1 1 ", "\n1 2 ", 1), "an entry occurs twice"),
        ("k.mtx", lambda t: t.replace("\n1 1 ", "\n1 1 x"), "cannot be read as numbers of a matrix"),
        ("nodes.txt", lambda t: t.replace("n3,", "n0,"), r"nodes.txt:5: node 'n0' occurs twice"),
        ("nodes.txt", lambda t: t + "n4, 1, 2\n", r"nodes.txt:6: must be a name and three coordinates"),
        ("nodes.txt", lambda t: t + "n4, 1, 2, x\n", r"nodes.txt:6: a coordinate of node n4 must be a finite number"),
        ("nodes.txt", lambda t: t + "n4, 1, 2, 3\n", "the matrix is 24 x 24, but there are 5 nodes: it must have 3 or 6"),
        ("nodes.txt", lambda t: "", "the file contains no nodes"),
    ],
)  # fmt: skip
def test_spoilt_matrix_market_files_are_refused(market, name, change, match):
    folder = market[0]
    (folder / name).write_text(change((folder / name).read_text()))
    with pytest.raises(lb.FileError, match=match):
        lb.io.read_matrix_market(folder / "m.mtx", folder / "k.mtx", folder / "nodes.txt")


def test_files_of_other_kinds_are_named(tmp_path):
    with pytest.raises(
        lb.FileError, match=r"files that end in .txt are not supported. Supported are .npz, .inp"
    ):
        lb.io.read_structure(tmp_path / "a.txt")
    with pytest.raises(lb.LimberError, match="path must be the path of a file, got 3"):
        lb.io.read_structure(3)
